// Per-thread cache of decisions, so that a repeated call costs a lookup and the last call can be
// explained. It has no locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "core/problem.h"
#include "core/problem_slot.h"
#include "runtime/call/call.h"
#include "runtime/call/plain_call.h"
#include "runtime/dispatch/repeated_calls.h"
#include "runtime/dispatch/tier_times.h"

namespace rooftile {

struct CachedDecision {
  Tier tier = Tier::kHost;
  Tier host = Tier::kHost;      ///< The better host tier; it answers where the device cannot.
  Tier unsplit = Tier::kHost;   ///< Of calls that are not split; `tier`, unless that is kSplit.
  double device_margin_ns = 0;  ///< Predicted advantage of the device.
  TierTimes times = {};         ///< Times of the tiers on which calls are measured.
  /// Counter in the owner's log; null: calls are not counted.
  std::atomic<std::int64_t>* untuned_calls = nullptr;
  bool reads_packed = true;  ///< Some kernel can compute the call with its packed operand.
};

/// How a call was answered.
struct Outcome {
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;
  const Variant* kernel = nullptr;  ///< The kernel that the device ran; null where it ran none.
  /// The call's problem in the decision cache, which outlives the call; null: it is not there.
  const Problem* cached = nullptr;
  std::string shares = {};  ///< Who computed how much, of a call that was split.
};

/// Answer to the thread's last call. A call that is decided from the cache copies no problem.
struct LastAnswer {
  std::uint64_t context = 0;  ///< 0: there was no call.
  /// Points to an entry's problem or to `copy`; null for a repeated plain call.
  const Problem* problem = nullptr;
  const PlainProduct* repeated = nullptr;  ///< Points into an entry of RepeatedCalls.
  Problem copy = {};
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;
  const Variant* kernel = nullptr;    ///< Kernel that the device ran; not set for a repeated call.
  Residencies where = {};             ///< Set for a decided call.
  std::array<char, 200> shares = {};  ///< Text, cut off if need be. This type needs no destructor.

  /// Stores a pointer to p, which must not move.
  void set_decided(std::uint64_t by, const Problem& p, Tier answered, Reason why,
                   const Variant* ran = nullptr, const Residencies& lay = {}) {
    context = by;
    problem = &p;
    shares[0] = '\0';
    tier = answered;
    reason = why;
    kernel = ran;
    where = lay;
  }
  void set(std::uint64_t by, const Problem& p, Tier answered, Reason why,
           const Variant* ran = nullptr, const Residencies& lay = {}) {
    copy = p;
    set_decided(by, copy, answered, why, ran, lay);
  }
  /// p: the call's problem, which is copied unless it is in the cache.
  void set(std::uint64_t by, const Problem& p, const Outcome& outcome) {
    if (outcome.cached != nullptr)
      set_decided(by, *outcome.cached, outcome.tier, outcome.reason, outcome.kernel);
    else
      set(by, p, outcome.tier, outcome.reason, outcome.kernel);
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
            .shares = problem != nullptr ? shares.data() : ""};
  }
};

/// Direct-mapped cache. `owner` is the generation of a context's state; entries of another
/// generation never match.
class DecisionCache {
 public:
  struct Entry {
    Problem problem;
    std::uint64_t owner = 0;   ///< 0: the entry is empty.
    std::uint64_t packed = 0;  ///< PackedOperand::id; 0: the call has no packed operand.
    CachedDecision decision = {};
  };

  /// In the place of PackedOperand::id for calls that may be split. They have no packed operand.
  static constexpr std::uint64_t kMayBeSplit = ~std::uint64_t{0};

  static DecisionCache& of_this_thread();

  /// Returns nullptr when the problem is not in the cache. packed: PackedOperand::id of the call's
  /// packed operand, 0 when it has none.
  Entry* find(const Problem& p, std::uint64_t owner, std::uint64_t packed = 0) {
    Entry& entry = entries_[slot_of(p, packed, kEntries)];
    return entry.owner == owner && entry.packed == packed && entry.problem == p ? &entry : nullptr;
  }
  Entry* store(const Problem& p, std::uint64_t owner, const CachedDecision& decision,
               std::uint64_t packed = 0) {
    Entry& entry = entries_[slot_of(p, packed, kEntries)];
    entry = {p, owner, packed, decision};
    return &entry;
  }

  LastAnswer last;
  RepeatedCalls repeated;

 private:
  static constexpr std::size_t kEntries = 128;
  std::array<Entry, kEntries> entries_ = {};
};

}  // namespace rooftile
