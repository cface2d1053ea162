#include "runtime/device/physical/validation.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "runtime/device/physical/validation_messages.h"

namespace rooftile {
namespace {

struct Messages {
  std::mutex mutex;
  std::vector<std::string> texts;
};

// Never destroyed: the driver's threads and the layers may still report while the process exits.
Messages& messages() {
  static auto& instance = *new Messages;
  return instance;
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT types,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* user) {
  const char* text = data->pMessage != nullptr ? data->pMessage : "";
  if ((types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) != 0) {
    add_validation_message(text);
  } else if (user != nullptr && (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text);
  }
  return VK_FALSE;  // VK_TRUE would abort the call, which is for layer developers.
}

}  // namespace

bool validation_requested() {
  const char* value = ::secure_getenv("ROOFTILE_VALIDATION");
  // Other values, except 1 and on, have been refused earlier (runtime/dispatch/environment.h).
  const std::string_view text = value != nullptr ? value : "";
  return text != "" && text != "0" && text != "off";
}

void add_validation_message(std::string_view message) {
  std::lock_guard lock(messages().mutex);
  fmt::print(stderr, "rooftile: validation: {}\n", message);
  messages().texts.emplace_back(message);
}

vk::DebugUtilsMessengerCreateInfoEXT messenger_info(std::vector<std::string>* loader_errors) {
  using Severity = vk::DebugUtilsMessageSeverityFlagBitsEXT;
  using Type = vk::DebugUtilsMessageTypeFlagBitsEXT;
  vk::DebugUtilsMessengerCreateInfoEXT info;
  info.messageSeverity = Severity::eWarning | Severity::eError;
  info.messageType = Type::eGeneral | Type::eValidation;
  info.pfnUserCallback = on_message;
  info.pUserData = loader_errors;
  return info;
}

std::vector<std::string> validation_messages() {
  std::lock_guard lock(messages().mutex);
  return messages().texts;
}

std::vector<std::string> take_validation_messages() {
  std::lock_guard lock(messages().mutex);
  return std::exchange(messages().texts, {});
}

}  // namespace rooftile
