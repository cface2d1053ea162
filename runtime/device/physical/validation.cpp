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

// The parameters are C's types in the Vulkan headers of Debian 12, and those of C++ with the same
// representation in later ones.
template <typename Severity, typename Types, typename Data>
VKAPI_ATTR VkBool32 VKAPI_CALL on_message(Severity severity, Types types, const Data* data,
                                          void* user) noexcept try {
  const char* text = data->pMessage != nullptr ? data->pMessage : "";
  if ((static_cast<VkDebugUtilsMessageTypeFlagsEXT>(types) &
       VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) != 0) {
    add_validation_message(text);
  } else if (user != nullptr && (static_cast<VkDebugUtilsMessageSeverityFlagBitsEXT>(severity) &
                                 VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text);
  }
  return VK_FALSE;                 // VK_TRUE would abort the call, which is for layer developers.
} catch (...) {  // The message is lost; an exception would leave locks of the loader's closed.
  return VK_FALSE;
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
