// A problem's kernels in the ranked list of its bucket.
#pragma once

#include <span>

#include "db/store.h"

namespace rooftile {

/// Replaces the problem's entries by these, best first (ranks and problems are filled in). The
/// bucket's other problems keep their order behind them.
void store_ranked(Store& store, RowId device, const Problem& problem,
                  std::span<const WinnerRecord> best_first);

}  // namespace rooftile
