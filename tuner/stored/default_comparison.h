// Comparison of a problem's best kernel with its default kernel. Kernels of one search are not
// ranked by chance: a winner replaces the default only if it is faster when both are timed in
// turns.
#pragma once

#include <optional>
#include <vector>

#include "db/store.h"
#include "tuner/stored/kernel_comparison.h"

namespace rooftile {

struct Standing {
  OutcomeVerdict verdict = OutcomeVerdict::kOpen;
  std::optional<double> confidence;  ///< As in OutcomeRecord.
};

/// Compares the first kernel of the list, best first and not empty, with the default kernel, where
/// the list holds it behind others. The default becomes the first unless the other one is faster in
/// a paired comparison (tuner/measure/paired_comparison.h). Both get the median times of the
/// comparison. When over() ends it early, the order stays, unless the default was faster in most of
/// the pairs. Kernels that fail are removed. default_candidate: empty where the default may not
/// run, so that the first kernel stays without a comparison.
Standing compare_with_default(const Store& store, CandidateRunner& runner, const Problem& problem,
                              std::optional<RowId> default_candidate,
                              std::vector<WinnerRecord>& list, const PairOptions& options);

}  // namespace rooftile
