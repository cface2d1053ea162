// Calls that ask for more than a product: scanned before, checked after, or summed in float64
// (docs/precision.md).
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "db/store.h"
#include "runtime/context_impl.h"
#include "runtime/log.h"

namespace rooftile {

Guard Context::Impl::guard_of(const GemmCall& call) const {
  Guard guard = call.guard;
  if (!guard.precision) guard.precision = precision;
  return guard;
}

void Context::Impl::revoke(const DeviceTier::SpotCheckFailed& failure) const {
  try {
    std::error_code unknown;
    // A writer would make a new file.
    if (!std::filesystem::exists(data.file, unknown)) return;
    Store store(data.file, {.busy_timeout_ms = kDatabasePatienceMs});
    if (const auto row = store.find_device(device->profile()))
      store.revoke_certificates(*row, failure.hash(), failure.what());
  } catch (const Error& error) {
    log_warning(
        fmt::format("a kernel that computes wrongly stays in the database: {}; run "
                    "`rooftile tune` where it can be written",
                    error.what()));
  }
}

DeviceTier::Ran Context::Impl::run_guarded(const GemmCall& call, const Guard& guard,
                                           DeviceTier::Wait wait, double margin_ns) {
  // Other elements each time, or a kernel that is wrong at some would never be found out.
  const SpotCheck check(precision_of(guard), checks.load(std::memory_order_relaxed));
  const SpotCheck* const wanted = checks_spots(guard) ? &check : nullptr;
  try {
    const DeviceTier::Ran ran = device->gemm(call, wait, margin_ns, wanted);
    if (ran && wanted != nullptr) checks.fetch_add(1, std::memory_order_relaxed);
    return ran;
  } catch (const DeviceTier::SpotCheckFailed& failure) {
    checks.fetch_add(1, std::memory_order_relaxed);
    if (failure.wrong())
      revoke(failure);  // nor is it used again: it tells nothing of later calls
    else
      reruns.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
}

void Context::Impl::gemm_with_guard(const GemmCall& call, const Guard& guard, bool forced,
                                    LastAnswer& last) {
  const Problem& p = call.problem;
  const auto on_host = [&](Tier host_tier, Reason reason) {
    run_on_host(call, host_tier);
    last.set(id, p, host_tier, reason);
  };
  if (needs_float64(guard)) {
    if (forced)
      fail(ErrorCode::kUnsupported, "the device tier was asked for, but float64 sums are, too");
    return on_host(Tier::kHost64, Reason::kPrecision);
  }
  const Decision decision = decide(call, guard);
  if (decision.veto_name == Veto::kDeviceGone) device->say_gone();
  // Nobody checks the host's float32 sums, so where they may be short of it they are float64.
  const bool high = precision_of(guard) == Precision::kHigh;
  if (!forced && decision.tier != Tier::kDevice)
    return high ? on_host(Tier::kHost64, Reason::kPrecision)
                : on_host(decision.tier, Reason::kPredicted);
  if (scans(guard)) {
    if (const auto refusal = range_refusal(call)) {
      if (forced) fail(ErrorCode::kUnsupported, "{}", refusal->reason);
      return on_host(refusal->needs_float64 || high ? Tier::kHost64 : best_host(decision),
                     Reason::kPrecision);
    }
  }
  Reason reason = Reason::kCompiling;
  const Tier instead = high ? Tier::kHost64 : best_host(decision);
  const Reason chosen = forced ? Reason::kForced : Reason::kPredicted;
  const double margin_ns =
      forced ? std::numeric_limits<double>::infinity() : device_margin_ns(decision);
  try {
    if (const DeviceTier::Ran ran = run_guarded(call, guard, wait_of(chosen), margin_ns)) {
      last.set(id, p, Tier::kDevice, chosen, ran.kernel);
      return;
    }
  } catch (const DeviceTier::SpotCheckFailed&) {
    if (forced) throw;
    reason = Reason::kPrecision;
  } catch (const Error& error) {
    if (forced) throw;
    device_failed(p, error);
    reason = Reason::kFailed;
  }
  on_host(instead, reason);
}

}  // namespace rooftile
