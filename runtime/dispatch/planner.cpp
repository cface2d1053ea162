#include "runtime/dispatch/planner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/groups.h"
#include "runtime/call/call_checks.h"
#include "runtime/call/packed_operand.h"
#include "runtime/call/slices.h"
#include "runtime/support/background.h"

namespace rooftile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// While one slice is computed, the operands of another one are transferred.
constexpr int kSlicesAtATime = 2;

// Smaller calls end on the host before any GPU has its operands: for them none is looked for.
constexpr double kLeastExpectedFlops = 1e7;

bool has_rows(const Request& r) {
  return !is_empty(r.problem()) && (r.grouped == nullptr || rows_of(r.grouped->groups) > 0);
}

/// The largest gain over the host that a tuned kernel could bring: any is welcome where the caller
/// has packed an operand for the device.
double gain_ns(const Request& r, const Choice& choice) {
  return r.call->packed != nullptr ? kInfinity : choice.best_host_ns - choice.least_device_ns;
}

/// What is special about the request, for the log.
std::string about(const Request& r) {
  if (r.call->packed != nullptr) return about_packed(*r.call);
  return r.asks_for_checks() ? "guarded" : "";
}

}  // namespace

Problem logged_problem(const Request& r) {
  Problem p = r.problem();
  if (r.grouped != nullptr) p.grouping = typical_grouping(p);
  return p;
}

Problem counted_problem(const Request& r) {
  Problem p = logged_problem(r);
  if (const Rounding permitted = permitted_rounding(r.guard);
      permitted != Rounding::kNone && r.call->packed == nullptr)
    p.types.rounding = rounding_of(p.types, std::max(permitted, p.types.rounding));
  return p;
}

Residencies residencies_of(const GemmCall& call) {
  Residencies where;
  if (call.packed == nullptr) return where;
  (call.packed->shape.operand == Operand::kA ? where.a : where.b) = Residency::kPacked;
  return where;
}

std::optional<Operand> packed_operand(const Residencies& where) {
  if (where.a == Residency::kPacked) return Operand::kA;
  if (where.b == Residency::kPacked) return Operand::kB;
  return std::nullopt;
}

std::string about_packed(const GemmCall& call) {
  return fmt::format("packed {}", call.packed->shape.operand == Operand::kA ? "a" : "b");
}

Tier precise_host(Tier host, const Types& types, const Guard& guard) {
  // No spot check covers the host's float32 sums, so the host computes in float64 where kHigh is
  // requested.
  const bool float64 = widens_sums(types) || precision_of(guard) == Precision::kHigh;
  return float64 ? Tier::kHost64 : host;
}

Request Planner::request(const GemmCall& call, const GroupedCall* grouped) const {
  const Settings& settings = state_.settings;
  Request r = {.call = &call,
               .grouped = grouped,
               .tier = call.tier == TierChoice::kAuto ? settings.tier : call.tier,
               .guard = call.guard,
               .devices = call.devices == Devices::kDefault ? settings.devices : call.devices};
  if (!r.guard.precision) r.guard.precision = settings.precision;
  // Every tier's sums are exact or float64 already.
  if (has_precise_sums(call.problem.types)) {
    r.guard.precision = Precision::kStandard;
    r.guard.kappa = 0;
  }
  // On a device they have the checks of kHigh, which promises less.
  if (widens_sums(call.problem.types)) r.guard.scan_range = r.guard.check_spots = true;
  // On the program's own device nothing runs that the program has not asked for.
  if (r.is_forced() || grouped != nullptr || call.packed != nullptr || settings.adopts_device ||
      state_.is_deterministic() || !state_.data.profile || widens_sums(call.problem.types) ||
      call.problem.types.rounding != Rounding::kNone)
    r.devices = Devices::kOne;
  return r;
}

Plan Planner::plan(const Request& r) const {
  const bool packed = r.call->packed != nullptr;
  if (!has_rows(r)) return {.reason = Reason::kNothingToDo};
  Plan plan;
  if (r.tier == TierChoice::kDevice) {
    plan = on_forced_device(r);
    plan.untuned_calls = state_.untuned_counter(counted_problem(r), kInfinity);
  } else if (r.is_forced()) {
    return on_host(r);
  } else {
    const Choice choice = choose_tier(r);
    plan = predicted(r, choice);
    if (choice.veto_name == Veto::kDeviceGone) state_.device->warn_gone();
    plan.untuned_calls = state_.untuned_counter(counted_problem(r), gain_ns(r, choice));
    if (!packed && r.grouped == nullptr && !r.asks_for_checks()) {
      plan.missed_ns = missed_ns(r);
      request_kernel(r, choice);
    }
  }
  if (state_.log != nullptr && (!r.is_forced() || packed)) log_plan(r, plan);
  return plan;
}

std::atomic<std::int64_t>* Planner::counter_of(const Request& r) const {
  return state_.untuned_counter(counted_problem(r),
                                r.is_forced() ? kInfinity : gain_ns(r, choose_tier(r)));
}

