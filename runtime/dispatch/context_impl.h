// The state behind Context. Private to the context_*.cpp and packed_calls.cpp files of this folder.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/call/grouped_call.h"
#include "runtime/dispatch/context.h"
#include "runtime/dispatch/decision_cache.h"
#include "runtime/dispatch/decision_log.h"
#include "runtime/dispatch/repeated_calls.h"
#include "runtime/dispatch/resident_source.h"
#include "runtime/dispatch/split_course.h"
#include "runtime/dispatch/untuned_log.h"
#include "runtime/execute/device_tier.h"
#include "runtime/host/host_blas.h"
#include "runtime/support/set_once.h"
#include "runtime/tuned/tuned_data.h"
#include "runtime/verify/precision_guard.h"

namespace rooftile {

/// Returns a generation number that no context, and no earlier state of a context, has had.
std::uint64_t next_owner();

inline bool all_resident(const Residencies& where) {
  return where.a != Residency::kHost && where.b != Residency::kHost &&
         where.c == Residency::kDevice;
}

/// Returns which of A and B is packed; at most one is.
inline std::optional<Operand> packed_operand(const Residencies& where) {
  if (where.a == Residency::kPacked) return Operand::kA;
  if (where.b == Residency::kPacked) return Operand::kB;
  return std::nullopt;
}

/// A packed operand is neither transferred nor packed again; the other operands lie in host memory.
Residencies residencies_of(const GemmCall& call);

inline Tier best_host(const Decision& d) { return faster_host(d.host_ns, d.host1_ns); }
inline double device_margin_ns(const Decision& d) { return d.best_host_ns - d.device_ns; }

/// A tuned device besides the context's own one, for calls that are split.
struct OtherDevice {
  DispatchModel model;
  std::unique_ptr<DeviceTier> tier;
};

/// What became of the parts of a call that was split.
struct SplitOutcome {
  std::vector<SplitWorker> answered = {};
  std::vector<double> took_ns = {};                  ///< Of each part, in the order of the shares.
  bool failed_parts = false, failed_checks = false;  ///< Other workers computed these parts.
  // Workers that are not to be used for what is left.
  std::vector<const DeviceTier*> devices = {};
  bool all_devices = false, host = false;
};

/// Whether a call's time counts for the next tier of its problem, and the call is remembered.
enum class Remembered : std::uint8_t { kNo, kYes };

struct Context::Impl {
  const HostBlas* blas = nullptr;  ///< Not null once the context is constructed.
  TierChoice tier = TierChoice::kAuto;
  Devices devices = Devices::kOne;  ///< Of calls that do not say. Not kDefault.
  bool split_always = false;        ///< As ContextOptions::split_always.
  bool adopted = false;             ///< Whether the device is the program's own.
  std::string wanted_device;        ///< As ContextOptions::device.
  Deterministic deterministic = Deterministic::kNo;
  WhileCompiling while_compiling = WhileCompiling::kHostAnswers;
  MeasureCalls measure_calls = MeasureCalls::kYes;
  std::unique_ptr<DecisionLog> log;  ///< Null: decisions are not logged.
  TunedData data;
  /// Null: nothing is tuned, and no call was forced to the device yet (use_untuned_device()).
  SetOnce<DeviceTier> device;
  std::mutex untuned_device;
  std::mutex loading_others;
  bool others_loaded = false;
  /// Loaded when a call that may be split is decided first (other_devices()).
  std::vector<std::unique_ptr<OtherDevice>> others;
  SplitCourses split_courses;
  std::function<void(const Problem&)> grouped_counter;  ///< Context::grouped_counter
  std::shared_ptr<UntunedLog> untuned;  ///< Null: counting is off, or there is no file to write to.
  std::atomic<bool> counts = true;      ///< False after stop_counting().
  std::unique_ptr<ResidentSource> resident;
  std::mutex packing_mutex;
  /// Packs operands of a context on the program's own device; created when needed.
  std::shared_ptr<Resident> packing;
  const std::uint64_t id = next_owner();
  Precision precision = Precision::kStandard;
  /// Number of spot checks, and of those that sent the call to the host: P(rerun).
  std::atomic<std::uint64_t> checks = 0, reruns = 0;
  /// Generation of the state. It changes when the device loses a capability, which invalidates
  /// earlier decisions.
  std::atomic<std::uint64_t> owner = next_owner();

