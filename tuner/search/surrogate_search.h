// Search by a surrogate: a regression over the measurements predicts where to expect the next gain.
// Jones, Schonlau and Welch, Efficient Global Optimization, J. Global Optimization 13 (1998). After
// the first candidate of a batch, the others are chosen as if those before had the predicted times
// (Ginsbourger, Le Riche and Carraro's kriging believer, 2010). The choice widens during the
// search, as in progressive widening of tree searches (Couetoux and others, Continuous Upper
// Confidence Trees, 2011), because a few measurements leave most of a space so uncertain that the
// largest gain would be expected of kernels without any evidence.
#pragma once

#include <Eigen/Core>
#include <deque>

#include "tuner/search/candidate_pool.h"
#include "tuner/search/strategy.h"

namespace rooftile {

enum class Knowledge : std::uint8_t {
  kProblem,    ///< Candidates and the analytical model.
  kEverything  ///< In addition starts, and measurements of other problems and devices.
};

class SurrogateSearch : public Strategy {
 public:
  SurrogateSearch(const SearchSpace& space, Knowledge knowledge);

  std::vector<std::size_t> propose(std::span<const Observation> history,
                                   std::size_t count) override;
  /// The expected improvement of the last proposal's first candidate; no value where there was no
  /// regression yet.
  std::optional<double> expected_gain() const override { return expected_gain_; }
  bool uses_transfer() const override { return knowledge_ == Knowledge::kEverything; }

 private:
  /// Plans the candidates before a regression is possible: starts, and the fastest by the
  /// analytical model up to a whole batch.
  void plan_first();
  /// Returns the remaining candidates to consider after so many measurements: those that the
  /// analytical model ranks first, more of them the longer the search.
  std::vector<std::size_t> eligible(std::size_t measured) const;
  std::vector<std::size_t> by_expected_improvement(std::span<const Observation> history,
                                                   std::size_t count);

  const SearchSpace& space_;
  Knowledge knowledge_;
  CandidatePool pool_;
  Eigen::MatrixXd features_, trends_;  ///< One row per candidate.
  std::vector<std::size_t> by_model_;  ///< All candidates, the fastest first.
  std::deque<std::size_t> first_;
  std::optional<double> expected_gain_;
};

}  // namespace rooftile
