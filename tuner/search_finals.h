// Comparison of a search's best candidates side by side.
#pragma once

#include <functional>

#include "tuner/measure/quiet_wait.h"
#include "tuner/search.h"

namespace rooftile {

/// Tries the candidates that were running when a tuner died (CandidateRunner::suspects).
void try_suspects(Search& search, const std::function<bool()>& over);

/// Compares the best few candidates and the default, interleaved, because the search's own samples
/// were taken minutes apart. They get the new samples, unless over() ended the comparison before
/// each of them had any. Waits while a candidate is slowed.
void run_finals(Search& search, Objective objective, QuietWait& wait,
                const std::function<bool()>& over);

}  // namespace rooftile
