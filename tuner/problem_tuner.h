// First candidates, search, finals and certificates of one problem, step by step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tuner/problem_tuner_context.h"
#include "tuner/schedule.h"
#include "tuner/search_course.h"
#include "tuner/step_costs.h"
#include "tuner/stored/default_comparison.h"

namespace rooftile {

/// Tunes one problem in the steps that next_step() (tuner/schedule.h) chooses. The objects that it
/// is given must outlive it. Every step stops its measurements when the run is over.
class ProblemTuner {
 public:
  ProblemTuner(const ProblemTunerContext& context, StepCosts& costs, RowId device_row,
               const TuneProblem& wanted);

  /// The next step, with what is expected of it.
  StepOffer offer();
  /// Begins to compile what this step of its own offer will measure, where that pays
  /// (CandidateRunner::compile_ahead) and the step has time for it.
  void compile_ahead(const TuneStep& step, Wanted wanted);
  /// Takes this step of its own offer.
  void take(const TuneStep& step);
  /// Stores what is certified if the run ended before kFinish.
  void end();
  /// Complete after kFinish or end().
  const TuneResult& result() const { return result_; }

 private:
  using Over = std::function<bool()>;
  /// True when the run is over or this time has come.
  Over until(double end_s) const;
  bool undecided() const;  ///< An earlier run stored a winner without a verdict.
  bool settled() const;    ///< The stored winner is certain, and nothing was measured since.
  /// Whether the stored winner stays unless another kernel is faster beside it: it is certain, or
  /// it was running when a tuner died, and may not be measured yet.
  bool protects_stored() const;
  bool has_search();       ///< Makes it, unless the problem's operands are too large.
  SearchCourse* course();  ///< Of the next batch; null: the search has ended.

  /// Measures the default and the best known kernel, the default even if no time is left, and
  /// stores the best certified one at once, unless an earlier run has stored a winner. If that run
  /// could not decide between its winner and the default, they are compared now.
  void first_look(double seconds);
  /// The kernel that the first look measures beside the default; the default itself where no other
  /// is known.
  std::size_t first_known();
  void measure_first(std::size_t index);
  void store_first(double end_s);
  void search(double seconds);  ///< Measures the next batch.
  /// Compares the best candidates, certifies them and stores the ranked list; compares the winner
  /// with the host's BLAS.
  void finish(double seconds);
  void compare(double start_s, double seconds);
  void add_host(double end_s);

  std::size_t default_candidate() const { return search_->default_candidate(); }
  RowId default_row() const;
  bool certified(const Variant& variant);
  /// Whether the default, which programs take that find no winner, is faster or not measured yet.
  bool is_slower_than_default(const Candidate& candidate) const;
  std::vector<WinnerRecord> certified_list(double end_s, std::size_t most);
  /// Orders the list, which is not empty, by paired comparisons with the stored winner and with the
  /// default.
  Standing standing(std::vector<WinnerRecord>& list, const Over& over, QuietWait& wait);
  void store(const std::vector<WinnerRecord>& list, const Standing& standing);
  void describe_stored();
  void describe(const WinnerRecord& winner, const OutcomeRecord& outcome);
  void learn(const std::vector<std::size_t>& batch);  ///< How long its compilation took.
  /// Expected ratio of what a batch finds to what the strategy claims for it.
  double claim_ratio() const;

  const ProblemTunerContext& context_;
  StepCosts& costs_;
  const RowId device_row_;
  const TuneProblem wanted_;
  TuneStage stage_ = TuneStage::kFirstLook;
  std::optional<TunedKernel> stored_;                ///< The stored winner, and
  std::optional<OutcomeRecord> before_;              ///< how certain it is.
  std::unique_ptr<Search> search_;                   ///< Null before the first look.
  std::unique_ptr<SearchCourse> calls_, prepacked_;  ///< By objective; null before the first batch.
  bool unfit_ = false;  ///< Its operands are too large, or the device can run no kernel for it.
  /// What first_known() returned first: it is compiled ahead, so that it does not change.
  std::optional<std::size_t> first_known_;
  double searched_s_ = 0;
  double claimed_ = 0, realized_ = 0;  ///< Decreases of log2 of the time, over all batches.
  TuneResult result_;
};

}  // namespace rooftile
