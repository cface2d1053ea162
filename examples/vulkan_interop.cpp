// A Vulkan program that records two GEMMs into a command buffer of its own, on its own device:
//   H := relu(X * W + bias),  Y := H * V
// with the barrier between them that rooftile/vulkan.h asks for. Exit code 0: right, 1: something
// failed or the result is wrong.
#include <vulkan/vulkan_raii.hpp>
// The line between keeps Vulkan-Hpp first.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <rooftile/rooftile.hpp>
#include <rooftile/vulkan.hpp>
#include <vector>

namespace {

constexpr std::int64_t kRows = 40, kIn = 56, kHidden = 72, kOut = 24;
constexpr std::uint32_t kApiVersion = VK_API_VERSION_1_1;
constexpr vk::BufferUsageFlags kUsage =
    vk::BufferUsageFlagBits::eStorageBuffer | vk::BufferUsageFlagBits::eUniformTexelBuffer |
    vk::BufferUsageFlagBits::eTransferSrc | vk::BufferUsageFlagBits::eTransferDst;

/// Memory that host and device share.
class SharedBuffer {
 public:
  SharedBuffer(const vk::raii::PhysicalDevice& physical, const vk::raii::Device& device,
               std::size_t bytes)
      : bytes_(bytes), buffer_(device, vk::BufferCreateInfo({}, bytes, kUsage)) {
    const vk::MemoryRequirements needs = buffer_.getMemoryRequirements();
    const vk::PhysicalDeviceMemoryProperties types = physical.getMemoryProperties();
    constexpr auto kShared =
        vk::MemoryPropertyFlagBits::eHostVisible | vk::MemoryPropertyFlagBits::eHostCoherent;
    std::uint32_t type = 0;  // Vulkan promises one
    while ((needs.memoryTypeBits >> type & 1) == 0 ||
           (types.memoryTypes[type].propertyFlags & kShared) != kShared)
      ++type;
    memory_ = {device, vk::MemoryAllocateInfo(needs.size, type)};
    buffer_.bindMemory(*memory_, 0);
    floats_ = static_cast<float*>(memory_.mapMemory(0, VK_WHOLE_SIZE));
  }
  float* floats() const { return floats_; }
  rooftile_vulkan_place place() const { return {*buffer_, bytes_, 0}; }

