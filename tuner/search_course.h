// The order in which a search measures candidates, and its progress: batch by batch, so that a run
// may turn to another problem after each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tuner/search.h"
#include "tuner/search/candidate_queue.h"
#include "tuner/search/strategy.h"
#include "tuner/search/transfer.h"

namespace rooftile {

/// What a batch brought.
struct BatchResult {
  /// Decrease of log2 of the best time; no value where there was none before.
  std::optional<double> log2_gain;
  std::optional<double> log2_claim;  ///< Decrease that the strategy expected.
};

/// The search for the best candidate by one objective. It begins with the default, the best known
/// candidate, the first of each plausible family that was not tried, winners of other problems and
/// priors; then the strategy of the run's options proposes. The search must outlive it.
class SearchCourse {
 public:
  SearchCourse(Search& search, Objective objective);
  SearchCourse(const SearchCourse&) = delete;
  SearchCourse& operator=(const SearchCourse&) = delete;

  /// Candidates of the next batch; empty when the search has ended: every candidate is tried, the
  /// best is close to the roofline's bound, or many batches brought nothing.
  const std::vector<std::size_t>& next();
  /// Expected gain of the next batch by the strategy.
  std::optional<double> claim() const { return claim_; }
  /// Measures the next batch. over() is asked before each measurement.
  BatchResult run(const std::function<bool()>& over);
  std::size_t batches() const { return batches_; }

 private:
  void start();
  std::vector<std::size_t> untried_families() const;
  void prepare_strategy();
  std::vector<TransferSource> own_sources() const;
  std::vector<Observation> history() const;
  bool ended() const;

  Search& search_;
  const Objective objective_;
  CandidateQueue queue_;
  std::vector<std::size_t> next_;
  std::vector<Observation> unmeasurable_;  ///< Candidates that may not run.
  SearchSpace space_;
  std::unique_ptr<Strategy> strategy_;
  std::size_t strategy_since_ = 0;  ///< Batch at which the strategy was prepared.
  std::optional<double> claim_;
  std::size_t batches_ = 0;
  int without_gain_ = 0;
};

}  // namespace rooftile
