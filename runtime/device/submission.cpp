#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "runtime/device/device_impl.h"
#include "runtime/device/wait_ns.h"

namespace rooftile {
namespace {

// Interval at which a waiting thread checks whether another thread has given the device up.
constexpr double kLookNs = 100e6;
// Pause before a failed wait, for example for lack of memory, is tried again.
constexpr std::chrono::milliseconds kBreath(10);

/// Locks the queue by the program's functions; an empty function is not called.
class QueueGuard {
 public:
  explicit QueueGuard(Device::Impl& device) : device_(device), lock_(device.queue_mutex) {
    if (device.lock_queue) device.lock_queue();
  }
  ~QueueGuard() {
    if (device_.unlock_queue) device_.unlock_queue();
  }
  QueueGuard(const QueueGuard&) = delete;
  QueueGuard& operator=(const QueueGuard&) = delete;

 private:
  Device::Impl& device_;
  const std::lock_guard<std::mutex> lock_;
};

}  // namespace

void Device::Impl::submit(const vk::SubmitInfo& work, vk::Fence fence) {
  if (*queue == vk::Queue())
    fail(ErrorCode::kUnsupported, "{} was passed without a queue: calls can only be recorded on it",
         profile().name);
  const QueueGuard guard(*this);
  queue.submit(work, fence);
}

bool Device::Impl::wait(vk::Fence fence, double timeout_ns) const {
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

Submission Device::submit(std::span<CommandList* const> lists) {
  impl_->check_usable();
  for (const CommandList* list : lists)
    if (list->impl_ == nullptr || list->impl_->device != impl_ || list->impl_->foreign())
      fail(ErrorCode::kInvalidArgument, "submit() needs lists recorded by the same device");
  Submission submission;
  submission.impl_ = std::make_unique<Submission::Impl>();
  submission.impl_->device = impl_;
  if (lists.empty()) {
    submission.impl_->done = true;
    return submission;
  }
  impl_->driver("submitting commands", [&] {
    const vk::Device device = *impl_->handle;
    Submission::Impl& made = *submission.impl_;
    for (const CommandList* list : lists)
      made.incoherent.insert(made.incoherent.end(), list->impl_->incoherent.begin(),
                             list->impl_->incoherent.end());
    if (!made.incoherent.empty())
      device.flushMappedMemoryRanges(made.incoherent, impl_->dispatcher());
    made.finished = vk::raii::Fence(impl_->handle, vk::FenceCreateInfo());
    made.done = true;  // Stays true until a list is submitted.
    for (std::size_t i = 0; i < lists.size(); ++i) {
      try {
        impl_->submit(vk::SubmitInfo({}, {}, lists[i]->impl_->commands),
                      i + 1 == lists.size() ? *made.finished : vk::Fence());
      } catch (...) {
        // There is no fence that signals the end of the lists before this one.
        if (i > 0) give_up();
        throw;
      }
    }
    made.done = false;
  });
  return submission;
}

void Device::give_up() { impl_->state = DeviceState::kAbandoned; }

}  // namespace rooftile
