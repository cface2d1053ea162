#include "runtime/execute/device_kernels.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/kernel/cache_fault.h"
#include "runtime/kernel/step_time.h"
#include "runtime/support/background.h"
#include "runtime/support/log.h"
#include "runtime/tuned/quick_kernel.h"
#include "runtime/tuned/wanted_device.h"

namespace rooftile {
namespace {

/// kCompiling includes the warm-up. Which kernels have failed is known to the KernelCache.
enum class State : std::uint8_t { kNew, kQueued, kCompiling, kReady, kFailed };

struct Slot {
  State state = State::kNew;                       // Never kFailed.
  std::shared_ptr<const Kernel> kernel = nullptr;  // Set in the state kReady.
};

}  // namespace

struct DeviceKernels::Impl {
  Impl(DeviceProfile profile_of_device, std::shared_ptr<KernelCache> compiled)
      : profile(std::move(profile_of_device)), cache(std::move(compiled)) {}

  const DeviceProfile profile;
  const std::shared_ptr<KernelCache> cache;
  std::atomic<pid_t> user = 0;  // Process that opens or has opened the device.

  mutable std::mutex mutex;         // Guards all members below.
  std::condition_variable changed;  // Signals that `opening` or a slot's state changed.
  bool opening = false;
  std::shared_ptr<Device> device;
  std::unordered_map<std::string, Slot> slots;  // Keyed by shader hash.
  bool gone = false;                            // The device is never tried again.
  std::string last_failure;
  bool said_gone = false, said_memory = false;
  // lavapipe compiles at the first dispatch, and calls wait behind it in the queue: for seconds if
  // no cache has the kernel. Kernels are therefore warmed up one at a time, and only while no call
  // holds a lease on a quick kernel.
  bool warming = false;
  int warm_ups_due = 0;  // Pending warm-ups have precedence over new leases.
  int leaves = 0;

  Background background;  // The last member, because its jobs use the others.

  std::shared_ptr<Device> opened_device();
  std::shared_ptr<const Kernel> kernel(const CandidateRecord& candidate, const Signature& signature,
                                       const Bound& bound);
  // The caller holds the mutex.
  bool is_gone_after(const Error& error);
  bool reject_after(const CandidateRecord& candidate, const Error& error);
  void warn(const Error* error) noexcept;
  void compile_first(std::span<const RankedChoice> choices, const Signature& signature,
                     const Bound& bound) noexcept;

  // The caller holds the mutex.
  State state_of(const RankedChoice& choice) const {
    if (cache->has_failed(choice.candidate->hash)) return State::kFailed;
    const auto slot = slots.find(choice.candidate->hash);
    return slot != slots.end() ? slot->second.state : State::kNew;
  }
  bool under_way(const RankedChoice& choice) const {
    const State state = state_of(choice);
    return state == State::kQueued || state == State::kCompiling;
  }
  /// Skips kernels at the front that have failed.
  std::span<const RankedChoice> from_best(std::span<const RankedChoice> choices) const;
  bool can_run(std::span<const RankedChoice> choices) const;
  /// Whether there is nothing to wait for: the best kernel is ready, or none can ever be.
  bool is_settled(std::span<const RankedChoice> choices) const;
  const RankedChoice* quick(std::span<const RankedChoice> choices, const Signature& signature,
                            double margin_ns) const;
  void begin(std::span<const RankedChoice> choices, const Signature& signature, const Bound& bound);
  const RankedChoice* begin_with_quick(std::span<const RankedChoice> choices,
                                       const Signature& signature, const Bound& bound,
                                       double margin_ns);
  Next run_quick(const RankedChoice* quick);  // `quick` may be null.

  // Checked before any lock is taken: another thread of the parent may have held the lock at the
  // fork, and it is then never released.
  bool forked() const {
    const pid_t first = user;
    return first != 0 && first != ::getpid();
  }
  std::string forked_reason() const {
    return fmt::format("{} is used by the process that this one was forked from", profile.name);
  }
  void use() {
    if (forked()) fail(ErrorCode::kDevice, "{}", forked_reason());
    user = ::getpid();
  }
};

std::shared_ptr<Device> DeviceKernels::Impl::opened_device() {
  use();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !opening; });
  if (gone) fail(ErrorCode::kDevice, "{}", last_failure);
  if (device != nullptr) return device;
  opening = true;
  lock.unlock();
  std::shared_ptr<Device> opened;
  try {
    opened = open_tuned_device(profile, cache->shaders.folder());
  } catch (const std::exception& error) {
    const auto* const ours = dynamic_cast<const Error*>(&error);
    const bool lacks_memory = ours == nullptr
                                  ? dynamic_cast<const std::bad_alloc*>(&error) != nullptr
                                  : ours->code() == ErrorCode::kOutOfMemory;
    lock.lock();
    opening = false;
    gone = !lacks_memory;
    changed.notify_all();
    last_failure = error.what();  // Takes memory, so that it comes last.
    throw;
  }
  lock.lock();
  opening = false;
  device = opened;
  changed.notify_all();
  return opened;
}

