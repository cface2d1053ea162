#include "runtime/tuned/recent_rankings.h"

#include "core/problem_slot.h"

namespace rooftile {

std::vector<RankedChoice> RecentRankings::ranked(const Problem& p, const Placement& placement,
                                                 const DeviceLimits& limits) {
  std::shared_ptr<const Entry>& place = entries_[slot_of(p, 0, kEntries)];
  std::unique_lock lock(mutex_);
  std::shared_ptr<const Entry> entry = place;
  lock.unlock();
  if (entry == nullptr || entry->problem != p || entry->placement != placement ||
      entry->limits != limits) {
    entry = std::make_shared<const Entry>(
        Entry{p, placement, limits, ranking_.ranked(p, placement, limits)});
    lock.lock();
    place = entry;
  }
  return entry->kernels;
}

}  // namespace rooftile