  Decision decide(const Problem& p, const Residencies& where, const Guard& guard = {}) const;
  /// Same as above for a call, which may have a packed operand.
  Decision decide(const GemmCall& call, const Guard& guard) const;
  /// Why the device cannot compute this call with the packed operand; "" when it can.
  std::string cannot_use(const PackedOperand& packed, const GemmCall& call) const;
  /// Decides a call with a packed operand: one without a guard, or one that is forced to the
  /// device.
  CachedDecision decide_packed(const GemmCall& call) const;
  /// Runs the call on the device with the packed operand, or on the host where that fails and the
  /// call gives the operand itself. Returns false, and computes nothing, when every kernel that
  /// reads the packed operand has failed but the call gives the operand itself for other kernels.
  bool run_packed(const GemmCall& call, const DecisionCache::Entry& entry, LastAnswer& last);
  /// Device side that transfers and packs operands for calls on host memory.
  std::shared_ptr<Resident> packing_resident();
  Call question(const Problem& p, const Residencies& where, const Guard& guard) const;
  /// Fills in what the model cannot know of the device: a veto, slices, a kernel's footprint.
  void ask_device(Call& question) const;
  /// The tier that the call asks for: its own, else the context's.
  TierChoice choice_of(const GemmCall& call) const {
    return call.tier == TierChoice::kAuto ? tier : call.tier;
  }
  /// The call's guard, with the context's precision where the call does not set one.
  Guard guard_of(const GemmCall& call) const;
  /// Whether the call permits sums in half precision, and its precision or its types do not.
  bool forbids_half_sums(const GemmCall& call) const {
    const Types& types = call.problem.types;
    if (!types.f16_sums) return false;
    return !may_sum_in_f16(types) || precision_of(guard_of(call)) == Precision::kHigh;
  }
  static GemmCall without_half_sums(const GemmCall& call);
  /// Returns the tier that answers where a host tier was chosen or forced: HOST64 where the guard
  /// requires more than unchecked float32 sums.
  static Tier precise_host(Tier host, const Guard& guard);
  /// Runs a call that is forced to a host tier. The tier gives the number of threads, the guard the
  /// precision of sums.
  Tier run_on_forced_host(const GemmCall& call, Tier wanted);
  /// Runs on the device with the scan and check of the guard, or throws the reason why not.
  /// Otherwise as DeviceTier::gemm.
  DeviceTier::Ran run_guarded(DeviceTier& on, const GemmCall& call, const Guard& guard,
                              DeviceTier::Wait wait, double margin_ns,
                              const Problem* part_of = nullptr);
  /// Throws kUnsupported because the device is forced and the guard requires float64 sums.
  [[noreturn]] static void refuse_device(const Guard& guard);
  /// Whether slices of a call that exceeds the device's buffers are summed along k. Each slice then
  /// rounds C, which no guard accounts for.
  static bool rounds_between(const std::vector<GemmCall>& parts, const GemmCall& call);
  /// `forced`: the device is forced; the guard then does not require float64.
  Outcome gemm_with_guard(const GemmCall& call, const Guard& guard, bool forced);
  /// Runs a call that was validated and has no packed operand (context_calls.cpp). The tier is the
  /// call's, the context's or the predicted one; a call that exceeds the device's buffers runs as
  /// slices.
  Outcome run(const GemmCall& call, DecisionCache& cache);
  Outcome run_on_forced_device(const GemmCall& call, DecisionCache& cache);
  /// Runs a call that fits the device and is forced to it.
  Outcome run_whole_on_device(const GemmCall& call, const Guard& guard);
  Outcome run_with_guard(const GemmCall& call, const Guard& guard, DecisionCache& cache);
  Outcome run_predicted(const GemmCall& call, DecisionCache& cache);
  /// Runs a validated grouped call (context_grouped.cpp).
  Outcome run_grouped(const GroupedCall& call);
  Outcome run_grouped_device(const GroupedCall& call, Reason reason);
  /// The question for a batch of as many matrices and the same work as p has in its groups, with
  /// the time of a kernel for such groups where one is tuned.
  Call question_grouped(const Problem& p, const Residencies& where, const Guard& guard) const;
  /// Counts a grouped call for `rooftile tune --from-log`. most_gain_ns as in untuned_counter().
  void count_grouped(const Problem& p, double most_gain_ns) const;
  std::function<void(const Problem&)> make_grouped_counter() const;
  /// The decision for the problem: of this thread's cache, or a new one. Only with kAll may it be
  /// the tier kSplit.
  DecisionCache::Entry& decision_of(const Problem& p, Devices devices, DecisionCache& cache);
  /// Counts a call and returns its tier: the decided one, or the one that is being measured.
  static Tier next_tier(const CachedDecision& decision);
  /// Runs a call that fits the device on the next tier of its decision, or on the host where the
  /// device cannot.
  Outcome run_decided(const GemmCall& call, DecisionCache::Entry& entry, Tier next,
                      DecisionCache& cache, Remembered remembered = Remembered::kYes);
  /// Same as above for a call that may exceed the device's buffers.
  Outcome run_unsplit(const GemmCall& call, DecisionCache::Entry& entry, Tier next,
                      DecisionCache& cache, Remembered remembered);

