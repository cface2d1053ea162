// The way in from a Vulkan program: recorded into its command buffer, over buffers of its own.
#include "runtime/device/physical/vulkan.h"
// This include must follow the macros that it sets for Vulkan-Hpp.
#include <dlfcn.h>
#include <rooftile/vulkan.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/error.h"
#include "core/round.h"
#include "placed.h"
#include "soak_session.h"

namespace rooftile {
namespace {

using Usage = vk::BufferUsageFlagBits;
constexpr vk::BufferUsageFlags kOperand =
    Usage::eStorageBuffer | Usage::eUniformTexelBuffer | Usage::eTransferSrc | Usage::eTransferDst;
constexpr std::uint32_t kApiVersion = VK_API_VERSION_1_3;

PFN_vkGetInstanceProcAddr loader() {
  void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW);
  if (library == nullptr) fail(ErrorCode::kDevice, "there is no libvulkan.so.1");
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
}

/// Memory that program and device share.
struct SharedBuffer {
  SharedBuffer(const vk::raii::PhysicalDevice& physical, const vk::raii::Device& device,
               std::size_t size)
      : bytes(size), buffer(device, vk::BufferCreateInfo({}, size, kOperand)) {
    const vk::MemoryRequirements needs = buffer.getMemoryRequirements();
    const vk::PhysicalDeviceMemoryProperties types = physical.getMemoryProperties();
    constexpr auto kShared =
        vk::MemoryPropertyFlagBits::eHostVisible | vk::MemoryPropertyFlagBits::eHostCoherent;
    std::uint32_t type = 0;  // Vulkan promises one.
    while ((needs.memoryTypeBits >> type & 1) == 0 ||
           (types.memoryTypes[type].propertyFlags & kShared) != kShared)
      ++type;
    memory = {device, vk::MemoryAllocateInfo(needs.size, type)};
    buffer.bindMemory(*memory, 0);
    mapped = static_cast<char*>(memory.mapMemory(0, VK_WHOLE_SIZE));
  }

  std::size_t bytes;
  vk::raii::Buffer buffer;
  vk::raii::DeviceMemory memory = nullptr;
  char* mapped = nullptr;
};

}  // namespace

/// A Vulkan program with a device of its own, and a context on it.
struct SoakSession::Program {
  Program(const std::string& name, const rooftile_options& options)
      : instance(functions, vk::InstanceCreateInfo({}, &application)) {
    for (vk::raii::PhysicalDevice& one : vk::raii::PhysicalDevices(instance))
      if (name == one.getProperties().deviceName.data())
        physical = std::make_unique<vk::raii::PhysicalDevice>(std::move(one));
    if (physical == nullptr) fail(ErrorCode::kDevice, "no device is called '{}'", name);
    const auto families = physical->getQueueFamilyProperties();
    const auto computes = std::ranges::find_if(families, [](const auto& family) {
      return static_cast<bool>(family.queueFlags & vk::QueueFlagBits::eCompute);
    });
    const auto family = static_cast<std::uint32_t>(computes - families.begin());

    rooftile_vulkan_device given = {.struct_size = sizeof given,
                                    .get_instance_proc_addr = loader(),
                                    .instance = *instance,
                                    .api_version = kApiVersion,
                                    .physical_device = **physical};
    rooftile_vulkan_requirements needs = {.struct_size = sizeof needs};
    expect_ok(rooftile_vulkan_requirements_get(&given, &needs), "rooftile_vulkan_requirements_get");
    const float priority = 1;
    const vk::DeviceQueueCreateInfo queues({}, family, 1, &priority);
    vk::DeviceCreateInfo info({}, queues);
    info.enabledExtensionCount = needs.extension_count;
    info.ppEnabledExtensionNames = needs.extensions;
    info.pNext = needs.features;
    device = {*physical, info};
    queue = {device, family, 0};
    pool = {device, vk::CommandPoolCreateInfo({}, family)};
    given.device = *device;
    given.create_info = &static_cast<const VkDeviceCreateInfo&>(info);
    given.queue_family = family;
    expect_ok(rooftile_vulkan_open(&options, &given, &context), "rooftile_vulkan_open");
    rooftile_vulkan_requirements_free(&needs);
  }
  ~Program() { rooftile_close(context); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  vk::ApplicationInfo application{"soak", 1, "soak", 1, kApiVersion};
  vk::raii::Context functions{loader()};
  vk::raii::Instance instance;
  std::unique_ptr<vk::raii::PhysicalDevice> physical;
  vk::raii::Device device = nullptr;
  vk::raii::Queue queue = nullptr;
  vk::raii::CommandPool pool = nullptr;
  rooftile_context* context = nullptr;
};

namespace {

/// The buffers of one call, released at its end.
class ProgramBuffers {
 public:
  using Operands = rooftile_vulkan_operands;
  using Place = rooftile_vulkan_place;

