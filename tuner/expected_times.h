// Expected durations of a problem's next steps, from its measurements and from what the run's steps
// took so far.
#pragma once

#include <vector>

#include "tuner/search.h"
#include "tuner/step_costs.h"

namespace rooftile {

/// compiler_work() of a kernel for the problem.
double work_of(const Search& search, const Variant& variant);
/// Of measuring these candidates together once: compilation, operands and samples.
double batch_s(const Search& search, const StepCosts& costs, const std::vector<std::size_t>& batch);
/// Of the finals, of the certificate of the best candidate, and of the paired comparisons.
double finals_s(const Search& search, const StepCosts& costs);
/// Of the rest of a kernel's compilation: 0 where it was measured or compiled ahead.
double compile_left_s(const Search& search, const StepCosts& costs, const Variant& variant);
/// Of a kernel's certificate, with its compilation if that is not done yet; 0: there is a
/// verdict.
double certificate_s(const Search& search, const StepCosts& costs, const Variant& variant);

}  // namespace rooftile