  // Calls that are split (context_split.cpp).

  /// Whether the call may be split: kAll or kOne.
  Devices devices_of(const GemmCall& call) const;
  /// The other tuned devices that are present; enumerates devices at first. None on failure, which
  /// is reported on stderr.
  std::span<const std::unique_ptr<OtherDevice>> other_devices();
  /// The decision between this device and the host. kernel_ns: of its kernel, if it is known.
  Decision decide_on(const DeviceTier& on, const DispatchModel& model, const Problem& p,
                     const Guard& guard, std::optional<double> kernel_ns) const;
  /// Adds the workers that have not failed, with their predictions.
  void add_parties(SplitDecision& d, const Problem& p, const Guard& guard,
                   const SplitOutcome& failed);
  SplitDecision plan_split(const Problem& p, const Guard& guard, const SplitOutcome& failed);
  std::shared_ptr<SplitCourse> course_of(const Problem& p, const Guard& guard);
  void run_part(const SplitWorker& worker, const GemmCall& call, const Guard& guard,
                const Problem& whole);
  /// Whether all kernels are compiled. Starts to compile the others in the background.
  bool are_ready(const SplitDecision& d, std::span<const PlannedShare> shares,
                 const GemmCall& call);
  /// Same as device_failed() for any exception.
  void note_failure(DeviceTier& on, const Problem& p, const std::exception_ptr& failure);
  /// Runs these shares at the same time, and then those that have failed on other workers.
  /// `outcome` is what became of earlier shares. Throws the last failure when no worker is left;
  /// the other shares of C are then written.
  SplitOutcome run_shares(const SplitDecision& d, std::span<const PlannedShare> shares,
                          const GemmCall& call, const Guard& guard, SplitOutcome outcome);
  Tier answering_tier(const std::vector<SplitWorker>& answered) const;
  /// No value: the plan does not win, or its kernels are not compiled yet.
  std::optional<Outcome> run_split(const GemmCall& call, const Guard& guard, SplitCourse& course);
  Outcome run_predicted_split(const GemmCall& call, DecisionCache::Entry& entry,
                              DecisionCache& cache);
  std::optional<Outcome> run_guarded_split(const GemmCall& call, const Guard& guard);
  SplitExplanation explain_split(const GemmCall& call, const Guard& guard,
                                 const Residencies& where);

