// A problem that is tuned alone.
#pragma once

#include "core/clock.h"
#include "tuner/tune_problems.h"

namespace rooftile {

/// The result of tuning it within `seconds`; an empty one where it was never begun. Where the context
/// does not say, the run is not over, no time has passed, and nobody sees the progress.
inline TuneResult tune_alone(ProblemTunerContext context, RowId device, const Problem& problem,
                             double seconds) {
  if (!context.over) context.over = [] { return false; };
  if (!context.elapsed_s) context.elapsed_s = [] { return 0.0; };
  if (!context.progress) context.progress = [](const TuneProgress&) {};
  TuneResult result;
  const TuneProblem wanted{.problem = problem};
  const double end_s = now_s() + seconds;
  tune_problems(context, device, {&wanted, 1},
                {.left_s = [end_s] { return end_s - now_s(); },
                 .finished = [&](const TuneResult& finished) { result = finished; }});
  return result;
}

}  // namespace rooftile
