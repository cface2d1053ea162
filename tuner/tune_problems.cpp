#include "tuner/tune_problems.h"

#include <memory>
#include <utility>

#include "tuner/problem_tuner.h"

namespace rooftile {
namespace {

// Steps whose kernels are compiled beside the measurements: that one, and those that would be next
// if it brought nothing. On an H200 compiling a batch took ten times as long as measuring it.
constexpr int kStepsAhead = 3;

}  // namespace

void tune_problems(const ProblemTunerContext& context, RowId device_row,
                   std::span<const TuneProblem> problems, const TuneProblemsOptions& options) {
  struct Tuned {
    std::unique_ptr<ProblemTuner> tuner;
    bool begun = false, told = false;
  };
  StepCosts costs;
  std::vector<Tuned> all;
  for (const TuneProblem& problem : problems)
    all.push_back({std::make_unique<ProblemTuner>(context, costs, device_row, problem)});
  const auto tell = [&](Tuned& one) {
    one.told = true;
    options.finished(one.tuner->result());
  };
  const double total_s = options.left_s();
  while (!context.over()) {
    std::vector<StepOffer> offers;
    for (const Tuned& one : all) offers.push_back(one.tuner->offer());
    const auto step = next_step(offers, options.left_s(), total_s);
    if (!step) break;
    Tuned& one = all[step->problem];
    one.begun = true;
    if (context.runner.compiles_beside())
      for (auto [next, ahead] = std::pair(step, 0); next && ahead < kStepsAhead; ++ahead) {
        all[next->problem].tuner->compile_ahead(*next);
        offers[next->problem].stage = TuneStage::kDone;
        next = next_step(offers, options.left_s(), total_s);
      }
    one.tuner->take(*step);
    if (!one.told && one.tuner->offer().stage == TuneStage::kDone) tell(one);
  }
  for (Tuned& one : all) {
    if (!one.begun || one.told) continue;
    one.tuner->end();
    tell(one);
  }
}

}  // namespace rooftile
