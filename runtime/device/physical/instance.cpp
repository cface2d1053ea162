#include "runtime/device/physical/instance.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/device/physical/fork.h"
#include "runtime/device/physical/validation.h"
#include "runtime/device/physical/volk_loader.h"

namespace rooftile {
namespace {

// Vulkan 1.1 made subgroups and device UUIDs part of the core; newer features are used where a
// device has them.
constexpr std::uint32_t kOldestApi = VK_API_VERSION_1_1;
constexpr std::uint32_t kNewestApi = VK_API_VERSION_1_3;

bool contains(const std::vector<vk::ExtensionProperties>& extensions, std::string_view name) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const auto& e) { return name == e.extensionName.data(); });
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string joined;
  for (const std::string& line : lines) joined += (joined.empty() ? "" : "; ") + line;
  return joined;
}

bool validation_layer_installed(const vk::raii::Context& context) {
  const auto layers = context.enumerateInstanceLayerProperties();
  return std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
    return std::string_view(kValidationLayer) == layer.layerName.data();
  });
}

/// Layers and extensions to enable, among those that are offered.
struct Wanted {
  std::vector<const char*> layers, extensions;
  bool messenger = false, portability = false, validation = false, validation_features = false;
  bool layer_settings = false;
};

Wanted choose(const vk::raii::Context& context) {
  Wanted wanted;
  const auto enable = [&](const auto& offered, const char* name) {
    if (!contains(offered, name)) return false;
    wanted.extensions.push_back(name);
    return true;
  };
  const auto offered = context.enumerateInstanceExtensionProperties();
  wanted.messenger = enable(offered, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  wanted.portability = enable(offered, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
  if (!validation_requested()) return wanted;
  if (!wanted.messenger || !validation_layer_installed(context)) {
    add_validation_message(
        "ROOFTILE_VALIDATION is set, but VK_LAYER_KHRONOS_validation is not installed");
    return wanted;
  }
  wanted.validation = true;
  wanted.layers.push_back(kValidationLayer);
  const auto layer_offers =
      context.enumerateInstanceExtensionProperties(std::string(kValidationLayer));
  wanted.validation_features = enable(layer_offers, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
#ifdef VK_EXT_LAYER_SETTINGS_EXTENSION_NAME
  wanted.layer_settings = enable(layer_offers, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME);
#endif
  return wanted;
}

std::unique_ptr<Instance> create_instance(const VulkanLoader& loader,
                                          std::vector<std::string>& loader_errors) {
  vk::raii::Context context(loader.get_instance_proc_addr);
  const Wanted wanted = choose(context);

  vk::ApplicationInfo application;
  application.pApplicationName = application.pEngineName = "rooftile";
  application.apiVersion = std::min(loader.api_version, kNewestApi);
  vk::InstanceCreateInfo info;
  info.pApplicationInfo = &application;
  info.setPEnabledLayerNames(wanted.layers);
  info.setPEnabledExtensionNames(wanted.extensions);
  if (wanted.portability) info.flags |= vk::InstanceCreateFlagBits::eEnumeratePortabilityKHR;

  // Chained into the creation info, it receives the loader's messages during the creation.
  auto creation_messenger = messenger_info(&loader_errors);
  if (wanted.messenger) info.pNext = &creation_messenger;
  const auto synchronisation = vk::ValidationFeatureEnableEXT::eSynchronizationValidation;
  vk::ValidationFeaturesEXT features;
  features.setEnabledValidationFeatures(synchronisation);
  if (wanted.validation_features) features.pNext = std::exchange(info.pNext, &features);
#ifdef VK_EXT_LAYER_SETTINGS_EXTENSION_NAME
  // Later layers (since 2024) leave the accesses of shaders out unless they are asked for.
  const VkBool32 on = VK_TRUE;
  const VkLayerSettingEXT accesses{kValidationLayer, "syncval_shader_accesses_heuristic",
                                   VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &on};
  VkLayerSettingsCreateInfoEXT settings{VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, nullptr,
                                        1, &accesses};
  if (wanted.layer_settings) settings.pNext = std::exchange(info.pNext, &settings);
#endif

  vk::raii::Instance handle(context, info);
  vk::raii::DebugUtilsMessengerEXT messenger = nullptr;
  if (wanted.validation) {
    messenger = vk::raii::DebugUtilsMessengerEXT(handle, messenger_info(nullptr));
  }
  return std::make_unique<Instance>(Instance{.context = std::move(context),
                                             .handle = std::move(handle),
                                             .messenger = std::move(messenger),
                                             .note = join_lines(loader_errors)});
}

std::unique_ptr<Instance> find_loader_and_create() {
  const VulkanLoader loader = load_vulkan();
  if (loader.get_instance_proc_addr == nullptr) {
    fail(ErrorCode::kDevice,
         "no Vulkan loader (libvulkan.so.1) on this machine; install the package libvulkan1");
  }
  if (loader.api_version < kOldestApi) {
    fail(ErrorCode::kDevice, "the Vulkan loader is older than 1.1; install a newer libvulkan1");
  }
  std::vector<std::string> loader_errors;
  try {
    return create_instance(loader, loader_errors);
  } catch (const vk::SystemError& error) {
    // Also where the loader reports "out of memory", as it does for a manifest that is not JSON.
    fail(ErrorCode::kDevice,
         "no usable Vulkan driver ({}{}{}); install one (mesa-vulkan-drivers has a software "
         "device), or check the manifests that VK_DRIVER_FILES and VK_ICD_FILENAMES name",
         error.what(),
         loader_errors.empty() ? "" : "; the loader says: ", join_lines(loader_errors));
  }
}

// Process that has created the instance, or is creating it.
std::atomic<pid_t> owner = 0;

}  // namespace

bool forked_after_use() {
  const pid_t made_by = owner;
  return made_by != 0 && made_by != ::getpid();
}

void check_not_forked() {
  if (forked_after_use())
    fail(ErrorCode::kDevice,
         "process {} was forked from {}, which already used Vulkan, and drivers do not survive a "
         "fork; start the child with exec, or fork before the first use",
         ::getpid(), owner.load());
}

Instance& shared_instance() {
  static auto& mutex = *new std::mutex;
  static Instance* instance = nullptr;

  // Checked before the lock is taken: another thread of the parent may have held it at the fork,
  // and it is then never released.
  check_not_forked();
  std::lock_guard lock(mutex);
  if (instance == nullptr) {
    owner = ::getpid();
    try {
      instance = find_loader_and_create().release();
    } catch (...) {
      owner = 0;  // No instance exists that a fork could invalidate.
      throw;
    }
  }
  return *instance;
}

}  // namespace rooftile