std::shared_ptr<const Kernel> DeviceKernels::Impl::kernel(const CandidateRecord& candidate,
                                                          const Signature& signature,
                                                          const Bound& bound) {
  const std::shared_ptr<Device> on = opened_device();
  std::unique_lock lock(mutex);
  Slot& slot = slots[candidate.hash];
  changed.wait(lock, [&] { return gone || slot.state != State::kCompiling; });
  if (gone) fail(ErrorCode::kDevice, "{}", last_failure);
  if (slot.state == State::kReady) return slot.kernel;
  if (cache->has_failed(candidate.hash)) return nullptr;
  slot.state = State::kCompiling;
  lock.unlock();
  bool warms_up = false;
  const auto over = [&](State state) {
    lock.lock();
    slot.state = state;
    if (warms_up) warming = false;
    changed.notify_all();
  };
  try {
    std::shared_ptr<const Kernel> compiled = cache->kernel(on, candidate, signature);
    lock.lock();
    ++warm_ups_due;
    changed.wait(lock, [&] { return gone || (!warming && leaves == 0); });
    --warm_ups_due;
    if (gone) {
      const std::string why = last_failure;
      lock.unlock();
      fail(ErrorCode::kDevice, "{}", why);
    }
    warming = warms_up = true;
    lock.unlock();
    compiled->warm_up(kCompileTimeoutNs, bound(on->profile()));
    on->save_pipeline_cache();
    say_cache_fault(*on);
    over(State::kReady);
    slot.kernel = compiled;
    return compiled;
  } catch (const Error& error) {
    over(State::kNew);
    reject_after(candidate, error);
    throw;
  } catch (...) {
    over(State::kNew);
    throw;
  }
}

std::span<const RankedChoice> DeviceKernels::Impl::from_best(
    std::span<const RankedChoice> choices) const {
  const auto best = std::ranges::find_if(
      choices, [&](const RankedChoice& choice) { return state_of(choice) != State::kFailed; });
  return {best, choices.end()};
}

bool DeviceKernels::Impl::can_run(std::span<const RankedChoice> choices) const {
  const std::span<const RankedChoice> best = from_best(choices);
  return !best.empty() && state_of(best.front()) == State::kReady;
}

bool DeviceKernels::Impl::is_settled(std::span<const RankedChoice> choices) const {
  return gone || from_best(choices).empty() || can_run(choices);
}

const RankedChoice* DeviceKernels::Impl::quick(std::span<const RankedChoice> choices,
                                               const Signature& signature, double margin_ns) const {
  std::vector<Progress> progress;
  for (const RankedChoice& choice : choices) {
    const State state = state_of(choice);
    progress.push_back(state == State::kReady    ? Progress::kReady
                       : state == State::kFailed ? Progress::kFailed
                                                 : Progress::kNone);
  }
  const auto index = quick_kernel(choices, progress, signature, margin_ns);
  return index ? &choices[*index] : nullptr;
}

void DeviceKernels::Impl::begin(std::span<const RankedChoice> choices, const Signature& signature,
                                const Bound& bound) {
  const std::span<const RankedChoice> best = from_best(choices);
  if (best.empty()) return;
  Slot& slot = slots[best.front().candidate->hash];
  if (slot.state != State::kNew) return;
  use();
  const std::vector<RankedChoice> kernels(best.begin(), best.end());
  slot.state = State::kQueued;
  if (!background.post(
          [this, kernels, signature, bound] { compile_first(kernels, signature, bound); }))
    slot.state = State::kNew;
}

/// Compiles the kernels one after the other on one thread. Parallel compilation would share the
/// processors and delay the quick kernel.
const RankedChoice* DeviceKernels::Impl::begin_with_quick(std::span<const RankedChoice> choices,
                                                          const Signature& signature,
                                                          const Bound& bound, double margin_ns) {
  const RankedChoice* const quick = this->quick(choices, signature, margin_ns);
  const std::span<const RankedChoice> best = from_best(choices);
  if (best.empty() || state_of(best.front()) != State::kNew) return quick;
  if (quick != nullptr) begin({quick, 1}, signature, bound);
  begin(best, signature, bound);
  return quick;
}

DeviceKernels::Next DeviceKernels::Impl::run_quick(const RankedChoice* quick) {
  if (quick == nullptr || state_of(*quick) != State::kReady || warming || warm_ups_due > 0)
    return {};
  ++leaves;
  return {.quick = quick, .lease = Lease(*this)};
}

DeviceKernels::Lease::~Lease() {
  if (of_ == nullptr) return;
  const std::lock_guard lock(of_->mutex);
  --of_->leaves;
  of_->changed.notify_all();
}

bool DeviceKernels::Impl::is_gone_after(const Error& error) {
  // Running out of memory does not explain why the device is lost.
  const bool may_be_lost = error.code() != ErrorCode::kOutOfMemory;
  if (!gone && may_be_lost && device != nullptr && device->lost()) {
    gone = true;
    last_failure = fmt::format("the device {} was lost: {}", profile.name, error.what());
    changed.notify_all();
  }
  return gone;
}