Choice Planner::choose_tier(const Request& r) const {
  const Problem& p = r.problem();
  return choose(question(p, residencies_of(*r.call), r.guard), state_.model(),
                [&](Call& call) { ask_device(call, p, r.call); });
}

Plan Planner::predicted(const Request& r, const Choice& choice) const {
  const bool float64 = widens_sums(r.problem().types);
  const bool guarded = is_guarded(r.guard);
  // Another machine's host says little of this one: all threads are what would run without
  // Rooftile, and the device has to be faster than they are measured to be.
  const bool guesses = state_.guesses_host();
  const Tier host =
      precise_host(guesses ? Tier::kHost : faster_host(choice.host_ns, choice.host1_ns),
                   r.problem().types, r.guard);
  Plan plan = {.tier = choice.tier == Tier::kDevice && !guesses ? choice.tier : host,
               .host = host,
               .wait = wait_of(Reason::kPredicted),
               .device_margin_ns = choice.best_host_ns - choice.device_ns};
  const bool grouped = is_grouped(r.problem());
  if (grouped && guarded) plan.tier = host;  // No guard knows groups.
  const bool for_precision =
      grouped ? guarded : float64 || precision_of(r.guard) == Precision::kHigh;
  if (plan.tier != Tier::kDevice && for_precision) plan.reason = Reason::kPrecision;
  if (r.call->packed != nullptr) return with_packed(r, std::move(plan));
  if (!grouped && !guarded) plan.times = times_of(r.problem(), choice);
  if (r.devices == Devices::kAll) consider_split(plan, r, choice);
  return plan;
}

Plan Planner::on_host(const Request& r) const {
  const Tier wanted = tier_of(r.tier);
  const Tier tier = precise_host(wanted, r.problem().types, r.guard);
  return {.tier = tier,
          .reason = tier == wanted ? Reason::kForced : Reason::kPrecision,
          .threads = wanted == Tier::kHost1 ? HostThreads::kOne : HostThreads::kAll};
}

Plan Planner::on_forced_device(const Request& r) const {
  const Problem& p = r.problem();
  if (r.grouped != nullptr && is_guarded(r.guard))
    fail(ErrorCode::kUnsupported,
         "the device tier was requested, but grouped calls on a device support neither a scan, nor "
         "a check, nor a precision above standard");
  const Plan forced = {.tier = Tier::kDevice,
                       .reason = Reason::kForced,
                       .only_device = true,
                       .wait = wait_of(Reason::kForced)};
  if (r.grouped != nullptr) return forced;
  if (r.call->packed != nullptr) return with_packed(r, forced);
  if (const std::string why_not = state_.use_untuned_device(); !why_not.empty())
    fail(ErrorCode::kUnsupported, "the device tier was requested, but cannot be used: {}", why_not);
  if (slices_of(*r.call).empty())
    if (const DeviceTier::Refusal refusal = state_.device->veto(p); !refusal.reason.empty())
      fail(ErrorCode::kUnsupported, "{}", refusal.reason);
  return forced;
}

Plan Planner::with_packed(const Request& r, Plan plan) const {
  if (!cannot_use_packed(*r.call).empty()) return {.reads_packed = false};
  if (!gives_only_packed(*r.call)) return plan;
  plan.tier = Tier::kDevice;
  plan.only_device = true;
  plan.wait = DeviceTier::Wait::kBest;
  plan.device_margin_ns = kInfinity;
  return plan;
}

void Planner::consider_split(Plan& plan, const Request& r, const Choice& choice) const {
  // Shorter calls end before a thread has started.
  if (std::min(choice.device_ns, choice.best_host_ns) < thread_start_ns()) return;
  const std::shared_ptr<SplitCourse> course = course_of(r.problem(), r.guard);
  if (!course->decision().wins) return;
  plan.unsplit = std::exchange(plan.tier, Tier::kSplit);
  plan.unsplit_reason = std::exchange(plan.reason, Reason::kPredicted);
  const bool measures = !state_.settings.split_always && !is_guarded(r.guard);
  plan.times = measures ? times_of(r.problem(), choice, course->decision().plan.ns) : TierTimes();
}

TierTimes Planner::times_of(const Problem& p, const Choice& choice, double split_ns) const {
  // Largest ratio of predicted times at which a device that is predicted to lose is measured too. A
  // device is not opened only to measure it. The host has no BLAS for other types than float32: its
  // widened copies, whose pages the system has to find, took 10 ms instead of one beside an H100.
  const double near = is_float32(p.types) ? 1.5 : 4;
  if (state_.settings.measure_calls == MeasureCalls::kNo || !reads_operands(p)) return {};
  const bool split = std::isfinite(split_ns);
  const bool guesses = state_.guesses_host();
  TierTimes::Predicted predicted = {
      // A host whose time is a guess counts as no slower than the device until it is measured.
      .host_ns = guesses ? std::min(choice.host_ns, choice.device_ns) : choice.host_ns,
      .host1_ns = guesses ? TierTimes::kNotInTheRace : choice.host1_ns,
      .split_ns = split_ns};
  if (choice.tier == Tier::kDevice ||
      (choice.device_ns < near * choice.best_host_ns && state_.device->opened())) {
    // Calls that are sliced are not timed.
    if (state_.device->fits(p))
      predicted.device_ns = choice.device_ns;
    else if (!split)
      return {};
  }
  return TierTimes(predicted, split ? Tier::kSplit : guesses ? Tier::kHost : choice.tier);
}

