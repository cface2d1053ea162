#include "tuner/search/candidate_queue.h"

#include <algorithm>

#include "tuner/search/strategy.h"

namespace rooftile {
namespace {

// Winners transfer well, but their number is limited, so that a database of many problems leaves
// time for the search. Early in a run they are the better of two kernels, so that priors, which won
// longer searches, alternate with them as long as the list is short.
constexpr std::size_t kMostWinners = 6, kMostFirst = 8;

bool contains(std::span<const std::size_t> list, std::size_t candidate) {
  return std::ranges::find(list, candidate) != list.end();
}

}  // namespace

std::vector<std::size_t> first_candidates(const FirstCandidates& first,
                                          std::span<const double> analytical_ns) {
  std::vector<std::size_t> order;
  const auto add = [&](std::size_t candidate) {
    if (!contains(order, candidate)) order.push_back(candidate);
  };
  add(first.untuned);
  for (const std::size_t candidate : first.known) add(candidate);
  for (const std::size_t candidate : first.families) add(candidate);
  const std::size_t winners = std::min(first.winners.size(), kMostWinners);
  for (std::size_t i = 0; i < std::max(winners, first.priors.size()); ++i) {
    if (i < first.priors.size() && order.size() < kMostFirst &&
        is_plausible(analytical_ns, first.priors[i]))
      add(first.priors[i]);
    if (i < winners && is_plausible(analytical_ns, first.winners[i])) add(first.winners[i]);
  }
  return order;
}

std::vector<std::size_t> CandidateQueue::take(std::size_t count, const Source& source) {
  std::vector<std::size_t> taken;
  while (taken.size() < count) {
    if (waiting_.empty()) waiting_ = source.propose(count - taken.size());
    if (waiting_.empty()) break;
    std::size_t looked_at = 0;
    for (; looked_at < waiting_.size() && taken.size() < count; ++looked_at) {
      const std::size_t candidate = waiting_[looked_at];
      if (!contains(taken, candidate) && source.wanted(candidate)) taken.push_back(candidate);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(looked_at));
  }
  std::ranges::stable_sort(taken, {}, source.work);
  return taken;
}

void CandidateQueue::put_back(std::span<const std::size_t> candidates) {
  waiting_.insert(waiting_.begin(), candidates.begin(), candidates.end());
}

}  // namespace rooftile
