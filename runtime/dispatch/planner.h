// Makes the plan of a request: which tier computes it, and what happens where that cannot.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/dispatch/context_state.h"
#include "runtime/dispatch/explanation.h"
#include "runtime/dispatch/plan.h"
#include "runtime/model/dispatch.h"
#include "runtime/tuned/kernel_chooser.h"

namespace rooftile {

/// A packed operand is neither transferred nor packed again; the other operands lie in host memory.
Residencies residencies_of(const GemmCall& call);
/// Which of A and B is packed; at most one is.
std::optional<Operand> packed_operand(const Residencies& where);
/// "packed b", of a call with a packed operand, for the log.
std::string about_packed(const GemmCall& call);

/// Thread-safe. What plans depend on besides their request changes ContextState::generation: what
/// has been certified on demand, which devices and kernels have failed, whether calls are counted.
/// Plans for guards depend on the results of earlier checks as well, and are not kept.
class Planner {
 public:
  explicit Planner(ContextState& state) : state_(state) {}

  /// The request of a validated call. The context gives what the call leaves open.
  Request request(const GemmCall& call, const GroupedCall* grouped = nullptr) const;

  /// The plan, with what it sets off: the call is going to be counted, the plan is logged, and a
  /// kernel may be certified in the background. A forced device throws kUnsupported where it cannot
  /// compute the call at all.
  Plan plan(const Request& r) const;
  /// The counter of the request's calls, or null (ContextState::untuned_counter).
  std::atomic<std::int64_t>* counter_of(const Request& r) const;

  /// The model's decision, without regard to forced tiers. `call`: of the problem, where it may
  /// have a packed operand; null: it has none.
  Decision decide(const Problem& p, const Residencies& where, const Guard& guard = {},
                  const GemmCall* call = nullptr) const;
  /// What the plan of a call is and why, with the kernel that would run. where: for questions about
  /// operands that lie on the device, which a call has not.
  Explanation explain(const Request& r, const Residencies& where) const;

  /// Slices of a call that exceeds the device's buffers, each of which fits. Empty when the call
  /// fits or cannot be sliced.
  std::vector<GemmCall> slices_of(const GemmCall& call) const;
  /// Why the device cannot compute this call with its packed operand; "" when it can. Opens it.
  std::string cannot_use_packed(const GemmCall& call) const;
  /// How the calls of a problem are divided, as measured calls have taught.
  std::shared_ptr<SplitCourse> course_of(const Problem& p, const Guard& guard) const;

 private:
  /// The plan for a forced host tier.
  Plan on_host(const Request& r) const;
  Plan on_forced_device(const Request& r) const;
  Choice choose_tier(const Request& r) const;
  /// The plan for a tier that is not forced. Notes nothing, so that explain() may ask for it.
  Plan predicted(const Request& r, const Choice& choice) const;
  /// The plan for a call with a packed operand, of one that would not depend on it.
  Plan with_packed(const Request& r, Plan plan) const;
  /// Makes a plan for one tier that of a split, where that is predicted to be faster.
  void consider_split(Plan& plan, const Request& r, const Choice& choice) const;
  /// Tiers on which calls of the problem are measured, if any. split_ns: the predicted time of the
  /// split, infinity where there is none.
  TierTimes times_of(const Problem& p, const Choice& choice,
                     double split_ns = std::numeric_limits<double>::infinity()) const;
  /// What a call waits for, depending on whether the device was forced or chosen.
  DeviceTier::Wait wait_of(Reason reason) const;
  /// The choice if this device had a certified kernel for the problem.
  Choice choose_with_kernel(const Request& r, const DeviceProfile& device) const;
  /// Plan::missed_ns. The first call that is large enough has the expected device looked for.
  double missed_ns(const Request& r) const;
  /// Requests the certification of a kernel for a problem of an untuned class, if calls that the
  /// host answers now would then run on the device.
  void request_kernel(const Request& r, const Choice& choice) const;
  /// Logs the plan of a request whose tier is not forced, with the decision and the kernels.
  void log_plan(const Request& r, const Plan& plan) const;

  // What the model is asked (questions.cpp).

  /// A call of these operands, before the device is asked about it. Of a grouped problem: the batch
  /// of as many matrices and the same work as it has in its groups.
  /// Time in which the host reads or writes so many bytes; 0 where it is not calibrated.
  double host_ns_of(double bytes) const;
  Call question(const Problem& p, const Residencies& where, const Guard& guard) const;
  /// Fills in what the model cannot know of the device: a veto, slices, the kernel of operands that
  /// are packed or lie there, of a grouped problem its kernel. `call` as for decide().
  void ask_device(Call& question, const Problem& p, const GemmCall* call) const;
  void ask_for_groups(Call& question, const Problem& p) const;
  /// Fills in by which means the device computes the problem's class, which may not have been
  /// tuned, or a veto where there are none.
  void ask_means(Call& question, const Residencies& where, const DeviceTier& on) const;
  /// Fills in how the device would compute a call that exceeds its buffers; false when it cannot.
  bool ask_for_parts(Call& question, const Residencies& where) const;
  static KernelChoice kernels_for(const Problem& p, const Residencies& where, const DeviceTier& on);
  /// The device's kernels, best first. `call` as for decide().
  std::vector<RankedChoice> ranked(const Problem& p, const Residencies& where,
                                   const GemmCall* call) const;
  std::string best_kernel(const Problem& p, const Residencies& where,
                          const GemmCall* call) const;  ///< "" when there is none.
  /// Kernel that runs while the best one is compiled; "" when there is none, or when calls wait for
  /// the best kernel.
  std::string quick_kernel(const Problem& p, double margin_ns) const;
  /// What is to be said of a problem that no means computes: whether a kernel may still be
  /// certified for it.
  static std::string why_not_certified(const Problem& p, const DeviceTier& on);
  /// Explanation::forced_device for a problem that the model vetoes so.
  std::string_view forced_device(const Problem& p, Veto veto) const;

  // Splits (split_plan.cpp).

  /// The decision between this device and the host. kernel_ns: of its kernel, if it is known.
  Decision decide_on(const DeviceTier& on, const DispatchModel& model, const Problem& p,
                     const Guard& guard, std::optional<double> kernel_ns) const;
  /// Predicted time of a host tier.
  double host_ns(const Problem& p, Tier tier, const Guard& guard) const;
  /// Adds the workers with their predictions.
  void add_parties(SplitDecision& d, const Problem& p, const Guard& guard) const;
  SplitDecision plan_split(const Problem& p, const Guard& guard) const;
  /// follows: whether the request's plan is that split. elsewhere: an operand is packed or lies on
  /// the device.
  SplitExplanation explain_split(const Request& r, bool follows, bool elsewhere) const;

  ContextState& state_;
};

/// The tier that answers where a host tier was chosen or forced: HOST64 where the sums or the guard
/// require more than unchecked float32 sums.
Tier precise_host(Tier host, const Types& types, const Guard& guard);

}  // namespace rooftile
