// The state behind Context. Private to context.cpp and context_guard.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/decision_cache.h"
#include "runtime/decision_log.h"
#include "runtime/device_tier.h"
#include "runtime/host_blas.h"
#include "runtime/precision_guard.h"
#include "runtime/repeated_calls.h"
#include "runtime/resident_source.h"
#include "runtime/tuned_data.h"
#include "runtime/untuned_log.h"

namespace rooftile {

/// A number that no context, and no state of one, has had.
std::uint64_t next_owner();

inline bool all_resident(const Residencies& where) {
  return where.a != Residency::kHost && where.b != Residency::kHost &&
         where.c == Residency::kDevice;
}

/// Of A and B at most one is.
inline std::optional<Operand> packed_operand(const Residencies& where) {
  if (where.a == Residency::kPacked) return Operand::kA;
  if (where.b == Residency::kPacked) return Operand::kB;
  return std::nullopt;
}

/// A packed operand neither moves nor is packed again; the rest lies in host memory.
Residencies residencies_of(const GemmCall& call);

inline Tier best_host(const Decision& d) { return faster_host(d.host_ns, d.host1_ns); }
inline double device_margin_ns(const Decision& d) { return d.best_host_ns - d.device_ns; }

struct Context::Impl {
  const HostBlas* blas = nullptr;  // once it is constructed
  TierChoice tier = TierChoice::kAuto;
  Deterministic deterministic = Deterministic::kNo;
  WhileCompiling while_compiling = WhileCompiling::kHostAnswers;
  MeasureCalls measure_calls = MeasureCalls::kYes;
  std::unique_ptr<DecisionLog> log;  // null: decisions are not logged
  TunedData data;
  std::unique_ptr<DeviceTier> device;   // null: nothing tuned
  std::unique_ptr<UntunedLog> untuned;  // null: off, or nowhere to write
  std::atomic<bool> counts = true;      // no longer after stop_counting()
  std::unique_ptr<ResidentSource> resident;
  std::mutex packing_mutex;
  std::shared_ptr<Resident> packing;  // on a context of the program's own device, when needed
  const std::uint64_t id = next_owner();
  Precision precision = Precision::kStandard;
  // Spot checks, and how many of them sent the call to the host: P(rerun).
  std::atomic<std::uint64_t> checks = 0, reruns = 0;
  // Changes when the device can do less than it could: decisions made before are void.
  std::atomic<std::uint64_t> owner = next_owner();

