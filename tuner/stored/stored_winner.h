// Protection of a stored winner: the best kernel of an earlier run is replaced only by one that is
// faster when both are timed in turns. Times of different minutes do not replace it.
#pragma once

#include <optional>
#include <vector>

#include "db/store.h"
#include "tuner/stored/kernel_comparison.h"

namespace rooftile {

/// The first kernel of the problem's ranked list. Nothing when there is no list, or that kernel may
/// not be used: its shader would be generated differently now, this version of the generator has
/// not certified it on this device and driver, or it is blocked. A kernel that was running when a
/// tuner died, and is not blocked, is still the winner.
std::optional<TunedKernel> stored_winner(const Store& store, CandidateRunner& runner, RowId device,
                                         const Problem& problem);

/// Moves the stored winner to the front of the list, best first and not empty, unless the first
/// kernel there is faster in a paired comparison (tuner/measure/paired_comparison.h) or the stored
/// one fails in it. Both get the median times of the comparison. When over() ends the comparison
/// early, or the list does not have the stored winner and it cannot be timed any more, it stays
/// with its stored times. Kernels that fail are removed.
void keep_stored_winner(const Store& store, CandidateRunner& runner, const TunedKernel& stored,
                        std::vector<WinnerRecord>& list, const PairOptions& options);

}  // namespace rooftile
