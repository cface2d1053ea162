#include "tuner/tune_problems.h"

#include <memory>

#include "tuner/problem_tuner.h"

namespace rooftile {

void tune_problems(const ProblemTunerContext& context, RowId device_row,
                   std::span<const TuneProblem> problems, const TuneProblemsOptions& options) {
  struct Tuned {
    std::unique_ptr<ProblemTuner> tuner;
    bool begun = false, told = false;
  };
  StepCosts costs = context.runner.compiles_beside() ? StepCosts::of_gpu() : StepCosts();
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
    // Beside the measurements the kernels of the steps are compiled that would be next if this one
    // brought nothing: on an H200 compiling a batch took ten times as long as measuring it.
    if (context.runner.compiles_beside()) {
      one.tuner->compile_ahead(*step, Wanted::kNow);
      std::vector<StepOffer> others = offers;
      for (auto next = step; !context.runner.compilers_are_full();) {
        others[next->problem].stage = TuneStage::kDone;
        next = next_step(others, options.left_s(), total_s);
        if (!next) break;
        all[next->problem].tuner->compile_ahead(*next, Wanted::kLater);
      }
      // Another step may be ready before this one. It waits only where none is.
      const bool waited = offers[step->problem].waits;
      if (step->stage != TuneStage::kFinish && one.tuner->offer().waits) {
        if (waited) context.runner.await_a_compiler();
        continue;
      }
    }
    one.begun = true;
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