DeviceTier::Wait Planner::wait_of(Reason reason) const {
  if (state_.settings.while_compiling == WhileCompiling::kWait) return DeviceTier::Wait::kBest;
  return reason == Reason::kForced ? DeviceTier::Wait::kFirst : DeviceTier::Wait::kNo;
}

Choice Planner::choose_with_kernel(const Request& r, const DeviceProfile& device) const {
  Call asked = question(r.problem(), {}, r.guard);
  asked.max_binding_bytes = static_cast<double>(device.limits.max_storage_buffer_range_bytes);
  return choose(asked, state_.model());
}

double Planner::missed_ns(const Request& r) const {
  if (flops(r.problem()) >= kLeastExpectedFlops) state_.look_for_expected();
  if (!state_.may_open_expected()) return 0;
  const Choice then = choose_with_kernel(r, state_.expected->device);
  return then.tier == Tier::kDevice ? then.best_host_ns - then.device_ns : 0;
}

void Planner::request_kernel(const Request& r, const Choice& choice) const {
  // A call that goes to the device requests one itself.
  const DeviceTier* const device = state_.device.get();
  if (device == nullptr || choice.tier == Tier::kDevice) return;
  const KernelChooser& chooser = *device->chooser();
  if (chooser.on_demand() == nullptr) return;
  const Problem& p = r.problem();
  const Means means = chooser.choose(p).means;
  if (means != Means::kNone && means != Means::kHostPass) return;
  if (device->veto(p).name != Veto::kNone) return;  // the device is gone, or the parent's
  if (choose_with_kernel(r, device->profile()).tier == Tier::kDevice) chooser.request_kernel(p);
}

void Planner::log_plan(const Request& r, const Plan& plan) const {
  const Problem& p = r.problem();
  if (!plan.reads_packed)
    return state_.log->say_note(
        p, about_packed(*r.call) + " is not used: " + cannot_use_packed(*r.call));
  // Where the precision decides, the answer's line says so, and the decision names another tier.
  const Reason reason = plan.tier == Tier::kSplit ? plan.unsplit_reason : plan.reason;
  if (reason != Reason::kPrecision || r.grouped != nullptr || widens_sums(p.types)) {
    const Tier unsplit = plan.tier == Tier::kSplit ? plan.unsplit : plan.tier;
    const bool quick =
        unsplit == Tier::kDevice && r.grouped == nullptr && r.call->packed == nullptr;
    Decision d = decide(p, residencies_of(*r.call), r.guard, r.call);
    if (state_.guesses_host())
      d.tier = unsplit;  // Calls begin there.
    else if (d.tier != Tier::kDevice)
      d.tier = precise_host(d.tier, p.types, r.guard);
    state_.log->say(logged_problem(r), d, best_kernel(p, {}, r.call),
                    quick ? quick_kernel(p, plan.device_margin_ns) : std::string(), about(r));
  }
  if (r.devices == Devices::kAll)
    state_.log->say_split(p, course_of(p, r.guard)->decision().reason);
}

std::vector<GemmCall> Planner::slices_of(const GemmCall& call) const {
  const DeviceTier* const device = state_.device.get();
  if (device == nullptr || device->fits(call.problem)) return {};
  return slices(call, [&](const Problem& p) { return device->fits(p, kSlicesAtATime); });
}

std::string Planner::cannot_use_packed(const GemmCall& call) const {
  const PackedOperand& packed = *call.packed;
  DeviceTier* const device = state_.device.get();
  if (device == nullptr) return state_.data.note;
  if (packed.forms.empty())
    return "no device computed such calls when it was packed; pass the operand itself, or tune for "
           "such calls and pack it again";
  if (DeviceTier::Refusal refusal = device->veto(call.problem); !refusal.reason.empty())
    return std::move(refusal.reason);
  if (packed.device != device->device())
    return "it was packed for calls on buffers of the program's own device";
  const std::vector<RankedChoice> kernels = device->chooser()->ranked(call);
  if (kernels.empty())
    return fmt::format("no certified kernel of {} reads it for {}; pack it again for such calls",
                       device->profile().name, to_string(call.problem));
  if (device->all_failed(kernels))
    return fmt::format("every kernel of {} that reads it for {} has failed ({}); pack it again",
                       device->profile().name, to_string(call.problem),
                       device->state().last_failure);
  return {};
}

}  // namespace rooftile
