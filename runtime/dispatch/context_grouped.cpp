// One grouped call on host memory, from its checks to the tier that answers it.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/groups.h"
#include "runtime/call/call_checks.h"
#include "runtime/dispatch/context_impl.h"
#include "runtime/host/grouped_host.h"
#include "runtime/kernel/staging.h"
#include "runtime/resident/grouped_on_device.h"

namespace rooftile {
namespace {

/// The problem with groups of typical sizes: each call has others.
Problem typical(Problem p) {
  p.grouping = typical_grouping(p);
  return p;
}

}  // namespace

Call Context::Impl::question_grouped(const Problem& p, const Residencies& where,
                                     const Guard& guard) const {
  Call call = question(equal_batch(p, filled_groups(p)), where, guard);
  ask_device(call);
  if (device == nullptr) return call;
  std::vector<RankedChoice> kernels;
  if (device->chooser()->ranking().has_class(p))
    kernels = device->chooser()->choose_on_device(staged_problem(p)).kernels;
  if (!kernels.empty()) {
    call.kernel_ns = kernels.front().expected_ns;
    // No single product of the class need be tuned, and no pass over C is needed.
    if (call.device_veto_name == Veto::kNoKernel) {
      call.device_veto.clear();
      call.device_veto_name = Veto::kNone;
    }
    call.pass_ns = 0;
    call.before_pass = std::nullopt;
    call.pass_over = {};
  }
  if (!call.device_veto.empty()) return call;
  // Experts may take more than the matrices of the batch, which shares a quantised one.
  DeviceTier::Refusal refusal = device->veto(p);
  call.device_veto = std::move(refusal.reason);
  call.device_veto_name = refusal.name;
  return call;
}

void Context::Impl::count_grouped(const Problem& p, double most_gain_ns) const {
  if (auto* const calls = untuned_counter(typical(p), most_gain_ns))
    calls->fetch_add(1, std::memory_order_relaxed);
}

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
  Problem of_rows = call.problem;
  of_rows.m = rows_of(grouped.groups);
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
    count_grouped(of_rows, std::numeric_limits<double>::infinity());
    return run_grouped_device(grouped, Reason::kForced);
  }
  if (choice != TierChoice::kAuto) return on_host(tier_of(choice), Reason::kForced);
  const Call question = question_grouped(of_rows, {}, guard);
  const Decision decision = rooftile::decide(question, data.model);
  if (log != nullptr) say_decision(typical(of_rows), decision, is_guarded(guard) ? "guarded" : "");
  if (untuned != nullptr) {
    const Choice predicted = choose(question, data.model);
    count_grouped(of_rows, predicted.best_host_ns - predicted.least_device_ns);
  }
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
  if (impl_->log != nullptr) {
    Problem of_rows = asked.call.problem;
    of_rows.m = rows_of(asked.groups);
    impl_->log->say_answer(typical(of_rows), outcome);
  }
  cache.last.set(impl_->id, equal_batch(asked), outcome);
}

const std::function<void(const Problem&)>& Context::grouped_counter() const {
  return impl_->grouped_counter;
}

std::function<void(const Problem&)> Context::Impl::make_grouped_counter() const {
  if (untuned == nullptr) return [](const Problem&) {};
  std::vector<Bucket> tuned;
  std::ranges::copy_if(data.buckets, std::back_inserter(tuned),
                       [](const Bucket& b) { return b.groups_band >= 0; });
  return [log = std::weak_ptr(untuned), tuned = std::move(tuned)](const Problem& p) {
    if (flops(p) == 0 || std::ranges::find(tuned, bucket_of(p)) != tuned.end()) return;
    if (const auto counting = log.lock())
      if (auto* const calls = counting->counter(typical(p)))
        calls->fetch_add(1, std::memory_order_relaxed);
  };
}

}  // namespace rooftile
