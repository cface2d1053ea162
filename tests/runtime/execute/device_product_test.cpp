// Phases of a GEMM on the device, with and without a driver that imports host memory.
#include "tests/support/first_device.h"
#include "tests/support/vulkan_program.h"
// This include must follow the macros that vulkan_program.h sets for Vulkan-Hpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "generator/space.h"
#include "runtime/execute/device_product.h"
#include "tests/support/call_of.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using ::testing::Contains;

VKAPI_ATTR VkResult VKAPI_CALL refuse(VkDevice, VkExternalMemoryHandleTypeFlagBits, const void*,
                                      VkMemoryHostPointerPropertiesEXT*) {
  return VK_ERROR_INVALID_EXTERNAL_HANDLE;
}

PFN_vkGetDeviceProcAddr real_device_functions;

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  if (std::string_view(name) == "vkGetMemoryHostPointerPropertiesEXT")
    return reinterpret_cast<PFN_vkVoidFunction>(refuse);
  if (std::string_view(name) == "vkGetDeviceProcAddr")
    return reinterpret_cast<PFN_vkVoidFunction>(device_function);
  return real_device_functions(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
  if (std::string_view(name) == "vkGetInstanceProcAddr")
    return reinterpret_cast<PFN_vkVoidFunction>(instance_function);
  const PFN_vkVoidFunction real = VulkanProgram::loader()(instance, name);
  if (std::string_view(name) != "vkGetDeviceProcAddr") return real;
  real_device_functions = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
  return reinterpret_cast<PFN_vkVoidFunction>(device_function);
}

/// Properties of a bound texel buffer for which drivers compile a kernel again
/// (runtime/kernel/kernel.cpp).
struct Form {
  bool power_of_two = false, middle_bits = false;
  bool operator==(const Form&) const = default;
};
std::vector<Form> forms;  // in the order of binding
std::map<VkBuffer, VkDeviceSize> buffer_bytes;

