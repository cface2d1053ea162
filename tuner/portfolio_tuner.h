// After the search: its winners are measured on each other's problems and on scattered ones, so
// that the runtime can choose among them for problems that nobody tuned.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuner/problem_tuner.h"

namespace rooftile {

/// Spends up to the seconds on the classes of the tuned problems, each its share, by the root of
/// the number of its problems, and stores their portfolios. What is known from earlier runs is not
/// measured again. The regret of all of them, each problem left out in turn.
Regret tune_portfolios(const ProblemTunerContext& context, RowId device_row,
                       std::span<const Problem> tuned, double seconds);

}  // namespace rooftile
