// A small Vulkan program that is independent of the library: instance, device, queue, mapped
// buffers, and the messages of the validation layer.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/physical/vulkan.h"

namespace rooftile {

struct HostVisibleBuffer {
  vk::raii::Buffer buffer = nullptr;
  vk::raii::DeviceMemory memory = nullptr;
  char* mapped = nullptr;
  VkDeviceSize bytes = 0;
};

class VulkanProgram {
 public:
  /// Returns null when there is no loader. The whole process shares the functions.
  static PFN_vkGetInstanceProcAddr loader() {
    void* library = ::dlopen("libvulkan.so.1", RTLD_NOW);
    return library == nullptr ? nullptr
                              : reinterpret_cast<PFN_vkGetInstanceProcAddr>(
                                    ::dlsym(library, "vkGetInstanceProcAddr"));
  }

  VulkanProgram() : context_(loader()), instance_(make_instance()) {
    messenger_ = {instance_, messenger_info()};
    physical_ = std::make_unique<vk::raii::PhysicalDevice>(
        std::move(vk::raii::PhysicalDevices(instance_).front()));
  }

  /// features: chain for pNext, which must outlive the program.
  void make_device(const std::vector<const char*>& extensions, const void* features) {
    extensions_ = extensions;
    const auto families = physical_->getQueueFamilyProperties();
    for (queue_family_ = 0; !(families[queue_family_].queueFlags & vk::QueueFlagBits::eCompute);)
      ++queue_family_;
    queue_info_ = vk::DeviceQueueCreateInfo({}, queue_family_, 1, &priority_);
    info_.setQueueCreateInfos(queue_info_);
    info_.setPEnabledExtensionNames(extensions_);
    info_.pNext = features;
    device_ = vk::raii::Device(*physical_, info_);
    queue_ = vk::raii::Queue(device_, queue_family_, 0);
    pool_ = vk::raii::CommandPool(device_, vk::CommandPoolCreateInfo({}, queue_family_));
  }

  HostVisibleBuffer buffer(std::size_t bytes, vk::BufferUsageFlags usage) const {
    HostVisibleBuffer made;
    made.bytes = bytes;
    made.buffer = {device_, vk::BufferCreateInfo({}, bytes, usage)};
    const vk::MemoryRequirements needs = made.buffer.getMemoryRequirements();
    const auto memory = physical_->getMemoryProperties();
    constexpr auto kWanted =
        vk::MemoryPropertyFlagBits::eHostVisible | vk::MemoryPropertyFlagBits::eHostCoherent;
    std::uint32_t type = 0;
    while ((needs.memoryTypeBits >> type & 1u) == 0 ||
           (memory.memoryTypes[type].propertyFlags & kWanted) != kWanted)
      ++type;
    made.memory = {device_, vk::MemoryAllocateInfo(needs.size, type)};
    made.buffer.bindMemory(*made.memory, 0);
    made.mapped = static_cast<char*>(made.memory.mapMemory(0, VK_WHOLE_SIZE));
    return made;
  }

  vk::raii::CommandBuffer commands() const {
    return std::move(
        vk::raii::CommandBuffers(device_, {*pool_, vk::CommandBufferLevel::ePrimary, 1}).front());
  }
  /// The barrier that vulkan.h requires between two dependent GEMMs and before the host
  /// reads.
  static void barrier(const vk::raii::CommandBuffer& commands) {
    using Stages = vk::PipelineStageFlagBits;
    using Access = vk::AccessFlagBits;
    const vk::MemoryBarrier barrier(Access::eShaderWrite | Access::eTransferWrite,
                                    Access::eShaderRead | Access::eShaderWrite |
                                        Access::eTransferRead | Access::eTransferWrite |
                                        Access::eHostRead);
    commands.pipelineBarrier(Stages::eComputeShader | Stages::eTransfer,
                             Stages::eComputeShader | Stages::eTransfer | Stages::eHost, {},
                             barrier, {}, {});
  }
  void run(const vk::raii::CommandBuffer& commands) const {
    queue_.submit(vk::SubmitInfo({}, {}, *commands));
    queue_.waitIdle();
  }

  const vk::raii::Instance& instance() const { return instance_; }
  const vk::raii::PhysicalDevice& physical() const { return *physical_; }
  const vk::raii::Device& device() const { return device_; }
  const vk::raii::Queue& queue() const { return queue_; }
  std::uint32_t queue_family() const { return queue_family_; }
  const vk::DeviceCreateInfo& info() const { return info_; }
  static constexpr std::uint32_t kApiVersion = VK_API_VERSION_1_3;
  const std::vector<std::string>& messages() const { return *messages_; }

 private:
  // As in runtime/device/physical/validation.cpp, for Vulkan headers with C's types and with C++'s.
  template <typename Severity, typename Types, typename Data>
  static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(Severity, Types, const Data* data, void* user) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(data->pMessage);
    return VK_FALSE;
  }
  vk::DebugUtilsMessengerCreateInfoEXT messenger_info() const {
    using Severity = vk::DebugUtilsMessageSeverityFlagBitsEXT;
    vk::DebugUtilsMessengerCreateInfoEXT info;
    info.messageSeverity = Severity::eWarning | Severity::eError;
    info.messageType = vk::DebugUtilsMessageTypeFlagBitsEXT::eValidation;
    info.pfnUserCallback = on_message;
    info.pUserData = messages_.get();
    return info;
  }
  vk::raii::Instance make_instance() const {
    const vk::ApplicationInfo application("test", 1, "test", 1, kApiVersion);
    const char* const layer = "VK_LAYER_KHRONOS_validation";
    const std::vector<const char*> extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                                 VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    const auto synchronisation = vk::ValidationFeatureEnableEXT::eSynchronizationValidation;
    vk::ValidationFeaturesEXT features;
    features.setEnabledValidationFeatures(synchronisation);
    vk::InstanceCreateInfo info({}, &application, layer, extensions);
    info.pNext = &features;
    return {context_, info};
  }

  std::unique_ptr<std::vector<std::string>> messages_ =
      std::make_unique<std::vector<std::string>>();
  vk::raii::Context context_;
  vk::raii::Instance instance_;
  vk::raii::DebugUtilsMessengerEXT messenger_ = nullptr;
  std::unique_ptr<vk::raii::PhysicalDevice> physical_;
  std::vector<const char*> extensions_;
  float priority_ = 1;
  std::uint32_t queue_family_ = 0;
  vk::DeviceQueueCreateInfo queue_info_;
  vk::DeviceCreateInfo info_;
  vk::raii::Device device_ = nullptr;
  vk::raii::Queue queue_ = nullptr;
  vk::raii::CommandPool pool_ = nullptr;
};

}  // namespace rooftile
