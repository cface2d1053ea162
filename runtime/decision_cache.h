// Where a thread's recent calls went, so that the same call again costs a lookup, and its last one
// can be asked about. No locks: one cache a thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "core/problem.h"
#include "runtime/context.h"
#include "runtime/plain_call.h"
#include "runtime/repeated_calls.h"
#include "runtime/tier_times.h"

namespace rooftile {

struct CachedDecision {
  Tier tier = Tier::kHost;
  Tier host = Tier::kHost;      // the better host tier: answers where the device cannot
  double device_margin_ns = 0;  // by how much the device is predicted to win
  TierTimes times = {};         // where calls are measured
  std::atomic<std::int64_t>* untuned_calls = nullptr;  // of the owner's log; null: not counted
};

/// Of the thread's last call: a call that is decided costs no copy of its problem.
struct LastAnswer {
  std::uint64_t context = 0;               // 0: none
  const Problem* problem = nullptr;        // an entry's, or copy; null: plain
  const PlainProduct* repeated = nullptr;  // an entry's
  Problem copy = {};
  Tier tier = Tier::kHost;
  Reason reason = Reason::kPredicted;
  const Variant* kernel = nullptr;  // that the device ran; not of a repeated call
  Residencies where = {};           // of a decided call

  /// p stays where it is.
  void set_decided(std::uint64_t by, const Problem& p, Tier answered, Reason why,
                   const Variant* ran = nullptr) {
    context = by;
    problem = &p;
    tier = answered;
    reason = why;
    kernel = ran;
    where = {};
  }
  void set(std::uint64_t by, const Problem& p, Tier answered, Reason why,
           const Variant* ran = nullptr, const Residencies& lay = {}) {
    copy = p;
    set_decided(by, copy, answered, why, ran);
    where = lay;
  }
  /// p stays where it is.
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
            .where = problem != nullptr ? where : Residencies{}};
  }
};

/// Direct-mapped. owner tells contexts (and their states) apart: entries of another owner never
/// match.
class DecisionCache {
 public:
  struct Entry {
    Problem problem;
    std::uint64_t owner = 0;  // 0: empty
    CachedDecision decision = {};
  };

  static DecisionCache& of_this_thread();

  /// nullptr when this problem is not there.
  Entry* find(const Problem& p, std::uint64_t owner) {
    Entry& entry = entries_[slot(p)];
    return entry.owner == owner && entry.problem == p ? &entry : nullptr;
  }
  Entry* store(const Problem& p, std::uint64_t owner, const CachedDecision& decision) {
    Entry& entry = entries_[slot(p)];
    entry = {p, owner, decision};
    return &entry;
  }

  LastAnswer last;
  RepeatedCalls repeated;

 private:
  static constexpr std::size_t kEntries = 128;

  static std::size_t slot(const Problem& p) {
    std::uint64_t h = static_cast<std::uint64_t>(p.m);
    for (const std::int64_t x : {p.n, p.k, p.lda, p.ldb, p.ldc, p.batch})
      h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>((h ^ (h >> 32)) % kEntries);
  }
  std::array<Entry, kEntries> entries_ = {};
};

}  // namespace rooftile
