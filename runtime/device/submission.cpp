#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "core/clock.h"
#include "runtime/device/device_impl.h"

namespace rooftile {
namespace {

// Interval at which a waiting thread checks whether another thread has given the device up.
constexpr double kLookNs = 100e6;
// An H100's smallest submission ends after 12 us, which a waiting thread notices after 30.
constexpr double kPollNs = 40e3;
// Pause before a failed wait, for example for lack of memory, is tried again.
constexpr std::chrono::milliseconds kBreath(10);

/// A timeout as Vulkan takes it: no limit for what does not fit.
std::uint64_t wait_ns(double timeout_ns) {
  constexpr auto kForever = std::numeric_limits<std::uint64_t>::max();
  return timeout_ns < static_cast<double>(kForever) ? static_cast<std::uint64_t>(timeout_ns)
                                                    : kForever;
}

}  // namespace

bool Device::Impl::wait(vk::Fence fence, double timeout_ns) const {
  // Waking a waiting thread takes as long as many calls do. A software device needs the processor.
  if (profile().kind != DeviceKind::kSoftware)
    for (const double end_ns = now_ns() + std::min(kPollNs, timeout_ns); now_ns() < end_ns;)
      if ((*handle).getFenceStatus(fence, dispatcher()) == vk::Result::eSuccess) return true;
  for (double left_ns = timeout_ns;; left_ns -= kLookNs) {
    if ((*handle).waitForFences(fence, VK_TRUE, wait_ns(std::min(left_ns, kLookNs)),
                                dispatcher()) != vk::Result::eTimeout)
      return true;
    if (left_ns <= kLookNs) return false;
    check_usable();
  }
}

Submission::Submission() = default;
Submission::Submission(Submission&&) noexcept = default;
Submission& Submission::operator=(Submission&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Submission::~Submission() {
  // A fence must not be destroyed before the work that signals it, except on a lost device.
  if (impl_ != nullptr && !impl_->done && impl_->device->state != DeviceState::kLost)
    static_cast<void>(impl_.release());
  else
    destroy_or_leak(impl_);
}

bool Submission::wait(double timeout_ns) const {
  if (impl_ == nullptr || impl_->done) return true;
  Device::Impl& device = *impl_->device;
  device.check_usable();
  return device.driver("waiting for commands", [&] {
    if (!device.wait(*impl_->finished, timeout_ns)) return false;
    if (!impl_->incoherent.empty())
      (*device.handle).invalidateMappedMemoryRanges(impl_->incoherent, device.dispatcher());
    impl_->done = true;
    return true;
  });
}

bool Submission::under_way() const noexcept {
  // Work of a parent process is not this process's.
  return impl_ != nullptr && !impl_->done && impl_->device->state != DeviceState::kLost &&
         !impl_->device->forked();
}

void Submission::outlast() const noexcept {
  constexpr auto kForever = std::numeric_limits<std::uint64_t>::max();
  while (under_way()) {
    Device::Impl& device = *impl_->device;
    const vk::Fence finished = *impl_->finished;
    const vk::Result result =
        (*device.handle).waitForFences(1, &finished, VK_TRUE, kForever, device.dispatcher());
    if (result == vk::Result::eSuccess)
      impl_->done = true;
    else if (result == vk::Result::eErrorDeviceLost)
      device.state = DeviceState::kLost;
    else  // The error says nothing about the work.
      std::this_thread::sleep_for(kBreath);
  }
}

void Device::give_up() { impl_->state = DeviceState::kAbandoned; }

}  // namespace rooftile
