#include "runtime/tuned/recent_rankings.h"

#include "core/problem_slot.h"

namespace rooftile {

std::vector<RankedChoice> RecentRankings::ranked(const Problem& p, const Placement& placement,
                                                 const DeviceLimits& limits,
                                                 const PackedOperand* packed, IsStored is_stored) {
  const Question question = {.problem = p,
                             .placement = placement,
                             .limits = limits,
                             .packed = packed ? packed->id : 0,
                             .is_stored = packed ? is_stored : IsStored::kNo};
  std::shared_ptr<const Entry>& place = entries_[slot_of(p, question.packed, kEntries)];
  std::unique_lock lock(mutex_);
  std::shared_ptr<const Entry> entry = place;
  lock.unlock();
  if (entry == nullptr || entry->question != question) {
    entry = std::make_shared<const Entry>(
        Entry{question, ranking_.ranked(p, placement, limits, prepacked(packed, p, is_stored))});
    lock.lock();
    place = entry;
  }
  return entry->kernels;
}

}  // namespace rooftile