 private:
  std::size_t bytes_;
  vk::raii::Buffer buffer_;
  vk::raii::DeviceMemory memory_ = nullptr;
  float* floats_ = nullptr;
};

double expected(const float* x, const float* w, const float* bias, const float* v, std::int64_t row,
                std::int64_t column, double& bound) {
  double y = 0;
  bound = 0;
  for (std::int64_t j = 0; j < kHidden; ++j) {
    double h = bias[j], magnitude = std::abs(h);
    for (std::int64_t i = 0; i < kIn; ++i) {
      const double product = double{x[row * kIn + i]} * w[i * kHidden + j];
      h += product;
      magnitude += std::abs(product);
    }
    const double weight = std::abs(double{v[j * kOut + column]});
    y += std::max(h, 0.0) * v[j * kOut + column];
    // Rounding errors of sums of that many float32 products, in any order.
    bound += std::ldexp(magnitude * weight, -23) * static_cast<double>(kIn + kHidden + 6);
  }
  return y;
}

int run() {
  void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "no Vulkan loader (libvulkan.so.1)\n");
    return 1;
  }
  const auto get_instance_proc_addr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));

  // The program's own instance, device and queue.
  const vk::raii::Context loader(get_instance_proc_addr);
  const vk::ApplicationInfo application("vulkan_interop", 1, nullptr, 0, kApiVersion);
  const vk::raii::Instance instance(loader, vk::InstanceCreateInfo({}, &application));
  const vk::raii::PhysicalDevice physical = std::move(vk::raii::PhysicalDevices(instance).front());
  const auto families = physical.getQueueFamilyProperties();
  const auto family = static_cast<std::uint32_t>(
      std::find_if(families.begin(), families.end(),
                   [](const auto& f) {
                     return static_cast<bool>(f.queueFlags & vk::QueueFlagBits::eCompute);
                   }) -
      families.begin());

  // With all extensions and features that Rooftile's kernels can use.
  rooftile_vulkan_device given = {};
  given.get_instance_proc_addr = get_instance_proc_addr;
  given.instance = *instance;
  given.api_version = kApiVersion;
  given.physical_device = *physical;
  const rooftile::VulkanRequirements requirements(given);
  const float priority = 1;
  const vk::DeviceQueueCreateInfo queue_info({}, family, 1, &priority);
  vk::DeviceCreateInfo device_info({}, 1, &queue_info, 0, nullptr, requirements->extension_count,
                                   requirements->extensions);
  device_info.pNext = requirements->features;
  const vk::raii::Device device(physical, device_info);
  const vk::raii::Queue queue(device, family, 0);

  given.device = *device;
  given.create_info = &static_cast<const VkDeviceCreateInfo&>(device_info);
  given.queue_family = family;
  const rooftile::Session session = rooftile::open_vulkan(given);

  const auto buffer = [&](std::int64_t floats) {
    return SharedBuffer(physical, device, static_cast<std::size_t>(floats) * sizeof(float));
  };
  const SharedBuffer x = buffer(kRows * kIn), w = buffer(kIn * kHidden), bias = buffer(kHidden),
                     v = buffer(kHidden * kOut), h = buffer(kRows * kHidden),
                     y = buffer(kRows * kOut);
  for (std::int64_t i = 0; i < kRows * kIn; ++i) x.floats()[i] = std::sin(static_cast<float>(i));
  for (std::int64_t i = 0; i < kIn * kHidden; ++i) w.floats()[i] = std::cos(static_cast<float>(i));
  for (std::int64_t i = 0; i < kHidden; ++i) bias.floats()[i] = static_cast<float>(i % 5 - 2);
  for (std::int64_t i = 0; i < kHidden * kOut; ++i)
    v.floats()[i] = std::sin(static_cast<float>(3 * i));

  rooftile_epilogue epilogue = {};
  epilogue.struct_size = sizeof epilogue;
  epilogue.bias_kind = ROOFTILE_BIAS_COLUMN;
  epilogue.activation = ROOFTILE_RELU;
  rooftile_gemm_args first = {};
  first.m = kRows, first.n = kHidden, first.k = kIn;
  first.alpha = 1;
  first.lda = kIn, first.ldb = kHidden, first.ldc = kHidden;
  first.epilogue = &epilogue;
  rooftile_vulkan_operands first_operands = {};
  first_operands.usage = static_cast<VkBufferUsageFlags>(kUsage);
  first_operands.a = x.place();
  first_operands.b = w.place();
  first_operands.c = h.place();
  first_operands.bias = bias.place();

  rooftile_gemm_args second = {};
  second.m = kRows, second.n = kOut, second.k = kHidden;
  second.alpha = 1;
  second.lda = kHidden, second.ldb = kOut, second.ldc = kOut;
  rooftile_vulkan_operands second_operands = {};
  second_operands.usage = static_cast<VkBufferUsageFlags>(kUsage);
  second_operands.a = h.place();
  second_operands.b = v.place();
  second_operands.c = y.place();

  // Pipelines are compiled here; recording does not wait for any.
  const std::size_t workspace_bytes =
      std::max(rooftile::prepare(session, first, first_operands).workspace_bytes,
               rooftile::prepare(session, second, second_operands).workspace_bytes);
  const SharedBuffer workspace(physical, device, std::max<std::size_t>(workspace_bytes, 16));
  first_operands.workspace = second_operands.workspace = workspace.place();

  const vk::raii::CommandPool pool(device, vk::CommandPoolCreateInfo({}, family));
  const vk::raii::CommandBuffers all(device, {*pool, vk::CommandBufferLevel::ePrimary, 1});
  const vk::raii::CommandBuffer& commands = all.front();
  const auto barrier = [&] {
    using Stage = vk::PipelineStageFlagBits;
    using Access = vk::AccessFlagBits;
    const vk::MemoryBarrier written(Access::eShaderWrite | Access::eTransferWrite,
                                    Access::eShaderRead | Access::eShaderWrite |
                                        Access::eTransferRead | Access::eTransferWrite |
                                        Access::eHostRead);
    commands.pipelineBarrier(Stage::eComputeShader | Stage::eTransfer,
                             Stage::eComputeShader | Stage::eTransfer | Stage::eHost, {}, written,
                             {}, {});
  };
  commands.begin(vk::CommandBufferBeginInfo());
  const rooftile::Recording first_recording(session, first, first_operands, *commands);
  barrier();  // the second reads what the first writes, and both use the workspace
  const rooftile::Recording second_recording(session, second, second_operands, *commands);
  barrier();  // the host reads
  commands.end();
  queue.submit(vk::SubmitInfo({}, {}, *commands));
  queue.waitIdle();

  double worst = 0;
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::int64_t column = 0; column < kOut; ++column) {
      double bound = 0;
      const double value =
          expected(x.floats(), w.floats(), bias.floats(), v.floats(), row, column, bound);
      worst = std::max(worst, std::abs(double{y.floats()[row * kOut + column]} - value) / bound);
    }
  std::printf("device: %s, workspace: %zu bytes\n", physical.getProperties().deviceName.data(),
              workspace_bytes);
  std::printf("Y[0][0] = %.6f, largest error %.3f of its bound\n%s\n", y.floats()[0], worst,
              worst <= 1 ? "right" : "wrong");
  return worst <= 1 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vulkan_interop: %s\n", error.what());
    return 1;
  }
}
