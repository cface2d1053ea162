// Calls with accuracy requirements: the operands are scanned before the call, the result is checked
// after it, or the sums are float64 (docs/precision.md).
#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "db/store.h"
#include "runtime/dispatch/context_impl.h"
#include "runtime/host/host_tier.h"
#include "runtime/support/log.h"

namespace rooftile {

Guard Context::Impl::guard_of(const GemmCall& call) const {
  Guard guard = call.guard;
  if (!guard.precision) guard.precision = precision;
  // Integer sums are exact in every tier, so float64 gains nothing.
  if (call.problem.types.c == DataType::kI32) {
    guard.precision = Precision::kStandard;
    guard.kappa = 0;
  }
  return guard;
}

GemmCall Context::Impl::without_half_sums(const GemmCall& call) {
  GemmCall precise = call;
  precise.problem.types.f16_sums = false;
  return precise;
}

Tier Context::Impl::precise_host(Tier host, const Guard& guard) {
  // No spot check covers the host's float32 sums, so the host computes in float64 where kHigh is
  // requested.
  const bool float64 = needs_float64(guard) || precision_of(guard) == Precision::kHigh;
  return float64 ? Tier::kHost64 : host;
}

Tier Context::Impl::run_on_forced_host(const GemmCall& call, Tier wanted) {
  const Tier precise = precise_host(wanted, guard_of(call));
  const HostThreads threads = wanted == Tier::kHost1 ? HostThreads::kOne : most_threads();
  rooftile::run_on_host(*blas, call, precise, threads);
  return precise;
}

void Context::Impl::revoke(const DeviceTier& on, const DeviceTier::SpotCheckFailed& failure) {
  owner.store(next_owner());  // of decisions that may have chosen it
  resident->reject(failure.hash(), failure.what());
  try {
    std::error_code unknown;
    // Opening the store for writing would create a new file.
    if (!std::filesystem::exists(data.file, unknown)) return;
    Store store(data.file, {.busy_timeout_ms = kDatabasePatienceMs});
    if (const auto row = store.find_device(on.profile()))
      store.revoke_certificates(*row, failure.hash(), failure.what());
  } catch (const Error& error) {
    log_warning(
        fmt::format("a kernel that computes wrongly stays in the database: {}; run "
                    "`rooftile tune` where it can be written",
                    error.what()));
  }
}

DeviceTier::Ran Context::Impl::run_guarded(DeviceTier& on, const GemmCall& call, const Guard& guard,
                                           DeviceTier::Wait wait, double margin_ns,
                                           const Problem* part_of) {
  // Each call checks different elements; otherwise a kernel that is wrong at some elements might
  // never be detected.
  const SpotCheck check(precision_of(guard), checks.load(std::memory_order_relaxed));
  const SpotCheck* const wanted = checks_spots(guard) ? &check : nullptr;
  try {
    const DeviceTier::Ran ran = on.gemm(call, wait, margin_ns, wanted, part_of);
    if (ran && wanted != nullptr) checks.fetch_add(1, std::memory_order_relaxed);
    return ran;
  } catch (const DeviceTier::SpotCheckFailed& failure) {
    checks.fetch_add(1, std::memory_order_relaxed);
    // The kernel is not used again, so its failure says nothing about the error rate of later
    // calls.
    if (failure.wrong())
      revoke(on, failure);  // its failure says nothing about later calls
    else
      reruns.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
}

void Context::Impl::refuse_device(const Guard& guard) {
  fail(
      ErrorCode::kUnsupported,
      "the device tier is forced (by the call, the context or ROOFTILE_TIER), but {} needs float64 "
      "sums, which the device tier does not compute; set the tier to auto, or force a host tier",
      precision_of(guard) == Precision::kExact64
          ? std::string("the precision exact64 (of the call, the context or ROOFTILE_PRECISION)")
          : fmt::format("the guard's kappa of {}", guard.kappa));
}

bool Context::Impl::rounds_between(const std::vector<GemmCall>& parts, const GemmCall& call) {
  return std::ranges::any_of(
      parts, [&](const GemmCall& part) { return part.problem.k != call.problem.k; });
}

Outcome Context::Impl::gemm_with_guard(const GemmCall& call, const Guard& guard, bool forced) {
  const auto on_host = [&](Tier host_tier, Reason reason) -> Outcome {
    run_on_host(call, host_tier);
    return {.tier = host_tier, .reason = reason};
  };
  if (needs_float64(guard)) return on_host(Tier::kHost64, Reason::kPrecision);
  const Decision decision = decide(call, guard);
  if (decision.veto_name == Veto::kDeviceGone) device->warn_gone();
  const bool high = precision_of(guard) == Precision::kHigh;
  // Where the precision decides, the answer's line says so, and this one names another tier.
  if (log != nullptr && !forced && (decision.tier == Tier::kDevice || !high))
    say_decision(call.problem, decision, "guarded");
  if (!forced && decision.tier != Tier::kDevice) {
    return on_host(precise_host(decision.tier, guard),
                   high ? Reason::kPrecision : Reason::kPredicted);
  }
  if (scans(guard)) {
    if (const auto refusal = range_refusal(call)) {
      if (forced)
        fail(ErrorCode::kUnsupported,
             "{}, and the precision that was asked for keeps such calls from the forced device; "
             "leave the tier to the runtime, or force a host tier",
             refusal->reason);
      return on_host(
          refusal->needs_float64 ? Tier::kHost64 : precise_host(best_host(decision), guard),
          Reason::kPrecision);
    }
  }
  Reason reason = Reason::kCompiling;
  const Tier instead = precise_host(best_host(decision), guard);
  const Reason chosen = forced ? Reason::kForced : Reason::kPredicted;
  const double margin_ns =
      forced ? std::numeric_limits<double>::infinity() : device_margin_ns(decision);
  try {
    if (const DeviceTier::Ran ran =
            run_guarded(*device.get(), call, guard, wait_of(chosen), margin_ns))
      return {.tier = Tier::kDevice, .reason = chosen, .kernel = ran.kernel};
  } catch (const DeviceTier::SpotCheckFailed&) {
    if (forced) throw;
    reason = Reason::kPrecision;
  } catch (const Error& error) {
    if (forced) throw;
    device_failed(*device.get(), call.problem, error);
    reason = Reason::kFailed;
  }
  return on_host(instead, reason);
}

}  // namespace rooftile
