// What a thread knows of its calls: the plan of each request, and how the last one was answered. It
// has no locks, and nothing that ends with the thread: exit handlers may still call.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "core/problem.h"
#include "core/problem_slot.h"
#include "runtime/call/call.h"
#include "runtime/call/packed_operand.h"
#include "runtime/call/plain_call.h"
#include "runtime/dispatch/plan.h"
#include "runtime/dispatch/repeated_calls.h"
#include "runtime/verify/precision_guard.h"

namespace rooftile {

/// Answer to the thread's last call. A call whose plan is cached copies no problem.
struct LastAnswer {
  std::uint64_t context = 0;  ///< 0: there was no call.
  /// Points to an entry's problem or to `copy`; null for a repeated plain call.
  const Problem* problem = nullptr;
  const PlainProduct* repeated = nullptr;  ///< Points into an entry of RepeatedCalls.
  Problem copy = {};
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;
  const Variant* kernel = nullptr;    ///< Kernel that the device ran; not set for a repeated call.
  Residencies where = {};             ///< Not set for a repeated call.
  Guard guard = {};                   ///< Not set for a repeated call.
  std::array<char, 200> shares = {};  ///< Text, cut off if need be. This type needs no destructor.

  /// cached: the call's problem where it does not move; null: p is copied.
  void set(std::uint64_t by, const Problem& p, const Problem* cached, const Guard& asked,
           const Outcome& outcome) {
    context = by;
    if (cached == nullptr) copy = p;
    problem = cached == nullptr ? &copy : cached;
    tier = outcome.tier;
    reason = outcome.reason;
    kernel = outcome.kernel;
    where = outcome.where;
    guard = asked;
    shares[outcome.shares.copy(shares.data(), shares.size() - 1)] = '\0';
  }
  /// Stores a pointer to p, which must not move.
  void set_repeated(std::uint64_t by, const PlainProduct& p, Tier answered, Reason why) {
    context = by;
    problem = nullptr;
    repeated = &p;
    tier = answered;
    reason = why;
  }
  Answer answer() const {
    return {.problem = problem != nullptr ? *problem : problem_of(*repeated),
            .tier = tier,
            .reason = reason,
            .kernel = problem != nullptr ? kernel : nullptr,
            .where = problem != nullptr ? where : Residencies{},
            .guard = problem != nullptr ? guard : Guard{},
            .shares = problem != nullptr ? shares.data() : ""};
  }
};

/// Direct-mapped cache. `generation` is that of a context's state (ContextState); plans of another
/// generation never match.
class PlanCache {
 public:
  struct Entry {
    Problem problem;
    std::uint64_t generation = 0;  ///< 0: the entry is empty.
    std::uint64_t packed = 0;      ///< PackedOperand::id; 0: the call has no packed operand.
    bool only_packed = false;      ///< The call gives no more of that operand.
    TierChoice tier = TierChoice::kAuto;
    Devices devices = Devices::kOne;
    Rounding permitted = Rounding::kNone;  ///< By the guard: such calls have their own counter.
    Plan plan = {};
  };

  static PlanCache& of_this_thread();

  /// Whether plans of such requests are kept. Guards' plans depend on the results of checks, but
  /// those of float64 sums do not; grouped calls hardly ever repeat their groups; forced tiers need
  /// no prediction, but whether a packed operand can be used is asked once.
  static bool keeps(const Request& r) {
    return !r.asks_for_checks() && r.grouped == nullptr &&
           (!r.is_forced() || r.call->packed != nullptr);
  }
  /// Returns nullptr when the plan is not in the cache.
  Entry* find(const Request& r, std::uint64_t generation) {
    Entry& entry = place(r, generation);
    const bool same = entry.generation == generation && entry.packed == packed_id(r) &&
                      entry.only_packed == gives_only_packed(*r.call) && entry.tier == r.tier &&
                      entry.devices == r.devices &&
                      entry.permitted == permitted_rounding(r.guard) &&
                      entry.problem == r.problem();
    return same ? &entry : nullptr;
  }
  Entry* store(const Request& r, std::uint64_t generation, const Plan& plan) {
    Entry& entry = place(r, generation);
    entry = {r.problem(),
             generation,
             packed_id(r),
             gives_only_packed(*r.call),
             r.tier,
             r.devices,
             permitted_rounding(r.guard),
             plan};
    return &entry;
  }

  LastAnswer last;
  RepeatedCalls repeated;

 private:
  static std::uint64_t packed_id(const Request& r) {
    return r.call->packed != nullptr ? r.call->packed->id : 0;
  }
  Entry& place(const Request& r, std::uint64_t generation) {
    // Contexts and splits of one problem have places of their own, by the low bits.
    const std::uint64_t kind =
        2 * (generation + packed_id(r)) + (r.devices == Devices::kAll ? 1 : 0);
    return entries_[slot_of(r.problem(), kind, kEntries)];
  }

  static constexpr std::size_t kEntries = 128;
  std::array<Entry, kEntries> entries_ = {};
};
static_assert(std::is_trivially_destructible_v<PlanCache>);

}  // namespace rooftile
