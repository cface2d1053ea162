// Runs plans: the only place where the failure of a call on the device is caught, and the host
// asked instead.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "runtime/dispatch/planner.h"
#include "runtime/dispatch/repeated_calls.h"

namespace rooftile {

/// Whether the tier is one of the host's.
bool is_host(Tier tier);

/// A share of a split call that its worker could not compute.
struct FailedShare {
  const SplitWorker* worker = nullptr;
  std::exception_ptr failure = {};
  bool failed_check = false;  ///< The failure is a spot check's.
};

/// Thread-safe.
class Executor {
 public:
  Executor(ContextState& state, const Planner& planner) : state_(state), planner_(planner) {}

  /// Runs a request, and notes in its plan what the call has taught. `repeated` gets a plain call
  /// that the host answers; null: it is not kept. Errors leave C untouched but as Context::gemm
  /// says.
  Outcome run(const Request& r, Plan& plan, RepeatedCalls* repeated = nullptr);
  /// Runs a request by a plan of its own: a part of a call, or the same call without its packed
  /// operand.
  Outcome run_planned(const Request& r);

 private:
  Outcome on_host(const Request& r, const Plan& plan, Tier tier, Reason reason) const;
  /// With float64 sums instead of the call's, which the scan has refused.
  Outcome in_float64(const Request& r, const RangeRefusal& refusal);
  /// On the device or, where that cannot, on the host.
  Outcome on_device(const Request& r, Plan& plan);
  Outcome run_groups(const Request& r, const Plan& plan);
  /// With the check of the guard. Otherwise as DeviceTier::gemm.
  DeviceTier::Ran run_kernel(DeviceTier& on, const Request& r, DeviceTier::Wait wait,
                             double margin_ns, const Problem* part_of = nullptr);
  /// Runs slices one after the other: on the device for as long as it goes on without a pause, the
  /// rest each by its own plan.
  Outcome run_slices(const Request& r, const Plan& plan, const std::vector<GemmCall>& slices);
  /// No value: the kernels of the parts are not compiled yet. Compilation is then under way.
  std::optional<Outcome> run_split(const Request& r, Plan& plan);
  /// Whether all kernels are compiled. Starts to compile the others in the background.
  bool are_ready(const SplitDecision& d, std::span<const PlannedShare> shares,
                 const GemmCall& call) const;
  /// Computes a share that has failed with other workers, and returns the tier that did.
  Tier run_failed(const Request& share, const FailedShare& failed, const Plan& plan,
                  const SplitDecision& d);
  /// Same as ContextState::device_failed() for any exception.
  void note_failure(DeviceTier& on, const Problem& p, const std::exception_ptr& failure);
  /// Stores a call that the host answers, so that Context::gemm_again() recognises the next one.
  void remember(const Request& r, const Plan& plan, RepeatedCalls& repeated) const;
  /// Records that a call took `ns`.
  void measured(Plan& plan, double ns, const Problem& p) const;

  ContextState& state_;
  const Planner& planner_;
};

}  // namespace rooftile
