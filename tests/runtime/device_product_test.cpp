// The phases of a product on a device, and a driver that imports nothing.
#include "tests/runtime/vulkan_program.h"
// After the switches of Vulkan-Hpp.
#include <gtest/gtest.h>

#include "generator/space.h"
#include "runtime/device_product.h"
#include "tests/runtime/call_of.h"
#include "tests/runtime/scratch.h"

namespace rooftile {
namespace {

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

class DeviceProductTest : public ::testing::Test {
 protected:
  void use(std::shared_ptr<Device> device) {
    device_ = std::move(device);
    pool_ = std::make_unique<BufferPool>(device_);
    kernel_ = std::make_shared<const Kernel>(device_, fallback_variant(), Signature{},
                                             ShaderCache(folder_.path()));
  }
  void use_first() {
    const Enumeration found = enumerate_devices();
    ASSERT_FALSE(found.devices.empty()) << found.note;
    use(Device::open(found.devices.front()));
  }
  std::unique_ptr<DeviceProduct> prepared(Product& product) {
    return std::make_unique<DeviceProduct>(
        DeviceLink{device_, device_->profile(), rates_, *pool_, imports_}, kernel_, 1e5,
        call_of(product));
  }

  // Importing pays whatever the operand.
  const DeviceRates rates_ = {.upload_gbps = 1e-3, .download_gbps = 1e-3, .import_ns = 1};
  ScratchFolder folder_;
  std::atomic<std::uint64_t> imports_ = 0;
  std::shared_ptr<Device> device_;
  std::unique_ptr<BufferPool> pool_;
  std::shared_ptr<const Kernel> kernel_;
};

TEST_F(DeviceProductTest, OneIsPreparedWhileTheOtherRuns) {
  use_first();
  Product first(packed_problem(50, 60, 72)), second(packed_problem(44, 52, 80));
  const auto one = prepared(first);
  one->submit();
  const auto other = prepared(second);
  one->wait();
  other->submit();
  EXPECT_EQ(one->collect(), std::nullopt);
  other->wait();
  EXPECT_EQ(other->collect(), std::nullopt);
  first.expect_right();
  second.expect_right();
}

TEST_F(DeviceProductTest, WhoLeavesEarlyLeavesNothingRunning) {
  use_first();
  for (const float beta : {0.0f, 1.0f}) {
    Problem p = packed_problem(128, 128, 512);
    p.beta = beta;
    Product left(p);
    {
      const auto product = prepared(left);
      product->submit();
    }
    // Imported or not, nothing of it changes any more.
    const std::vector<float> c = left.c;
    Product next(p);
    const auto product = prepared(next);
    product->submit();
    product->wait();
    product->collect();
    next.expect_right();
    EXPECT_EQ(left.c.size(), c.size());
    EXPECT_TRUE(std::equal(c.begin(), c.end(), left.c.begin(), [](float x, float y) {
      return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    }));
    if (beta == 0) continue;
    EXPECT_TRUE(left.c_is_untouched()) << "nobody has collected it";
  }
  {
    Product never(packed_problem(8, 8, 8));
    prepared(never);
  }
}

TEST_F(DeviceProductTest, ADriverThatImportsNothingGetsCopies) {
  use_first();
  if (device_->profile().limits.host_import_alignment_bytes == 0) GTEST_SKIP();
  VulkanProgram program;
  program.make_device({VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME}, nullptr);
  ForeignDevice foreign = {
      .get_instance_proc_addr = reinterpret_cast<ForeignDevice::Function>(VulkanProgram::loader()),
      .instance = *program.instance(),
      .physical_device = *program.physical(),
      .device = *program.device(),
      .queue = *program.queue(),
      .queue_family = program.queue_family(),
      .api_version = VulkanProgram::kApiVersion,
      .create_info = &static_cast<const VkDeviceCreateInfo&>(program.info())};
  for (const bool refuses : {false, true}) {
    if (refuses)
      foreign.get_instance_proc_addr = reinterpret_cast<ForeignDevice::Function>(instance_function);
    use(Device::adopt(foreign));
    imports_ = 0;
    Product product(packed_problem(50, 60, 72));
    {
      const auto computed = prepared(product);
      computed->submit();
      computed->wait();
      EXPECT_EQ(computed->collect(), std::nullopt);
    }
    product.expect_right();
    EXPECT_EQ(imports_ == 0, refuses);
  }
  kernel_ = nullptr;
  pool_ = nullptr;
  device_ = nullptr;  // before the program's own
  EXPECT_TRUE(program.messages().empty()) << program.messages().front();
}

}  // namespace
}  // namespace rooftile
