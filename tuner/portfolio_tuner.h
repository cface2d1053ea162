// Measurement of the search's winners on each other's problems and on scattered ones, so that the
// runtime can choose among them for untuned problems.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/model/portfolio.h"
#include "tuner/problem_tuner_context.h"

namespace rooftile {

/// Spends up to `seconds` on the classes of the tuned problems, in proportion to the square root of
/// the number of their problems, and stores their portfolios. Times known from earlier runs are not
/// measured again. Returns the regret of all portfolios, by leaving out each problem in turn.
Regret tune_portfolios(const ProblemTunerContext& context, RowId device_row,
                       std::span<const Problem> tuned, double seconds);

}  // namespace rooftile
