// Device::count: runs steps once per pass and reads the driver's counters around them.
#include <cmath>
#include <string>
#include <vector>

#include "runtime/device/counters.h"
#include "runtime/device/device_impl.h"

namespace rooftile {
namespace {

constexpr std::uint64_t kLockTimeoutNs = 1'000'000'000;

/// The profiling lock. It is held only while counters are read, because it may fix the device's
/// clocks and only one program at a time may hold it.
class ProfilingLock {
 public:
  explicit ProfilingLock(Device::Impl& device) : device_(device) {
    const VkAcquireProfilingLockInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR,
        .pNext = nullptr,
        .flags = 0,
        .timeout = kLockTimeoutNs};
    const VkResult result = device.dispatcher().vkAcquireProfilingLockKHR(*device.handle, &info);
    if (result == VK_SUCCESS) return;
    fail(ErrorCode::kUnsupported,
         "{} does not let its counters be read ({}); another program may be reading them, or the "
         "rights may be missing (Intel on Linux: the sysctl dev.i915.perf_stream_paranoid or "
         "dev.xe.observation_paranoid)",
         device.profile().name, vk::to_string(static_cast<vk::Result>(result)));
  }
  ~ProfilingLock() {
    // Work that is still being counted must keep the lock.
    if (!device_.must_leak()) device_.dispatcher().vkReleaseProfilingLockKHR(*device_.handle);
  }
  ProfilingLock(const ProfilingLock&) = delete;
  ProfilingLock& operator=(const ProfilingLock&) = delete;

 private:
  Device::Impl& device_;
};

}  // namespace

CounterReadings Device::count(std::span<const Step> steps, const CounterChoice& choice,
                              double timeout_ns, CommandList* before_each) {
  impl_->check_usable();
  if (!impl_->counters)
    fail(ErrorCode::kUnsupported, "{} was not opened to read counters, or has none",
         profile().name);
  if (!(timeout_ns > 0))
    fail(ErrorCode::kInvalidArgument, "a timeout of {} ns is not positive", timeout_ns);
  const CounterSource& source = *impl_->counters;
  const std::vector<std::size_t> chosen =
      choose_counters(source.offered, choice, [&](auto indices) { return source.passes(indices); });
  if (chosen.empty())
    fail(ErrorCode::kUnsupported, "none of the {} counters of {} can be read in {} passes",
         source.offered.size(), profile().name, choice.most_passes);
  std::vector<std::uint32_t> indices;
  for (const std::size_t place : chosen) indices.push_back(source.offered[place].index);
  CounterReadings readings{.passes = source.passes(indices)};

  const std::lock_guard counting(impl_->counting);
  // Released when everything that was recorded under the lock is destroyed.
  const ProfilingLock lock(*impl_);
  CommandList list = record_counted(steps, indices);
  for (std::uint32_t pass = 0; pass < readings.passes; ++pass) {
    if (before_each != nullptr) run(*before_each, timeout_ns);
    run_pass(list, pass, timeout_ns);
  }
  const auto [result, values] = impl_->driver("reading counters", [&] {
    const std::size_t bytes = indices.size() * sizeof(VkPerformanceCounterResultKHR);
    return list.impl_->counters.getResults<VkPerformanceCounterResultKHR>(0, 1, bytes, bytes, {});
  });
  if (result != vk::Result::eSuccess)
    fail(ErrorCode::kUnsupported, "the driver of {} has no result of a finished count ({})",
         profile().name, vk::to_string(result));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const OfferedCounter& counter = source.offered[chosen[i]];
    const double value = value_of(counter.storage, values[i]);
    if (!std::isfinite(value)) continue;  // Ratios with a zero denominator are left out.
    readings.counters.push_back(counter.description);
    readings.counters.back().value = value;
  }
  return readings;
}

}  // namespace rooftile
