// A problem's kernels in the ranked list of its bucket.
#pragma once

#include <iterator>
#include <span>
#include <vector>

#include "db/store.h"

namespace rooftile {

/// Replaces the problem's entries by these, best first (ranks and problems are filled in). The
/// bucket's other problems keep their order behind them.
void store_ranked(Store& store, RowId device, const Problem& problem,
                  std::span<const WinnerRecord> best_first);

/// Leaves of a list what is certified anew: its best three kernels, and the last two, which a list
/// has in order to have a kernel for every size.
template <typename Kernel>
void keep_ends(std::vector<Kernel>& best_first) {
  constexpr std::ptrdiff_t kBest = 3, kLast = 2;
  if (std::ssize(best_first) > kBest + kLast)
    best_first.erase(best_first.begin() + kBest, best_first.end() - kLast);
}

}  // namespace rooftile