  /// Runs slices one after the other: on the device for as long as it goes on without a pause, the
  /// rest each by its own decision.
  Outcome run_slices(const Problem& whole, const std::vector<GemmCall>& slices, Reason reason,
                     DecisionCache& cache);
  Outcome run_slice(const GemmCall& slice, Reason reason, DecisionCache& cache);
  /// Fills in by which means the device computes the problem's class, which may not have been
  /// tuned, or a veto where there are none (context_untuned.cpp).
  void ask_means(Call& question) const;
  /// What is to be said of a problem that no means computes: whether a kernel may still be
  /// certified for it.
  std::string why_not_certified(const Problem& p) const;
  KernelChoice route_of(const Problem& p, const Residencies& where) const;
  /// On-demand kernels of the device. Null in a deterministic context, whose results must not
  /// depend on what has been certified meanwhile.
  std::shared_ptr<OnDemandKernels> kernels_on_demand(const DeviceProfile& profile);
  /// For calls that are forced to the device where nothing is tuned: from now on calls use the
  /// wanted device with kernels that are certified on demand. Returns why not, or "".
  std::string use_untuned_device();
  /// Explanation::forced_device for a problem that the model vetoes so.
  std::string_view forced_device(const Problem& p, Veto veto) const;
  /// Requests the certification of a kernel for a problem of an untuned class, if calls that the
  /// host answers now would then run on the device.
  void request_kernel(const Problem& p, const Choice& choice) const;
  /// Fills in how the device would compute a call that exceeds its buffers; false when it cannot.
  bool ask_for_parts(Call& question) const;
  /// Slices of a call that exceeds the device's buffers, each of which fits. Empty when the call
  /// fits or cannot be sliced.
  std::vector<GemmCall> slices_of(const GemmCall& call) const;
  /// Runs the first of these slices: as many as the device can compute back to back.
  DeviceTier::InTurn slices_in_turn(const std::vector<GemmCall>& parts, Reason reason);
  /// Revokes the kernel: this context does not choose it again, and no process does before it is
  /// certified anew.
  void revoke(const DeviceTier& on, const DeviceTier::SpotCheckFailed& failure);
  CachedDecision decide_new(const Problem& p, Devices devices = Devices::kOne);
  /// Tiers on which calls of the problem are measured, if any.
  /// split_ns: the predicted time of the split, infinity where there is none.
  TierTimes times_of(const Problem& p, const Choice& choice,
                     double split_ns = std::numeric_limits<double>::infinity()) const;
  /// Records that a call took `ns`.
  void measured(TierTimes& times, double ns, const Problem& p) const;
  /// The device's kernels for operands that reside there, best first.
  std::vector<RankedChoice> ranked(const Problem& p, const Residencies& where) const;
  std::string best_kernel(const Problem& p,
                          const Residencies& where = {}) const;  ///< "" when there is none.
  /// Kernel that runs while the best one is compiled; "" when there is none, or when calls wait for
  /// the best kernel.
  std::string quick_kernel(const Problem& p, double margin_ns) const;
  /// Logs the decision of a problem whose operands lie in host memory, with its kernels. Decisions
  /// are logged. about: as in DecisionLog::say.
  void say_decision(const Problem& p, const Decision& decision, std::string_view about = {}) const;
  /// What a call waits for, depending on whether the device was forced or chosen.
  DeviceTier::Wait wait_of(Reason reason) const {
    if (while_compiling == WhileCompiling::kWait) return DeviceTier::Wait::kBest;
    return reason == Reason::kForced ? DeviceTier::Wait::kFirst : DeviceTier::Wait::kNo;
  }
  /// Excludes the failed capability of the device from every later decision, and reports it on
  /// stderr.
  void device_failed(DeviceTier& on, const Problem& p, const Error& error);
  void run_on_host(const GemmCall& call, Tier host_tier) const;
  HostThreads most_threads() const {
    return deterministic == Deterministic::kYes ? HostThreads::kOne : HostThreads::kAll;
  }
  /// Stores the call so that gemm_again() recognises the next one, and measures it if times are
  /// open.
  void remember(const GemmCall& call, const HostRoute& route, const TierTimes& times,
                RepeatedCalls& calls) const;
  /// Counter of this problem's calls, or null when they are not counted. most_gain_ns is the
  /// largest gain over the host of a calibrated device whose kernel attains its roofline; infinity
  /// means that any tuning is welcome.
  std::atomic<std::int64_t>* untuned_counter(const Problem& p, double most_gain_ns) const;
};

}  // namespace rooftile
