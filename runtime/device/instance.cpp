#include "runtime/device/instance.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/error.h"
#include "runtime/device/error_translation.h"
#include "runtime/device/validation.h"
#include "runtime/device/volk_loader.h"

namespace rooftile {
namespace {

// Vulkan 1.1 brought subgroups and device UUIDs to the core; newer features are used where a device
// has them.
constexpr std::uint32_t kOldestApi = VK_API_VERSION_1_1;
constexpr std::uint32_t kNewestApi = VK_API_VERSION_1_3;

bool contains(const std::vector<vk::ExtensionProperties>& extensions, std::string_view name) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const auto& e) { return name == e.extensionName.data(); });
}

bool validation_layer_installed(const vk::raii::Context& context) {
  const auto layers = context.enumerateInstanceLayerProperties();
  return std::any_of(layers.begin(), layers.end(), [](const auto& l) {
    return std::string_view(kValidationLayer) == l.layerName.data();
  });
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string joined;
  for (const std::string& line : lines) joined += (joined.empty() ? "" : "; ") + line;
  return joined;
}

std::unique_ptr<Instance> create_instance() {
  const VulkanLoader loader = load_vulkan();
  if (loader.get_instance_proc_addr == nullptr) {
    fail(ErrorCode::kDevice,
         "no Vulkan loader (libvulkan.so.1) on this machine; install the package libvulkan1");
  }
  if (loader.api_version < kOldestApi) {
    fail(ErrorCode::kDevice, "the Vulkan loader is older than 1.1; install a newer libvulkan1");
  }
  vk::raii::Context context(loader.get_instance_proc_addr);

  std::vector<const char*> layers, extensions;
  const auto offered = context.enumerateInstanceExtensionProperties();
  bool validate = validation_requested();
  if (validate && !validation_layer_installed(context)) {
    add_validation_message(
        "ROOFTILE_VALIDATION is set, but VK_LAYER_KHRONOS_validation is not installed");
    validate = false;
  }
  const bool messages = contains(offered, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (messages) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);

  vk::ApplicationInfo application;
  application.pApplicationName = application.pEngineName = "rooftile";
  application.apiVersion = std::min(loader.api_version, kNewestApi);
  vk::InstanceCreateInfo info;
  info.pApplicationInfo = &application;
  if (contains(offered, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags |= vk::InstanceCreateFlagBits::eEnumeratePortabilityKHR;
  }

  std::vector<std::string> loader_errors;
  auto creation_messenger = messenger_info(&loader_errors);
  if (messages) info.pNext = &creation_messenger;
  const auto synchronisation = vk::ValidationFeatureEnableEXT::eSynchronizationValidation;
  vk::ValidationFeaturesEXT features;
  features.setEnabledValidationFeatures(synchronisation);
  if (validate) {
    layers.push_back(kValidationLayer);
    if (contains(context.enumerateInstanceExtensionProperties(std::string(kValidationLayer)),
                 VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
      extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
      features.pNext = info.pNext;
      info.pNext = &features;
    }
  }
  info.setPEnabledLayerNames(layers);
  info.setPEnabledExtensionNames(extensions);

  std::optional<vk::raii::Instance> handle;
  try {
    handle.emplace(context, info);
  } catch (const vk::SystemError& error) {
    fail(ErrorCode::kDevice,
         "no usable Vulkan driver ({}{}{}); install one (mesa-vulkan-drivers has a software "
         "device), or check "
         "VK_DRIVER_FILES and VK_ICD_FILENAMES",
         error.what(),
         loader_errors.empty() ? "" : "; the loader says: ", join_lines(loader_errors));
  }
  vk::raii::DebugUtilsMessengerEXT messenger = nullptr;
  if (validate && messages)
    messenger = vk::raii::DebugUtilsMessengerEXT(*handle, messenger_info(nullptr));
  return std::make_unique<Instance>(Instance{.context = std::move(context),
                                             .handle = std::move(*handle),
                                             .messenger = std::move(messenger),
                                             .note = join_lines(loader_errors)});
}

}  // namespace

Instance& shared_instance() {
  static auto& mutex = *new std::mutex;
  static std::atomic<pid_t> owner = 0;
  static Instance* instance = nullptr;

  // Before the lock: another thread of the parent may have held it at the fork, for ever.
  pid_t nobody = 0;
  const pid_t self = ::getpid();
  if (!owner.compare_exchange_strong(nobody, self) && nobody != self) {
    fail(ErrorCode::kDevice,
         "process {} was forked from {}, which already used Vulkan, and drivers do not survive a "
         "fork; "
         "start the child with exec, or fork before the first use",
         self, nobody);
  }
  std::lock_guard lock(mutex);
  if (instance == nullptr) {
    instance =
        translated("creating the Vulkan instance", [] { return create_instance(); }).release();
  }
  return *instance;
}

}  // namespace rooftile
