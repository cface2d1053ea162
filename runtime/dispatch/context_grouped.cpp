// One grouped call on host memory, from its checks to the tier that answers it.
#include "core/error.h"
#include "runtime/call/call_checks.h"
#include "runtime/dispatch/context_impl.h"
#include "runtime/host/grouped_host.h"
#include "runtime/resident/grouped_on_device.h"

namespace rooftile {

Outcome Context::Impl::run_grouped_device(const GroupedCall& call, Reason reason) {
  if (resident->adopted() != nullptr)
    fail(ErrorCode::kUnsupported,
         "grouped calls on host memory do not run on the program's own device: use device buffers");
  run_grouped_on_device(*resident->get(device.get()), call);
  return {.tier = Tier::kDevice, .reason = reason};
}

Outcome Context::Impl::run_grouped(const GroupedCall& grouped) {
  const GemmCall& call = grouped.call;
  if (is_empty(call.problem) || rows_of(grouped.groups) == 0)
    return {.tier = Tier::kHost, .reason = Reason::kNothingToDo};
  const TierChoice choice = choice_of(call);
  const Guard guard = guard_of(call);
  const auto on_host = [&](Tier wanted, Reason reason) {
    const Tier precise = precise_host(wanted, guard);
    const HostThreads threads = wanted == Tier::kHost1 ? HostThreads::kOne : most_threads();
    run_grouped_on_host(*blas, grouped, precise, threads);
    return Outcome{.tier = precise, .reason = precise == wanted ? reason : Reason::kPrecision};
  };
  if (choice == TierChoice::kDevice) {
    if (is_guarded(guard))
      fail(ErrorCode::kUnsupported,
           "the device tier was requested, but grouped calls on a device support neither a scan, "
           "nor "
           "a check, nor a precision above standard");
    return run_grouped_device(grouped, Reason::kForced);
  }
  if (choice != TierChoice::kAuto) return on_host(tier_of(choice), Reason::kForced);
  const Decision decision = decide(equal_batch(grouped), {}, guard);
  const Tier host = best_host(decision);
  if (is_guarded(guard)) return on_host(host, Reason::kPrecision);
  if (decision.tier != Tier::kDevice) return on_host(host, Reason::kPredicted);
  try {
    return run_grouped_device(grouped, Reason::kPredicted);
  } catch (const Error& error) {
    device_failed(*device.get(), call.problem, error);  // C is untouched: the host can answer.
    return on_host(host, Reason::kFailed);
  }
}

void Context::grouped(const GroupedCall& call) {
  DecisionCache& cache = DecisionCache::of_this_thread();
  cache.last.context = 0;
  validate_call(call);
  std::optional<GroupedCall> precise;
  if (impl_->forbids_half_sums(call.call))
    precise = GroupedCall{Impl::without_half_sums(call.call), call.groups};
  const GroupedCall& asked = precise ? *precise : call;
  const Outcome outcome = impl_->run_grouped(asked);
  cache.last.set(impl_->id, equal_batch(asked), outcome);
}

}  // namespace rooftile
