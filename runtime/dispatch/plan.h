// What a caller asks of a context, and how the context is going to answer: two values. Planner
// makes the second of the first, and Executor runs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "runtime/call/grouped_call.h"
#include "runtime/dispatch/tier_times.h"
#include "runtime/execute/device_tier.h"
#include "runtime/host/host_blas.h"

namespace rooftile {

/// A validated call with all that it may leave to its context. What it points to must outlive it.
struct Request {
  const GemmCall* call;                  ///< Of a grouped call: with the rows of all groups.
  const GroupedCall* grouped = nullptr;  ///< Null: the call is not grouped.
  TierChoice tier = TierChoice::kAuto;
  Guard guard = {};
  Devices devices = Devices::kOne;  ///< kAll: the call may be split.

  const Problem& problem() const { return call->problem; }
  bool is_forced() const { return tier != TierChoice::kAuto; }
  /// Whether it has a scan or a check besides those that come with float64 sums.
  bool asks_for_checks() const { return is_guarded(guard) && !widens_sums(problem().types); }
};

/// The problem whose calls are logged: each grouped call has other groups.
Problem logged_problem(const Request& r);
/// The problem whose calls are counted: the same, with the permission to round operands where the
/// caller gives it, whether or not kernels are tuned for it.
Problem counted_problem(const Request& r);

/// How the calls of one request are computed.
struct Plan {
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;       ///< For the tier.
  Tier host = Tier::kHost;                  ///< Answers where the device cannot.
  HostThreads threads = HostThreads::kAll;  ///< Of a host tier, at most.
  /// The device's failure is the caller's: it forces the device, or gives an operand that only the
  /// device can read.
  bool only_device = false;
  DeviceTier::Wait wait = DeviceTier::Wait::kNo;  ///< For the device's kernel.
  /// How much longer than the best kernel a quick one may take, in ns: until the host is faster.
  double device_margin_ns = std::numeric_limits<double>::infinity();
  bool reads_packed = true;  ///< Some kernel can compute the call with its packed operand.
  TierTimes times = {};      ///< Of the tiers on which calls are measured.
  /// Of tier kSplit, whose shares are those of Planner::course_of(): what answers until the kernels
  /// of the shares are compiled.
  Tier unsplit = Tier::kHost;
  Reason unsplit_reason = Reason::kPredicted;
  /// By how much longer each call is predicted to take than on the expected device, which is not
  /// open, by the rates of another machine (ContextState::missed); 0: not at all.
  double missed_ns = 0;
  /// ContextState::generation before the plan was made: it may have changed while the call ran.
  std::uint64_t generation = 0;
  /// Counter of these calls in the context's log; null: they are not counted.
  std::atomic<std::int64_t>* untuned_calls = nullptr;
};

/// How a call was answered.
struct Outcome {
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;
  const Variant* kernel = nullptr;  ///< The kernel that the device ran; null where it ran none.
  std::string shares = {};          ///< Who computed how much, of a call that was split.
  Residencies where = {};           ///< Of the operands: one may have been packed.
  bool float64_sums = false;        ///< Instead of the request's, which the scan has refused.
};

}  // namespace rooftile