  ProgramBuffers(const vk::raii::PhysicalDevice& physical, const vk::raii::Device& device)
      : physical_(physical), device_(device) {}

  Place create(std::size_t bytes) {
    // Kernels read whole words, and vectors of four of them.
    constexpr std::size_t kWidestLoad = 16;
    const auto whole = static_cast<std::size_t>(
        round_up(static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)), kWidestLoad));
    const SharedBuffer& made = buffers_.emplace_back(physical_, device_, whole);
    return {*made.buffer, made.bytes, 0};
  }
  Place put(const ShiftedBytes& content, std::int64_t offset_bytes) {
    const auto offset = static_cast<std::size_t>(offset_bytes);
    const Place place = create(offset + content.size());
    std::memcpy(buffers_.back().mapped + offset, content.data(), content.size());
    return place;
  }
  const char* content(const Place& place) const {
    return std::ranges::find_if(buffers_,
                                [&](const SharedBuffer& shared) {
                                  return *shared.buffer == vk::Buffer(place.buffer);
                                })
        ->mapped;
  }

 private:
  const vk::raii::PhysicalDevice& physical_;
  const vk::raii::Device& device_;
  std::deque<SharedBuffer> buffers_;
};

/// What the device writes becomes visible to the host.
void make_visible(const vk::raii::CommandBuffer& commands) {
  const vk::MemoryBarrier barrier(vk::AccessFlagBits::eShaderWrite, vk::AccessFlagBits::eHostRead);
  commands.pipelineBarrier(vk::PipelineStageFlagBits::eComputeShader,
                           vk::PipelineStageFlagBits::eHost, {}, barrier, {}, {});
}

}  // namespace

SoakSession::Outcome SoakSession::call_vulkan(const SoakCase& test, SoakOperands& operands) {
  if (program_ == nullptr) program_ = std::make_shared<Program>(profile_.name, options());
  const Program& program = *program_;
  ProgramBuffers buffers(*program.physical, program.device);
  const SoakCall call(test, operands, SoakCall::Pointers::kNone);
  Placed<ProgramBuffers> x = place(test, operands, buffers);
  x.places.usage = static_cast<VkBufferUsageFlags>(kOperand);
  rooftile_prepared prepared = {.struct_size = sizeof prepared};
  if (const rooftile_status status =
          rooftile_vulkan_prepare(program.context, &call.args, &x.places, &prepared);
      status != ROOFTILE_OK)
    return {status, rooftile_last_error()};
  if (prepared.workspace_bytes > 0) x.places.workspace = buffers.create(prepared.workspace_bytes);

  const vk::raii::CommandBuffer commands = std::move(
      vk::raii::CommandBuffers(program.device, {*program.pool, vk::CommandBufferLevel::ePrimary, 1})
          .front());
  commands.begin(vk::CommandBufferBeginInfo());
  rooftile_recording* recording = nullptr;
  Outcome outcome;
  outcome.status =
      rooftile_vulkan_record(program.context, &call.args, &x.places, *commands, &recording);
  if (outcome.status != ROOFTILE_OK) {
    outcome.message = rooftile_last_error();
    return outcome;
  }
  make_visible(commands);
  commands.end();
  program.queue.submit(vk::SubmitInfo({}, {}, *commands));
  program.queue.waitIdle();
  std::memcpy(operands.c.data(), buffers.content(x.places.c) + x.c_offset_bytes, operands.c.size());
  expect_ok(rooftile_recording_release(recording), "rooftile_recording_release");
  return outcome;
}

}  // namespace rooftile
