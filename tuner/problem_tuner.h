// Search, finals and certification for one problem.
#pragma once

#include "tuner/problem_tuner_context.h"

namespace rooftile {

/// Spends up to slice_s on one problem and stores its ranked list. Then, while the run is not over,
/// spends up to a tenth of slice_s on comparing the winner with the host's BLAS.
TuneResult tune_problem(const ProblemTunerContext& context, RowId device_row,
                        const Problem& problem, double slice_s);

}  // namespace rooftile
