#include <array>
#include <chrono>

#include "runtime/device/device_impl.h"
#include "runtime/device/timestamps.h"

namespace rooftile {
namespace {

std::vector<double> step_times(const CommandList::Impl& list, const DeviceLimits& limits) {
  std::vector<double> times(list.first_query.size(), 0.0);
  if (list.queries == 0) return times;
  const std::uint32_t queries = list.queries;
  const auto [result, ticks] = list.timestamps.getResults<std::uint64_t>(
      0, queries, queries * sizeof(std::uint64_t), sizeof(std::uint64_t),
      vk::QueryResultFlagBits::e64);
  if (result != vk::Result::eSuccess)
    fail(ErrorCode::kDevice, "the driver lost the timestamps of a finished run");
  for (std::size_t i = 0; i < times.size(); ++i) {
    const int first = list.first_query[i];
    if (first == CommandList::Impl::kNoQuery) continue;
    const auto begin = static_cast<std::size_t>(first);
    times[i] = elapsed_ns(ticks[begin], ticks[begin + 1], limits.timestamp_valid_bits,
                          limits.timestamp_period_ns);
  }
  return times;
}

}  // namespace

double Device::Impl::run_and_wait(CommandList::Impl& list, const vk::SubmitInfo& work,
                                  double timeout_ns) {
  const vk::Device device = *handle;
  if (!list.incoherent.empty()) device.flushMappedMemoryRanges(list.incoherent, dispatcher());

  if (*list.finished == vk::Fence()) list.finished = take_fence();
  const vk::Fence fence = *list.finished;

  const auto start = std::chrono::steady_clock::now();
  device.resetFences(fence, dispatcher());
  list.pending = true;
  submit(work, fence);
  if (!wait(fence, timeout_ns)) {
    state = DeviceState::kAbandoned;
    fail(ErrorCode::kTimeout,
         "a run on {} took more than {:.3g} ms; the device is not used any more", profile().name,
         timeout_ns * 1e-6);
  }
  list.pending = false;
  const auto wall = std::chrono::steady_clock::now() - start;

  if (!list.incoherent.empty()) device.invalidateMappedMemoryRanges(list.incoherent, dispatcher());
  return std::chrono::duration<double, std::nano>(wall).count();
}

void Device::run_pass(CommandList& list, std::uint32_t pass, double timeout_ns) {
  CommandList::Impl& commands = *list.impl_;
  impl_->driver("counting", [&] {
    const std::array buffers = {commands.counter_reset, commands.commands};
    vk::PerformanceQuerySubmitInfoKHR counted;
    counted.counterPassIndex = pass;
    vk::SubmitInfo work;
    // All passes of a query are reset at once.
    if (pass == 0)
      work.setCommandBuffers(buffers);
    else
      work.setCommandBuffers(commands.commands);
    work.pNext = &counted;
    impl_->run_and_wait(commands, work, timeout_ns);
  });
}

RunResult Device::run(CommandList& list, double timeout_ns) {
  impl_->check_usable();
  if (list.impl_ == nullptr || list.impl_->device != impl_) {
    fail(ErrorCode::kInvalidArgument, "run() needs a list recorded by the same device");
  }
  if (!(timeout_ns > 0))
    fail(ErrorCode::kInvalidArgument, "a timeout of {} ns is not positive", timeout_ns);
  CommandList::Impl& commands = *list.impl_;
  if (commands.foreign())
    fail(ErrorCode::kInvalidArgument, "commands of the program's own are run by the program");
  std::lock_guard running(commands.running);
  impl_->check_usable();  // The device may have been lost while this thread waited for the queue.

  return impl_->driver("running commands", [&] {
    RunResult result;
    result.wall_ns =
        impl_->run_and_wait(commands, vk::SubmitInfo({}, {}, commands.commands), timeout_ns);
    result.step_ns = step_times(commands, impl_->limits());
    return result;
  });
}

}  // namespace rooftile