  Decision decide(const Problem& p, const Residencies& where, const Guard& guard = {}) const;
  /// The same for a call, of which an operand may be packed.
  Decision decide(const GemmCall& call, const Guard& guard) const;
  /// Why the device cannot compute this call with the operand as it was packed; "" when it can.
  std::string cannot_use(const PackedOperand& packed, const GemmCall& call) const;
  /// On the device, or on the host where that fails and plain has the operand itself.
  void run_packed(const GemmCall& call, const GemmCall& plain, bool has_plain,
                  const Decision& decision, LastAnswer& last);
  /// Moves and packs operands on the device of calls on host memory.
  std::shared_ptr<Resident> packing_resident();
  Call question(const Problem& p, const Residencies& where, const Guard& guard) const;
  /// What the model cannot know of the device: a veto, parts, a kernel's reach.
  void ask_device(Call& question) const;
  /// What the call's guard asks for, the context's precision where it does not say.
  Guard guard_of(const GemmCall& call) const;
  /// Whether the call permits sums in half precision, and its precision does not.
  bool forbids_half_sums(const GemmCall& call) const {
    return call.problem.types.f16_sums && precision_of(guard_of(call)) == Precision::kHigh;
  }
  static GemmCall without_half_sums(const GemmCall& call);
  /// The tier that answers where a host tier was chosen or forced: HOST64 where the guard asks for
  /// more than unchecked float32 sums.
  static Tier precise_host(Tier host, const Guard& guard);
  /// A call that is forced to a host tier. The tier says where and with how many threads, the guard
  /// with which sums.
  Tier run_on_forced_host(const GemmCall& call, Tier wanted);
  /// On the device with scan and check as the guard has them, or throws why not. Else as
  /// DeviceTier::gemm.
  DeviceTier::Ran run_guarded(const GemmCall& call, const Guard& guard, DeviceTier::Wait wait,
                              double margin_ns);
  /// Throws kUnsupported: the device is forced, and the guard needs float64 sums.
  [[noreturn]] static void refuse_device(const Guard& guard);
  /// Whether parts of a call that does not fit the device's buffers add up along k: each of them
  /// rounds C, which no guard takes into account.
  static bool rounds_between(const std::vector<GemmCall>& parts, const GemmCall& call);
  /// forced: to the device; then the guard does not need float64.
  void gemm_with_guard(const GemmCall& call, const Guard& guard, bool forced, LastAnswer& last);
  /// By which means it computes the problem's class, which may not have been tuned; a veto where by
  /// none (context_untuned.cpp).
  void ask_means(Call& question) const;
  DeviceTier::Route route_of(const Problem& p, const Residencies& where) const;
  /// Of the tuned device; null in a deterministic context, whose results must not depend on what
  /// has been certified meanwhile.
  std::shared_ptr<OnDemandKernels> kernels_on_demand(const std::filesystem::path& cache_folder);
  /// Has a kernel certified for a problem of a class that was not tuned, if calls would go to the
  /// device with one that the host answers now.
  void request_kernel(const Problem& p, const Choice& choice) const;
  /// How the device would do what does not fit its buffers; false when it cannot.
  bool ask_for_parts(Call& question) const;
  /// Parts that fit the device, of a call that does not; empty when it does, or cannot be cut.
  std::vector<GemmCall> panels_of(const GemmCall& call) const;
  /// The first of these parts, as many as the device does one after the other without a pause.
  DeviceTier::InTurn parts_in_turn(const std::vector<GemmCall>& parts, Reason reason);
  /// No process uses the kernel any more before it is certified anew.
  void revoke(const DeviceTier::SpotCheckFailed& failure) const;
  CachedDecision decide_new(const Problem& p);
  /// Which tiers its calls are measured on, if they are.
  TierTimes times_of(const Problem& p, const Choice& choice) const;
  /// A call where times say took this long.
  void measured(TierTimes& times, double ns, const Problem& p) const;
  /// The device's kernels for operands that lie there, best first.
  std::vector<RankedChoice> ranked(const Problem& p, const Residencies& where) const;
  std::string best_kernel(const Problem& p,
                          const Residencies& where = {}) const;  // "" when there is none
  /// That runs while the best one is compiled; "" when there is none, or calls wait for the best.
  std::string quick_kernel(const Problem& p, double margin_ns) const;
  /// What calls wait for that are forced to the device, or go there of their own accord.
  DeviceTier::Wait wait_of(Reason reason) const {
    if (while_compiling == WhileCompiling::kWait) return DeviceTier::Wait::kBest;
    return reason == Reason::kForced ? DeviceTier::Wait::kFirst : DeviceTier::Wait::kNo;
  }
  /// What the device cannot do any more is out of every later decision, and said on stderr.
  void device_failed(const Problem& p, const Error& error);
  void run_on_host(const GemmCall& call, Tier host_tier) const;
  HostThreads most_threads() const {
    return deterministic == Deterministic::kYes ? HostThreads::kOne : HostThreads::kAll;
  }
  /// So that gemm_again() knows the next one, and measures it if times are open.
  void remember(const GemmCall& call, const HostRoute& route, const TierTimes& times,
                RepeatedCalls& calls) const;
  /// Where this problem's calls are counted; null when they are not. most_gain_ns: of a calibrated
  /// device over the host, by a kernel that attains its roofline; infinity: any tuning is welcome.
  std::atomic<std::int64_t>* untuned_counter(const Problem& p, double most_gain_ns) const;
};

}  // namespace rooftile