VKAPI_ATTR VkResult VKAPI_CALL watch_buffer(VkDevice device, const VkBufferCreateInfo* info,
                                            const VkAllocationCallbacks* allocator,
                                            VkBuffer* buffer) {
  const auto real =
      reinterpret_cast<PFN_vkCreateBuffer>(real_device_functions(device, "vkCreateBuffer"));
  const VkResult result = real(device, info, allocator, buffer);
  buffer_bytes[*buffer] = info->size;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL watch_view(VkDevice device, const VkBufferViewCreateInfo* info,
                                          const VkAllocationCallbacks* allocator,
                                          VkBufferView* view) {
  const VkDeviceSize whole = buffer_bytes.at(info->buffer);
  const VkDeviceSize range = info->range == VK_WHOLE_SIZE ? whole - info->offset : info->range;
  forms.push_back({std::has_single_bit(whole), (range & 0xff00) != 0});
  return reinterpret_cast<PFN_vkCreateBufferView>(
      real_device_functions(device, "vkCreateBufferView"))(device, info, allocator, view);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL watched_device_function(VkDevice device,
                                                                 const char* name) {
  if (std::string_view(name) == "vkCreateBuffer")
    return reinterpret_cast<PFN_vkVoidFunction>(watch_buffer);
  if (std::string_view(name) == "vkCreateBufferView")
    return reinterpret_cast<PFN_vkVoidFunction>(watch_view);
  if (std::string_view(name) == "vkGetDeviceProcAddr")
    return reinterpret_cast<PFN_vkVoidFunction>(watched_device_function);
  return real_device_functions(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL watched_function(VkInstance instance, const char* name) {
  if (std::string_view(name) == "vkGetInstanceProcAddr")
    return reinterpret_cast<PFN_vkVoidFunction>(watched_function);
  const PFN_vkVoidFunction real = VulkanProgram::loader()(instance, name);
  if (std::string_view(name) != "vkGetDeviceProcAddr") return real;
  real_device_functions = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
  return reinterpret_cast<PFN_vkVoidFunction>(watched_device_function);
}

ForeignDevice foreign_device(const VulkanProgram& program, PFN_vkGetInstanceProcAddr functions) {
  return {.get_instance_proc_addr = reinterpret_cast<ForeignDevice::Function>(functions),
          .instance = *program.instance(),
          .physical_device = *program.physical(),
          .device = *program.device(),
          .queue = *program.queue(),
          .queue_family = program.queue_family(),
          .api_version = VulkanProgram::kApiVersion,
          .create_info = &static_cast<const VkDeviceCreateInfo&>(program.info())};
}

class DeviceProductTest : public ::testing::Test {
 protected:
  void use(std::shared_ptr<Device> device) {
    device_ = std::move(device);
    pool_ = std::make_unique<BufferPool>(device_);
    kernel_ = std::make_shared<const Kernel>(device_, fallback_variant(), Signature{},
                                             ShaderCache(folder_.path()));
  }
  void use_first() { use(Device::open(first_device())); }
  /// Releases everything before another program opens its own device.
  void close() {
    kernel_ = nullptr;
    pool_ = nullptr;
    device_ = nullptr;
  }
  std::unique_ptr<DeviceProduct> prepared(Product& product) { return prepared(product, rates_); }
  std::unique_ptr<DeviceProduct> prepared(Product& product, const DeviceRates& rates) {
    return std::make_unique<DeviceProduct>(
        DeviceLink{device_, device_->profile(), rates, *pool_, imports_}, kernel_, 1e5,
        call_of(product));
  }

  // With these rates, importing is cheaper than staging for every operand.
  const DeviceRates rates_ = {.upload_gbps = 1e-3, .download_gbps = 1e-3, .import_ns = 1};
  ScratchFolder folder_;
  std::atomic<std::uint64_t> imports_ = 0;
  std::shared_ptr<Device> device_;
  std::unique_ptr<BufferPool> pool_;
  std::shared_ptr<const Kernel> kernel_;
};

TEST_F(DeviceProductTest, ACallIsPreparedWhileAnotherRuns) {
  use_first();
  Product first(packed_problem(50, 60, 72)), second(packed_problem(44, 52, 80));
  const auto one = prepared(first);
  one->read_c();
  one->submit();
  const auto other = prepared(second);
  one->wait();
  other->read_c();
  other->submit();
  EXPECT_EQ(one->collect(), std::nullopt);
  other->wait();
  EXPECT_EQ(other->collect(), std::nullopt);
  first.expect_right();
  second.expect_right();
}

TEST_F(DeviceProductTest, AnAbandonedCallWaitsForItsWork) {
  use_first();
  for (const float beta : {0.0f, 1.0f}) {
    Problem p = packed_problem(128, 128, 512);
    p.beta = beta;
    Product left(p);
    {
      const auto product = prepared(left);
      product->read_c();
      product->submit();
    }
    // Whether C was imported or not, it does not change any more.
    const std::vector<float> c = left.c;
    Product next(p);
    const auto product = prepared(next);
    product->read_c();
    product->submit();
    product->wait();
    product->collect();
    next.expect_right();
    EXPECT_EQ(left.c.size(), c.size());
    EXPECT_TRUE(std::equal(c.begin(), c.end(), left.c.begin(), [](float x, float y) {
      return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    }));
    if (beta == 0) continue;
    EXPECT_TRUE(left.c_is_untouched()) << "C was written although collect() was not called";
  }
  {
    Product never(packed_problem(8, 8, 8));
    prepared(never);
  }
}

TEST_F(DeviceProductTest, WithoutMemoryImportOperandsAreCopied) {
  use_first();
  if (device_->profile().limits.host_import_alignment_bytes == 0) GTEST_SKIP();
  VulkanProgram program;
  program.make_device({VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME}, nullptr);
  for (const bool refuses : {false, true}) {
    use(Device::adopt(
        foreign_device(program, refuses ? instance_function : VulkanProgram::loader())));
    imports_ = 0;
    Product product(packed_problem(50, 60, 72));
    {
      const auto computed = prepared(product);
      computed->read_c();
      computed->submit();
      computed->wait();
      EXPECT_EQ(computed->collect(), std::nullopt);
    }
    product.expect_right();
    EXPECT_EQ(imports_ == 0, refuses);
  }
  close();
  EXPECT_TRUE(program.messages().empty()) << program.messages().front();
}

// Otherwise the call that finds its kernel ready waits for a compilation in the driver.
TEST_F(DeviceProductTest, WarmingUpBindsWhatTheCallBinds) {
  use_first();
  const bool imports = device_->profile().limits.host_import_alignment_bytes > 0;
  VulkanProgram program;
  program.make_device(imports ? std::vector<const char*>{VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME}
                              : std::vector<const char*>{},
                      nullptr);
  use(Device::adopt(foreign_device(program, watched_function)));
  std::vector<Form> seen;
  for (const char* packed : {"", " packed_a=yes", " packed_b=yes"}) {
    kernel_ = std::make_shared<const Kernel>(
        device_,
        parse_variant(std::string("family=register tile_m=16 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 "
                                  "vector_width_a=4 vector_width_b=4 load_path_a=texel "
                                  "load_path_b=texel") +
                      packed),
        Signature{}, ShaderCache(folder_.path()));
    for (const DeviceRates& rates : {rates_, DeviceRates{}}) {
      for (const std::int64_t columns : {64, 128, 136, 512}) {
        SCOPED_TRACE(std::to_string(columns) + " columns" + packed);
        Product product(packed_problem(128, columns, 64));
        forms.clear();
        kernel_->warm_up(60e9, bound_operands(call_of(product), device_->profile(), rates));
        const std::vector<Form> warm = std::exchange(forms, {});
        const auto computed = prepared(product, rates);
        computed->read_c();
        computed->submit();
        computed->wait();
        EXPECT_EQ(computed->collect(), std::nullopt);
        product.expect_right();
        const auto was_bound = [&](const Form& form) {
          return std::ranges::find(warm, form) != warm.end();
        };
        EXPECT_FALSE(forms.empty());
        EXPECT_TRUE(std::ranges::all_of(forms, was_bound));
        EXPECT_TRUE(*packed != '\0' || forms == warm);
        seen.insert(seen.end(), forms.begin(), forms.end());
      }
    }
  }
  EXPECT_THAT(seen, Contains(Form{.power_of_two = false, .middle_bits = true}));
  // Of imported memory, also what these calls did not have.
  constexpr std::uint64_t kPage = 4096;
  const std::pair<BoundOperand, Form> kImported[] = {{{16 * kPage, 16 * kPage}, {true, false}},
                                                     {{16 * kPage, 15 * kPage}, {true, true}},
                                                     {{48 * kPage, 48 * kPage}, {false, false}},
                                                     {{17 * kPage, 17 * kPage}, {false, true}}};
  for (const auto& [operand, form] : kImported) {
    forms.clear();
    kernel_->warm_up(60e9, {.a = operand});
    EXPECT_THAT(forms, Contains(form)) << operand.bound_bytes << " of " << operand.imported_bytes;
  }
  close();
  EXPECT_TRUE(program.messages().empty()) << program.messages().front();
}

}  // namespace
}  // namespace rooftile
