#include "runtime/dispatch/executor.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "runtime/call/packed_operand.h"
#include "runtime/call/plain_call.h"
#include "runtime/host/grouped_host.h"
#include "runtime/host/host_tier.h"
#include "runtime/resident/grouped_on_device.h"

namespace rooftile {
namespace {

/// Whether slices are summed along k. Each slice then rounds C, which no guard accounts for.
bool rounds_between(const std::vector<GemmCall>& slices, const GemmCall& call) {
  return std::ranges::any_of(
      slices, [&](const GemmCall& slice) { return slice.problem.k != call.problem.k; });
}

}  // namespace

bool is_host(Tier tier) {
  return tier == Tier::kHost || tier == Tier::kHost1 || tier == Tier::kHost64;
}

Outcome Executor::run(const Request& r, Plan& plan, RepeatedCalls* repeated) {
  if (plan.reason == Reason::kNothingToDo) return {.reason = plan.reason};
  if (plan.untuned_calls != nullptr) plan.untuned_calls->fetch_add(1, std::memory_order_relaxed);
  if (plan.missed_ns > 0) state_.missed(plan.missed_ns);
  const Tier next = plan.times.open() ? plan.times.next() : plan.tier;
  if (next == Tier::kDevice) return on_device(r, plan);
  if (next != Tier::kSplit) {
    const double start = plan.times.open() ? now_ns() : 0;
    const Outcome outcome =
        on_host(r, plan, next, next == plan.tier ? plan.reason : Reason::kMeasured);
    if (plan.times.open()) measured(plan, now_ns() - start, r.problem());
    if (repeated != nullptr && is_host(plan.tier) && !plan.times.device_races())
      remember(r, plan, *repeated);
    return outcome;
  }
  // Devices must not get operands that the guard refuses.
  const std::optional<RangeRefusal> refused =
      scans(r.guard) ? range_refusal(*r.call) : std::nullopt;
  if (refused && refused->needs_float64) return in_float64(r, *refused);
  if (!refused)
    if (std::optional<Outcome> outcome = run_split(r, plan)) return *std::move(outcome);
  Reason reason = plan.unsplit_reason;
  if (!refused && reason == Reason::kPredicted) reason = Reason::kCompiling;
  if (plan.unsplit != Tier::kDevice) return on_host(r, plan, plan.unsplit, reason);
  Outcome outcome = on_device(r, plan);
  if (outcome.reason == Reason::kPredicted) outcome.reason = reason;
  return outcome;
}

Outcome Executor::run_planned(const Request& r) {
  Plan plan = planner_.plan(r);
  return run(r, plan);
}

Outcome Executor::on_host(const Request& r, const Plan& plan, Tier tier, Reason reason) const {
  const HostThreads threads = state_.is_deterministic() ? HostThreads::kOne : plan.threads;
  if (r.grouped != nullptr)
    run_grouped_on_host(*state_.blas, *r.grouped, tier, threads);
  else
    run_on_host(*state_.blas, *r.call, tier, threads);
  return {.tier = tier, .reason = reason, .where = residencies_of(*r.call)};
}

Outcome Executor::in_float64(const Request& r, const RangeRefusal& refusal) {
  GemmCall wide = without_packed(*r.call);
  wide.problem.types = unrounded(wide.problem.types);
  wide.problem.types.sums = Sums::kF64;
  try {
    Outcome outcome = run_planned(planner_.request(wide));
    outcome.float64_sums = true;
    return outcome;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    fail(ErrorCode::kUnsupported, "{}, and float64 sums cannot be computed: {}", refusal.reason,
         error.what());
  }
}

Outcome Executor::on_device(const Request& r, Plan& plan) {
  const GemmCall& call = *r.call;
  const bool is_whole = call.packed == nullptr && r.grouped == nullptr;
  if (const auto slices = is_whole ? planner_.slices_of(call) : std::vector<GemmCall>();
      !slices.empty()) {
    if (!is_guarded(r.guard) || !rounds_between(slices, call)) return run_slices(r, plan, slices);
    if (plan.only_device)
      fail(ErrorCode::kUnsupported,
           "{} exceeds the device's buffers and would be divided along k, where each slice rounds "
           "C: calls with a guard are not divided along k",
           to_string(call.problem));
    return on_host(r, plan, Tier::kHost64, Reason::kPrecision);
  }
  if (scans(r.guard))
    if (const auto refusal = range_refusal(call)) {
      if (refusal->needs_float64) return in_float64(r, *refusal);
      if (plan.only_device)
        fail(ErrorCode::kUnsupported,
             "{}, and the range scan of its guard or precision keeps such calls from the forced "
             "device; leave the tier to the runtime, or force a host tier",
             refusal->reason);
      return on_host(r, plan, plan.host, Reason::kPrecision);
    }
  const bool is_measured = plan.times.open() && plan.times.next() == Tier::kDevice;
  const bool is_probe = is_measured && plan.tier != Tier::kDevice;
  const double start = is_measured ? now_ns() : 0;
  Reason reason = Reason::kCompiling;
  try {
    if (r.grouped != nullptr) return run_groups(r, plan);
    const DeviceTier::Wait wait = is_probe ? DeviceTier::Wait::kNo : plan.wait;
    if (const DeviceTier::Ran ran =
            run_kernel(*state_.device.get(), r, wait, plan.device_margin_ns)) {
      if (is_measured && ran.best) measured(plan, now_ns() - start, r.problem());
      return {.tier = Tier::kDevice,
              .reason = is_probe ? Reason::kMeasured : plan.reason,
              .kernel = ran.kernel,
              .where = residencies_of(call)};
    }
  } catch (const DeviceTier::SpotCheckFailed&) {
    if (plan.only_device) throw;
    reason = Reason::kPrecision;
  } catch (const Error& error) {
    if (call.packed != nullptr && !planner_.cannot_use_packed(call).empty()) {
      state_.make_plans_void();
      const bool is_gone = state_.device->veto(call.problem).name != Veto::kNone;
      if (!is_gone && !gives_only_packed(call)) {
        const GemmCall plain = without_packed(call);
        return run_planned(planner_.request(plain));
      }
    }
    if (plan.only_device) throw;
    // The call's inputs are untouched: the host can answer.
    state_.device_failed(*state_.device.get(), call.problem, error);
    if (is_probe) plan.times.leave_out(Tier::kDevice);
    reason = Reason::kFailed;
  }
  return on_host(r, plan, plan.host, reason);
}

Outcome Executor::run_groups(const Request& r, const Plan& plan) {
  if (state_.resident.adopted() != nullptr)
    fail(ErrorCode::kUnsupported,
         "grouped calls on host memory do not run on the program's own device: use device buffers");
  run_grouped_on_device(*state_.resident.get(state_.device.get()), *r.grouped);
  return {.tier = Tier::kDevice, .reason = plan.reason};
}

DeviceTier::Ran Executor::run_kernel(DeviceTier& on, const Request& r, DeviceTier::Wait wait,
                                     double margin_ns, const Problem* part_of) {
  if (!checks_spots(r.guard)) return on.gemm(*r.call, wait, margin_ns, nullptr, part_of);
  // Each call checks different elements; otherwise a kernel that is wrong at some elements might
  // never be detected.
  const SpotCheck check(precision_of(r.guard), state_.checks.load(std::memory_order_relaxed));
  try {
    const DeviceTier::Ran ran = on.gemm(*r.call, wait, margin_ns, &check, part_of);
    if (ran) state_.checks.fetch_add(1, std::memory_order_relaxed);
    return ran;
  } catch (const DeviceTier::SpotCheckFailed& failure) {
    state_.checks.fetch_add(1, std::memory_order_relaxed);
    // A wrong kernel is not used again, so its failure says nothing about the errors of later
    // calls.
    if (failure.wrong())
      state_.revoke(on, failure);
    else
      state_.reruns.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
}

Outcome Executor::run_slices(const Request& r, const Plan& plan,
                             const std::vector<GemmCall>& slices) {
  DeviceTier& device = *state_.device.get();
  if (state_.log != nullptr)
    state_.log->say_note(r.problem(), fmt::format("computed in {} slices", slices.size()));
  Request part = r;
  part.devices = Devices::kOne;
  DeviceTier::InTurn in_turn;
  if (!is_guarded(r.guard)) {  // The guard checks each slice separately.
    in_turn = device.gemm_in_turn(
        slices, r.is_forced() ? WhileCompiling::kWait : state_.settings.while_compiling);
    for (const GemmCall& slice : std::span(slices).first(in_turn.done)) {
      part.call = &slice;
      // Each slice counts as if it were a call of its own.
      if (auto* const calls = planner_.counter_of(part))
        calls->fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (in_turn.gone && plan.only_device) throw *in_turn.gone;
  if (in_turn.gone) state_.device_failed(device, r.problem(), *in_turn.gone);
  Outcome outcome = {.tier = Tier::kDevice, .reason = plan.reason};
  for (const GemmCall& slice : std::span(slices).subspan(in_turn.done)) {
    part.call = &slice;
    const Outcome one = run_planned(part);
    if (in_turn.gone)
      outcome = {.tier = one.tier, .reason = Reason::kFailed};
    else if (one.reason != Reason::kPredicted && one.reason != Reason::kForced)
      outcome = {.tier = one.tier, .reason = one.reason};
  }
  return outcome;
}

void Executor::remember(const Request& r, const Plan& plan, RepeatedCalls& repeated) const {
  const GemmCall& call = *r.call;
  // The record of repeated calls holds no tier, guard or devices: a call that sets one is not kept.
  const bool asks_for_more =
      call.tier != TierChoice::kAuto || call.guard != Guard{} || call.devices != Devices::kDefault;
  if (asks_for_more || r.grouped != nullptr || plan.missed_ns > 0 || plan.tier == Tier::kHost64 ||
      !reads_operands(call.problem))
    return;
  if (const std::optional<PlainProduct> product = plain_product(call.problem))
    repeated.store(*product, plan.generation,
                   {.tier = plan.tier, .reason = plan.reason, .untuned_calls = plan.untuned_calls},
                   plan.times);
}

void Executor::measured(Plan& plan, double ns, const Problem& p) const {
  if (plan.times.record_time(ns) && state_.log != nullptr) state_.log->say_changed(p, plan.times);
}

}  // namespace rooftile
