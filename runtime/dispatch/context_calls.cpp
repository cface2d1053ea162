// One call on host memory, from its checks to the tier that answers it.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "runtime/call/call_checks.h"
#include "runtime/dispatch/context_impl.h"
#include "runtime/support/background.h"
#include "runtime/support/float_environment.h"

namespace rooftile {

bool Context::gemm_again(const PlainCall& call) {
  DecisionCache& cache = DecisionCache::of_this_thread();
  cache.last.context = 0;
  RepeatedCalls::Entry* const known =
      cache.repeated.find(call.product, impl_->owner.load(std::memory_order_relaxed));
  if (known == nullptr || !known->takes(call)) return false;
  const HostRoute& route = known->route();
  if (route.untuned_calls != nullptr) route.untuned_calls->fetch_add(1, std::memory_order_relaxed);
  TierTimes& times = known->times();
  const Tier tier = times.open() ? times.next() : route.tier;
  const HostThreads threads = tier == Tier::kHost1 ? HostThreads::kOne : impl_->most_threads();
  const double start = times.open() ? now_ns() : 0;
  impl_->blas->sgemm(call.product, call.a, call.b, call.c, threads);
  if (times.open()) {
    const QuietArithmetic quiet;
    if (times.record_time(now_ns() - start) && impl_->log != nullptr)
      impl_->log->say_changed(problem_of(known->product()), times);
  }
  cache.last.set_repeated(impl_->id, known->product(), tier,
                          tier == route.tier ? route.reason : Reason::kMeasured);
  return true;
}

void Context::gemm(const GemmCall& call) {
  if (call.packed != nullptr) return gemm_packed(call);
  DecisionCache& cache = DecisionCache::of_this_thread();
  cache.last.context = 0;
  validate_call(call);
  std::optional<GemmCall> precise;
  if (impl_->forbids_half_sums(call)) precise = Impl::without_half_sums(call);
  const GemmCall& asked = precise ? *precise : call;
  const Outcome outcome = impl_->run(asked, cache);
  if (impl_->log != nullptr) impl_->log->say_answer(asked.problem, outcome);
  cache.last.set(impl_->id, asked.problem, outcome);
}

Outcome Context::Impl::run(const GemmCall& call, DecisionCache& cache) {
  if (is_empty(call.problem)) return {.tier = Tier::kHost, .reason = Reason::kNothingToDo};
  const TierChoice choice = choice_of(call);
  if (choice == TierChoice::kDevice) return run_on_forced_device(call, cache);
  if (choice != TierChoice::kAuto) {
    const Tier answers = run_on_forced_host(call, tier_of(choice));
    const Reason reason = answers == tier_of(choice) ? Reason::kForced : Reason::kPrecision;
    remember(call, {.tier = answers, .reason = reason}, {}, cache.repeated);
    return {.tier = answers, .reason = reason};
  }
  const Guard guard = guard_of(call);
  return is_guarded(guard) ? run_with_guard(call, guard, cache) : run_predicted(call, cache);
}

Outcome Context::Impl::run_on_forced_device(const GemmCall& call, DecisionCache& cache) {
  const Guard guard = guard_of(call);
  if (needs_float64(guard)) refuse_device(guard);
  if (const std::string why_not = use_untuned_device(); !why_not.empty())
    fail(ErrorCode::kUnsupported, "the device tier was requested, but cannot be used: {}", why_not);
  const std::vector<GemmCall> slices = slices_of(call);
  if (slices.empty()) return run_whole_on_device(call, guard);
  if (is_guarded(guard) && rounds_between(slices, call))
    fail(ErrorCode::kUnsupported,
         "{} exceeds the device's buffers and would be divided along k, where each slice rounds C: "
         "calls with a guard are not divided along k",
         to_string(call.problem));
  return run_slices(call.problem, slices, Reason::kForced, cache);
}

Outcome Context::Impl::run_whole_on_device(const GemmCall& call, const Guard& guard) {
  const Problem& p = call.problem;
  if (const DeviceTier::Refusal refusal = device->veto(p); !refusal.reason.empty())
    fail(ErrorCode::kUnsupported, "{}", refusal.reason);
  // A caller that forces the device would profit from tuning even where the host is predicted to
  // win.
  if (auto* calls = untuned_counter(p, std::numeric_limits<double>::infinity()))
    calls->fetch_add(1, std::memory_order_relaxed);
  if (is_guarded(guard)) return gemm_with_guard(call, guard, true);
  const DeviceTier::Ran ran = device->gemm(call, wait_of(Reason::kForced));
  return {.tier = Tier::kDevice, .reason = Reason::kForced, .kernel = ran.kernel};
}

Outcome Context::Impl::run_with_guard(const GemmCall& call, const Guard& guard,
                                      DecisionCache& cache) {
  if (std::optional<Outcome> outcome = run_guarded_split(call, guard)) return *std::move(outcome);
  const std::vector<GemmCall> slices = slices_of(call);
  if (slices.empty() || decide(call.problem, {}, guard).tier != Tier::kDevice)
    return gemm_with_guard(call, guard, false);
  if (!rounds_between(slices, call))
    return run_slices(call.problem, slices, Reason::kPredicted, cache);
  run_on_host(call, Tier::kHost64);
  return {.tier = Tier::kHost64, .reason = Reason::kPrecision};
}

Outcome Context::Impl::run_predicted(const GemmCall& call, DecisionCache& cache) {
  DecisionCache::Entry& entry = decision_of(call.problem, devices_of(call), cache);
  const Tier next = next_tier(entry.decision);
  if (next == Tier::kSplit) return run_predicted_split(call, entry, cache);
  return run_unsplit(call, entry, next, cache, Remembered::kYes);
}

Outcome Context::Impl::run_unsplit(const GemmCall& call, DecisionCache::Entry& entry, Tier next,
                                   DecisionCache& cache, Remembered remembered) {
  if (next == Tier::kDevice)
    if (const std::vector<GemmCall> slices = slices_of(call); !slices.empty())
      return run_slices(call.problem, slices, Reason::kPredicted, cache);
  return run_decided(call, entry, next, cache, remembered);
}

DecisionCache::Entry& Context::Impl::decision_of(const Problem& p, Devices of_call,
                                                 DecisionCache& cache) {
  const std::uint64_t state = owner.load(std::memory_order_relaxed);
  const std::uint64_t kind = of_call == Devices::kAll ? DecisionCache::kMayBeSplit : 0;
  DecisionCache::Entry* entry = cache.find(p, state, kind);
  if (entry == nullptr) entry = cache.store(p, state, decide_new(p, of_call), kind);
  return *entry;
}

CachedDecision Context::Impl::decide_new(const Problem& p, Devices of_call) {
  const Choice choice =
      choose(question(p, {}, {}), data.model, [this](Call& call) { ask_device(call); });
  if (choice.veto_name == Veto::kDeviceGone) device->warn_gone();
  request_kernel(p, choice);
  const double margin_ns = choice.best_host_ns - choice.device_ns;
  if (log != nullptr) say_decision(p, decide(p, {}));
  CachedDecision decision = {
      .tier = choice.tier,
      .host = faster_host(choice.host_ns, choice.host1_ns),
      .unsplit = choice.tier,
      .device_margin_ns = margin_ns,
      .times = times_of(p, choice),
      .untuned_calls = untuned_counter(p, choice.best_host_ns - choice.least_device_ns)};
  // Shorter calls end before a thread has started.
  if (of_call != Devices::kAll ||
      std::min(choice.device_ns, choice.best_host_ns) < thread_start_ns())
    return decision;
  const std::shared_ptr<SplitCourse> course = course_of(p, {});
  if (log != nullptr) log->say_split(p, course->decision().reason);
  if (!course->decision().wins) return decision;
  decision.tier = Tier::kSplit;
  decision.times = split_always ? TierTimes() : times_of(p, choice, course->decision().plan.ns);
  return decision;
}

void Context::Impl::say_decision(const Problem& p, const Decision& decision,
                                 std::string_view about) const {
  const bool quick = decision.tier == Tier::kDevice && !is_grouped(p);
  log->say(p, decision, best_kernel(p),
           quick ? quick_kernel(p, device_margin_ns(decision)) : std::string(), about);
}

Tier Context::Impl::next_tier(const CachedDecision& decision) {
  if (decision.untuned_calls != nullptr)
    decision.untuned_calls->fetch_add(1, std::memory_order_relaxed);
  return decision.times.open() ? decision.times.next() : decision.tier;
}

Outcome Context::Impl::run_decided(const GemmCall& call, DecisionCache::Entry& entry, Tier next,
                                   DecisionCache& cache, Remembered remembered) {
  const CachedDecision& chosen = entry.decision;
  TierTimes& times = entry.decision.times;
  const bool counts_time = times.open() && remembered == Remembered::kYes;
  const bool predicted = next == chosen.tier || remembered == Remembered::kNo;
  const Reason usual = predicted ? Reason::kPredicted : Reason::kMeasured;
  const double start = counts_time ? now_ns() : 0;
  if (next != Tier::kDevice) {
    run_on_host(call, next);
    if (counts_time) measured(times, now_ns() - start, call.problem);
    const bool stays = chosen.tier != Tier::kDevice && chosen.tier != Tier::kSplit;
    if (stays && remembered == Remembered::kYes && !times.device_races())
      remember(call, {.tier = chosen.tier, .untuned_calls = chosen.untuned_calls}, times,
               cache.repeated);
    return {.tier = next, .reason = usual, .cached = &entry.problem};
  }
  Reason reason = Reason::kCompiling;
  try {
    const DeviceTier::Wait wait = predicted ? wait_of(Reason::kPredicted) : DeviceTier::Wait::kNo;
    if (const DeviceTier::Ran ran = device->gemm(call, wait, chosen.device_margin_ns)) {
      if (counts_time && ran.best) measured(times, now_ns() - start, call.problem);
      return {
          .tier = Tier::kDevice, .reason = usual, .kernel = ran.kernel, .cached = &entry.problem};
    }
  } catch (const Error& error) {
    device_failed(*device.get(), call.problem,
                  error);  // The call's inputs are untouched: the host can answer.
    reason = Reason::kFailed;
    if (!predicted) times.leave_out(Tier::kDevice);
  }
  run_on_host(call, chosen.host);
  return {.tier = chosen.host, .reason = reason, .cached = &entry.problem};
}

void Context::Impl::device_failed(DeviceTier& on, const Problem& p, const Error& error) {
  on.warn(error);
  if (on.veto(p).name != Veto::kNone) owner.store(next_owner());
}

Outcome Context::Impl::run_slices(const Problem& whole, const std::vector<GemmCall>& slices,
                                  Reason reason, DecisionCache& cache) {
  if (log != nullptr) log->say_note(whole, fmt::format("computed in {} slices", slices.size()));
  const DeviceTier::InTurn in_turn = slices_in_turn(slices, reason);
  if (in_turn.gone && reason == Reason::kForced) throw *in_turn.gone;
  if (in_turn.gone) device_failed(*device.get(), whole, *in_turn.gone);
  // Each of the remaining slices chooses its own tier; slices of equal size find the decision in
  // the cache.
  Outcome outcome = {.tier = Tier::kDevice, .reason = reason};
  for (const GemmCall& slice : std::span(slices).subspan(in_turn.done)) {
    const Outcome one = run_slice(slice, reason, cache);
    if (in_turn.gone) {
      outcome = {.tier = one.tier, .reason = Reason::kFailed};
      continue;
    }
    if (one.reason == Reason::kPredicted || one.reason == Reason::kForced) continue;
    outcome = {.tier = one.tier, .reason = one.reason};
  }
  return outcome;
}

Outcome Context::Impl::run_slice(const GemmCall& slice, Reason reason, DecisionCache& cache) {
  const Guard guard = guard_of(slice);
  if (reason == Reason::kForced) return run_whole_on_device(slice, guard);
  if (is_guarded(guard)) return gemm_with_guard(slice, guard, false);
  DecisionCache::Entry& entry = decision_of(slice.problem, Devices::kOne, cache);
  return run_decided(slice, entry, next_tier(entry.decision), cache);
}

}  // namespace rooftile
