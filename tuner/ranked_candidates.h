// The ranked list of a search's candidates, as it is stored.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tuner/search.h"

namespace rooftile {

struct RankedCandidatesOptions {
  std::size_t most = 3;    ///< Kernels besides those below.
  Variant default_kernel;  ///< The problem's default kernel.
  /// Also the best kernel for an operand that is packed before, the default, and the fallback.
  bool others = true;
};

/// Returns certified candidates, best first; then the others of the options that are not among
/// them, as far as they were measured. certified() certifies a kernel if necessary.
std::vector<const Candidate*> ranked_candidates(
    const Search& search, const RankedCandidatesOptions& options,
    const std::function<bool(const Variant&)>& certified);

/// Returns the entries of a ranked list, with the times that a caller sees now.
std::vector<WinnerRecord> winner_records(const Search& search,
                                         const std::vector<const Candidate*>& list);

}  // namespace rooftile
