// The problems of a run, whose steps take turns.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tuner/problem_tuner_context.h"

namespace rooftile {

struct TuneProblemsOptions {
  std::function<double()> left_s;  ///< Time that is left for all problems.
  /// Called with each result, as soon as it is complete.
  std::function<void(const TuneResult&)> finished;
};

/// Tunes the problems, breadth first (tuner/schedule.h), until the run is over or each is finished.
/// What was begun is stored in any case. Problems that were never begun have no result.
void tune_problems(const ProblemTunerContext& context, RowId device_row,
                   std::span<const TuneProblem> problems, const TuneProblemsOptions& options);

}  // namespace rooftile