bool DeviceKernels::Impl::reject_after(const CandidateRecord& candidate, const Error& error) {
  changed.notify_all();
  if (is_gone_after(error)) return false;
  last_failure = error.what();
  // The next kernel would need as much memory, or meet the same lost device.
  if (!cache->reject_after(*device, candidate, error)) return false;
  slots[candidate.hash] = {};
  return true;
}

void DeviceKernels::Impl::warn(const Error* error) noexcept try {
  if (forked() || forked_after_use()) return;
  if (!Background::wait_at_exit()) return;  // The process is ending and opens nothing any more.
  const std::lock_guard lock(mutex);
  if (gone) {
    if (!std::exchange(said_gone, true))
      log_warning(fmt::format("{}; the host computes instead", last_failure));
  } else if (error != nullptr && error->code() == ErrorCode::kOutOfMemory) {
    if (!std::exchange(said_memory, true))
      log_warning(fmt::format("no memory on {}: {}; the host computes such calls", profile.name,
                              error->what()));
  }
} catch (const std::exception&) {  // There is no memory for a message.
}

void DeviceKernels::Impl::compile_first(std::span<const RankedChoice> choices,
                                        const Signature& signature, const Bound& bound) noexcept {
  const auto compiled = [&](const RankedChoice& choice) {
    try {
      return kernel(*choice.candidate, signature, bound) != nullptr;
    } catch (const Error& error) {  // The failure is recorded; the next kernel may work.
      warn(&error);
    } catch (const std::exception&) {
    }
    return false;
  };
  std::ignore = std::ranges::any_of(choices, compiled);
  const std::lock_guard lock(mutex);
  // The slot is still queued if the device could not be opened for it; the device may have been
  // opened for a later kernel.
  if (Slot& first = slots[choices.front().candidate->hash]; first.state == State::kQueued)
    first.state = State::kNew;
  changed.notify_all();
}

DeviceKernels::DeviceKernels(DeviceProfile profile, std::shared_ptr<KernelCache> compiled)
    : impl_(std::make_unique<Impl>(std::move(profile), std::move(compiled))) {}

DeviceKernels::~DeviceKernels() {
  // Destroying a condition variable on which the parent's threads wait would block the child
  // forever.
  if (impl_->forked()) std::ignore = impl_.release();
}

const std::shared_ptr<KernelCache>& DeviceKernels::cache() const { return impl_->cache; }

std::shared_ptr<Device> DeviceKernels::device() { return impl_->opened_device(); }

std::shared_ptr<const Kernel> DeviceKernels::kernel(const CandidateRecord& candidate,
                                                    const Signature& signature,
                                                    const Bound& bound) {
  return impl_->kernel(candidate, signature, bound);
}

bool DeviceKernels::ready(std::span<const RankedChoice> choices, const Signature& signature,
                          const Bound& bound) {
  if (impl_->forked()) return true;
  Impl& impl = *impl_;
  const std::lock_guard lock(impl.mutex);
  if (impl.is_settled(choices)) return true;
  impl.begin(choices, signature, bound);
  return false;
}

DeviceKernels::Next DeviceKernels::next(std::span<const RankedChoice> choices,
                                        const Signature& signature, const Bound& bound,
                                        double margin_ns, Awaits awaits) {
  if (impl_->forked()) return {.best = true};
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  if (impl.is_settled(choices)) return {.best = true};
  if (awaits == Awaits::kFirst && impl.quick(choices, signature, margin_ns) == nullptr)
    return {.best = true};
  const RankedChoice* const quick = impl.begin_with_quick(choices, signature, bound, margin_ns);
  if (awaits == Awaits::kNothing) return impl.run_quick(quick);
  impl.changed.wait(lock, [&] {
    return impl.gone || impl.can_run(choices) || impl.state_of(*quick) == State::kReady ||
           std::ranges::none_of(choices, [&](const RankedChoice& c) { return impl.under_way(c); });
  });
  if (impl.can_run(choices)) return {.best = true};
  Next next = impl.run_quick(quick);
  next.best = next.quick == nullptr;
  return next;
}

bool DeviceKernels::is_gone_after(const Error& error) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->is_gone_after(error);
}

bool DeviceKernels::reject_after(const CandidateRecord& candidate, const Error& error) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->reject_after(candidate, error);
}

void DeviceKernels::warn_gone() noexcept { impl_->warn(nullptr); }

void DeviceKernels::warn(const Error& error) noexcept { impl_->warn(&error); }

bool DeviceKernels::opened() const {
  if (impl_->forked()) return false;
  const std::lock_guard lock(impl_->mutex);
  return impl_->device != nullptr;
}

std::string DeviceKernels::gone() const {
  if (impl_->user == 0) return {};  // No lock is taken, because each new decision calls this.
  if (impl_->forked()) return impl_->forked_reason();
  const std::lock_guard lock(impl_->mutex);
  return impl_->gone ? impl_->last_failure : "";
}

std::string DeviceKernels::last_failure() const {
  if (impl_->forked()) return impl_->forked_reason();
  const std::lock_guard lock(impl_->mutex);
  return impl_->last_failure;
}

}  // namespace rooftile
