#include "runtime/device/adopt.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/device/physical/error_translation.h"
#include "runtime/device/physical/features.h"

namespace rooftile {
namespace {

/// The program's instance, borrowed while its functions are looked up.
class BorrowedInstance {
 public:
  BorrowedInstance(ForeignDevice::Function get_instance_proc_addr, void* instance)
      : context_(reinterpret_cast<PFN_vkGetInstanceProcAddr>(get_instance_proc_addr)),
        handle_(context_, static_cast<VkInstance>(instance)) {}
  ~BorrowedInstance() { handle_.release(); }
  BorrowedInstance(const BorrowedInstance&) = delete;
  BorrowedInstance& operator=(const BorrowedInstance&) = delete;
  const vk::raii::Instance& operator*() const { return handle_; }

 private:
  vk::raii::Context context_;
  vk::raii::Instance handle_;
};

void check_given(const char* what, bool given) {
  if (!given) fail(ErrorCode::kInvalidArgument, "{} is null", what);
}

struct Borrowed {
  std::unique_ptr<BorrowedInstance> instance;
  vk::raii::PhysicalDevice physical;
  PhysicalDetails details;
};

Borrowed borrow(const ForeignDevice& foreign) {
  check_given("get_instance_proc_addr", foreign.get_instance_proc_addr != nullptr);
  check_given("instance", foreign.instance != nullptr);
  check_given("physical_device", foreign.physical_device != nullptr);
  if (foreign.api_version < VK_API_VERSION_1_1)
    fail(ErrorCode::kUnsupported,
         "the instance is for a Vulkan older than 1.1: set VkApplicationInfo::apiVersion to 1.1 or "
         "later, and api_version to the same");
  auto instance =
      std::make_unique<BorrowedInstance>(foreign.get_instance_proc_addr, foreign.instance);
  vk::raii::PhysicalDevice physical(**instance,
                                    static_cast<VkPhysicalDevice>(foreign.physical_device));
  auto details = read_details(physical, ***instance);
  if (!details)
    fail(ErrorCode::kUnsupported,
         "the device is older than Vulkan 1.1 or has no queue family for compute");
  leave_version(*details, foreign.api_version);
  return {std::move(instance), std::move(physical), std::move(*details)};
}

}  // namespace

AdoptedDevice adopt_device(const ForeignDevice& foreign) {
  Borrowed borrowed = borrow(foreign);
  check_given("device", foreign.device != nullptr);
  check_given("create_info", foreign.create_info != nullptr);
  PhysicalDetails& details = borrowed.details;
  const auto families = borrowed.physical.getQueueFamilyProperties();
  if (foreign.queue_family >= families.size() ||
      !(families[foreign.queue_family].queueFlags & vk::QueueFlagBits::eCompute))
    fail(ErrorCode::kInvalidArgument, "queue family {} has no compute queues on {}",
         foreign.queue_family, details.offer.profile.name);
  details.queue_family = foreign.queue_family;
  details.offer.profile.limits.timestamp_valid_bits =
      families[foreign.queue_family].timestampValidBits;
  leave_enabled(details, *static_cast<const VkDeviceCreateInfo*>(foreign.create_info));
  return {std::move(details),
          vk::raii::Device(borrowed.physical, static_cast<VkDevice>(foreign.device))};
}

struct DeviceRequirements::Impl {
  explicit Impl(const Borrowed& borrowed) : features(borrowed.physical, borrowed.details) {}
  DeviceFeatures features;
};

DeviceRequirements::DeviceRequirements(const ForeignDevice& foreign) {
  translated("reading a device", [&] { impl_ = std::make_unique<const Impl>(borrow(foreign)); });
}
DeviceRequirements::~DeviceRequirements() = default;
const void* DeviceRequirements::chain() const { return impl_->features.chain(); }
const std::vector<const char*>& DeviceRequirements::extensions() const {
  return impl_->features.extensions();
}

}  // namespace rooftile
