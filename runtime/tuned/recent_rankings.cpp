#include "runtime/tuned/recent_rankings.h"

#include "core/problem_slot.h"

namespace rooftile {

template <typename Rank>
std::vector<RankedChoice> RecentRankings::answer(const Question& question, const Rank& rank) {
  std::shared_ptr<const Entry>& place =
      entries_[slot_of(question.problem, question.packed, kEntries)];
  std::unique_lock lock(mutex_);
  std::shared_ptr<const Entry> entry = place;
  lock.unlock();
  if (entry == nullptr || entry->question != question) {
    entry = std::make_shared<const Entry>(Entry{question, rank()});
    lock.lock();
    place = entry;
  }
  return entry->kernels;
}

std::vector<RankedChoice> RecentRankings::ranked(const Problem& p, const Placement& placement,
                                                 const DeviceLimits& limits) {
  return answer({.problem = p, .placement = placement, .limits = limits},
                [&] { return ranking_.ranked(p, placement, limits); });
}

std::vector<RankedChoice> RecentRankings::ranked(const Problem& p, const Placement& placement,
                                                 const DeviceLimits& limits,
                                                 const PackedOperand& packed, IsStored is_stored) {
  return answer(
      {.problem = p,
       .placement = placement,
       .limits = limits,
       .packed = packed.id,
       .is_stored = is_stored},
      [&] { return ranking_.ranked(p, placement, limits, prepacked(packed, p, is_stored)); });
}

}  // namespace rooftile
