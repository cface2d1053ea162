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

/// Null without a Vulkan loader.
PFN_vkGetInstanceProcAddr load_vulkan() {
  void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW);
  return library == nullptr ? nullptr
                            : reinterpret_cast<PFN_vkGetInstanceProcAddr>(
                                  ::dlsym(library, "vkGetInstanceProcAddr"));
}

std::uint32_t compute_family(const vk::raii::PhysicalDevice& physical) {
  const auto families = physical.getQueueFamilyProperties();
  std::uint32_t family = 0;
  while (family < families.size() && !(families[family].queueFlags & vk::QueueFlagBits::eCompute))
    ++family;
  return family;
}

struct Matrices {
  Matrices(const vk::raii::PhysicalDevice& physical, const vk::raii::Device& device)
      : x(physical, device, kRows * kIn * sizeof(float)),
        w(physical, device, kIn * kHidden * sizeof(float)),
        bias(physical, device, kHidden * sizeof(float)),
        v(physical, device, kHidden * kOut * sizeof(float)),
        h(physical, device, kRows * kHidden * sizeof(float)),
        y(physical, device, kRows * kOut * sizeof(float)) {
    for (std::int64_t i = 0; i < kRows * kIn; ++i) x.floats()[i] = std::sin(static_cast<float>(i));
    for (std::int64_t i = 0; i < kIn * kHidden; ++i)
      w.floats()[i] = std::cos(static_cast<float>(i));
    for (std::int64_t i = 0; i < kHidden; ++i) bias.floats()[i] = static_cast<float>(i % 5 - 2);
    for (std::int64_t i = 0; i < kHidden * kOut; ++i)
      v.floats()[i] = std::sin(static_cast<float>(3 * i));
  }
  /// Largest error of Y, relative to its bound.
  double worst_error() const {
    double worst = 0;
    for (std::int64_t row = 0; row < kRows; ++row)
      for (std::int64_t column = 0; column < kOut; ++column) {
        double bound = 0;
        const double value =
            expected(x.floats(), w.floats(), bias.floats(), v.floats(), row, column, bound);
        worst = std::max(worst, std::abs(double{y.floats()[row * kOut + column]} - value) / bound);
      }
    return worst;
  }

  SharedBuffer x, w, bias, v, h, y;
};

struct Call {
  rooftile_gemm_args args = {};
  rooftile_vulkan_operands operands = {};
};

/// H := relu(X * W + bias). The epilogue must outlive the call.
Call hidden_layer(const Matrices& matrices, rooftile_epilogue& epilogue) {
  epilogue.struct_size = sizeof epilogue;
  epilogue.bias_kind = ROOFTILE_BIAS_COLUMN;
  epilogue.activation = ROOFTILE_RELU;
  Call call;
  call.args.m = kRows, call.args.n = kHidden, call.args.k = kIn;
  call.args.alpha = 1;
  call.args.lda = kIn, call.args.ldb = kHidden, call.args.ldc = kHidden;
  call.args.epilogue = &epilogue;
  call.operands.usage = static_cast<VkBufferUsageFlags>(kUsage);
  call.operands.a = matrices.x.place();
  call.operands.b = matrices.w.place();
  call.operands.c = matrices.h.place();
  call.operands.bias = matrices.bias.place();
  return call;
}

/// Y := H * V.
Call output_layer(const Matrices& matrices) {
  Call call;
  call.args.m = kRows, call.args.n = kOut, call.args.k = kHidden;
  call.args.alpha = 1;
  call.args.lda = kHidden, call.args.ldb = kOut, call.args.ldc = kOut;
  call.operands.usage = static_cast<VkBufferUsageFlags>(kUsage);
  call.operands.a = matrices.h.place();
  call.operands.b = matrices.v.place();
  call.operands.c = matrices.y.place();
  return call;
}

void record_barrier(const vk::raii::CommandBuffer& commands) {
  using Stage = vk::PipelineStageFlagBits;
  using Access = vk::AccessFlagBits;
  const vk::MemoryBarrier written(Access::eShaderWrite | Access::eTransferWrite,
                                  Access::eShaderRead | Access::eShaderWrite |
                                      Access::eTransferRead | Access::eTransferWrite |
                                      Access::eHostRead);
  commands.pipelineBarrier(Stage::eComputeShader | Stage::eTransfer,
                           Stage::eComputeShader | Stage::eTransfer | Stage::eHost, {}, written, {},
                           {});
}

int run() {
  const PFN_vkGetInstanceProcAddr get_instance_proc_addr = load_vulkan();
  if (get_instance_proc_addr == nullptr) {
    std::fprintf(stderr, "no Vulkan loader (libvulkan.so.1)\n");
    return 1;
  }

  // The program's own instance, device and queue.
  const vk::raii::Context loader(get_instance_proc_addr);
  const vk::ApplicationInfo application("vulkan_interop", 1, nullptr, 0, kApiVersion);
  const vk::raii::Instance instance(loader, vk::InstanceCreateInfo({}, &application));
  const vk::raii::PhysicalDevice physical = std::move(vk::raii::PhysicalDevices(instance).front());
  const std::uint32_t family = compute_family(physical);

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

  const Matrices matrices(physical, device);
  rooftile_epilogue epilogue = {};
  Call first = hidden_layer(matrices, epilogue), second = output_layer(matrices);

  // Pipelines are compiled here; recording does not wait for any.
  const std::size_t workspace_bytes =
      std::max(rooftile::prepare(session, first.args, first.operands).workspace_bytes,
               rooftile::prepare(session, second.args, second.operands).workspace_bytes);
  const SharedBuffer workspace(physical, device, std::max<std::size_t>(workspace_bytes, 16));
  first.operands.workspace = second.operands.workspace = workspace.place();

  const vk::raii::CommandPool pool(device, vk::CommandPoolCreateInfo({}, family));
  const vk::raii::CommandBuffers all(device, {*pool, vk::CommandBufferLevel::ePrimary, 1});
  const vk::raii::CommandBuffer& commands = all.front();
  commands.begin(vk::CommandBufferBeginInfo());
  const rooftile::Recording first_recording(session, first.args, first.operands, *commands);
  record_barrier(commands);  // the second reads what the first writes, and both use the workspace
  const rooftile::Recording second_recording(session, second.args, second.operands, *commands);
  record_barrier(commands);  // the host reads
  commands.end();
  queue.submit(vk::SubmitInfo({}, {}, *commands));
  queue.waitIdle();

  const double worst = matrices.worst_error();
  std::printf("device: %s, workspace: %zu bytes\n", physical.getProperties().deviceName.data(),
              workspace_bytes);
  std::printf("Y[0][0] = %.6f, largest error %.3f of its bound\n%s\n", matrices.y.floats()[0],
              worst, worst <= 1 ? "right" : "wrong");
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
