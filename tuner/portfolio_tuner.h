// Measurement of the search's winners on each other's problems and on scattered ones, so that the
// runtime can choose among them for untuned problems.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/model/portfolio.h"
#include "tuner/problem_tuner_context.h"

namespace rooftile {

/// Whether a tuned problem's search tried kLeastForRegret candidates (tuner/tune_options.h).
using SearchedEnough = std::function<bool(const Problem&)>;

/// Spends up to `seconds` on the classes of the tuned problems, in proportion to the square root of
/// the number of their problems, and stores their portfolios. Times known from earlier runs are not
/// measured again. Returns the regret of all portfolios, by leaving out each problem in turn. A
/// class's regret is neither returned nor stored if half of its tuned problems or more were not
/// searched enough.
Regret tune_portfolios(const ProblemTunerContext& context, RowId device_row,
                       std::span<const Problem> tuned, double seconds,
                       const SearchedEnough& searched_enough);

}  // namespace rooftile
