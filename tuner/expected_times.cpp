#include "tuner/expected_times.h"

#include <algorithm>

#include "generator/compiler_work.h"
#include "generator/version.h"
#include "tuner/host_comparison.h"
#include "tuner/measure/paired_comparison.h"
#include "tuner/worker/measure.h"

namespace rooftile {

double work_of(const Search& search, const Variant& variant) {
  return compiler_work(variant, search.signature());
}

double batch_s(const Search& search, const StepCosts& costs,
               const std::vector<std::size_t>& batch) {
  constexpr double kMostRatio = 4;  // Slower candidates are dropped after few samples.
  const std::vector<const Candidate*> order = search.preferred();
  const double model_ns = search.analytical_ns()[search.model_choice()];
  const bool long_product = !order.empty() && order.front()->total_ns() > kLongProductNs;
  const int untimed = long_product ? 0 : 1;
  const int calls = 1 + search.search_rounds() * (untimed + search.round_samples(kSearchSamples));
  CandidateRunner& runner = search.context().runner;
  double seconds = runner.preparation_s(search.problem()), longest_s = 0;
  for (const std::size_t index : batch) {
    const Candidate& candidate = search.candidates()[index];
    if (!candidate.tried_now) {
      const double compile_s = costs.compile_s(work_of(search, candidate.variant));
      // Beside a GPU others are measured until then, if they are compiled.
      if (!runner.compiles_beside())
        seconds += compile_s;
      else if (runner.compilation(candidate.variant, search.signature()) !=
               CompileAhead::State::kCompiled)
        longest_s = std::max(longest_s, compile_s);
    }
    const double predicted_ns = search.analytical_ns()[index];
    const double ns = order.empty() ? predicted_ns
                                    : order.front()->total_ns() *
                                          std::clamp(predicted_ns / model_ns, 1.0, kMostRatio);
    seconds += calls * ns * 1e-9;
  }
  return seconds + longest_s;
}

// Most finalists are dropped before the last round. A paired comparison takes some more pairs than
// its first decision, and each request to the worker some time besides the kernel's runs, of which
// long products need no untimed one.
double finals_s(const Search& search, const StepCosts& costs) {
  constexpr double kRounds = 8, kPairs = 2.0 * kFewestPairs, kOtherCallsS = 0.2;
  const std::vector<const Candidate*> order = search.preferred();
  if (order.empty()) return kOtherCallsS;
  const Candidate& best = *order.front();
  const bool long_product = best.total_ns() > kLongProductNs;
  const double samples = (long_product ? 0 : 1) + search.round_samples(kFinalSamples);
  const double arms =
      static_cast<double>(std::min(search.tried(), kFinalists + kWinnersElsewhere + 2));
  const double requests = arms * kRounds + 2 * kPairs, calls = samples * requests + kMostHostRounds;
  return calls * best.total_ns() * 1e-9 + requests * costs.request_s() +
         certificate_s(search, costs, best.variant) + kOtherCallsS +
         search.context().runner.preparation_s(search.problem());
}

double compile_left_s(const Search& search, const StepCosts& costs, const Variant& variant) {
  const Candidate* candidate = search.find(variant);
  const bool compiled = (candidate != nullptr && candidate->tried_now) ||
                        search.context().runner.compilation(variant, search.signature()) ==
                            CompileAhead::State::kCompiled;
  return compiled ? 0 : costs.compile_s(work_of(search, variant));
}

double certificate_s(const Search& search, const StepCosts& costs, const Variant& variant) {
  const ProblemTunerContext& context = search.context();
  const RowId id = context.runner.id(variant, search.signature());
  const bool known =
      context.store.certificate(search.device_row(), id, kGeneratorVersion).has_value();
  if (known) return 0;
  return costs.certificate_s() + compile_left_s(search, costs, variant);
}

}  // namespace rooftile
