// Search by a surrogate: a regression over what was measured says where the next gain is to be
// expected. Jones, Schonlau and Welch, Efficient Global Optimization, J. Global Optimization 13
// (1998); the batch's candidates after the first are chosen as if those before had come out as
// predicted (Ginsbourger, Le Riche and Carraro's kriging believer, 2010). The choice widens with
// the search, as in progressive widening of tree searches (Couetoux and others, Continuous Upper
// Confidence Trees, 2011): a few measurements leave most of a space so uncertain that the largest
// gain is expected of kernels which nothing speaks for.
#pragma once

#include <Eigen/Core>
#include <deque>

#include "tuner/candidate_pool.h"
#include "tuner/strategy.h"

namespace rooftile {

enum class Knowledge : std::uint8_t {
  kProblem,    // candidates and the analytical model
  kEverything  // starts and what other problems and devices showed as well
};

class SurrogateSearch : public Strategy {
 public:
  SurrogateSearch(const SearchSpace& space, Knowledge knowledge);

  std::vector<std::size_t> propose(std::span<const Observation> history,
                                   std::size_t count) override;

 private:
  /// Before there is anything to fit: starts, and the fastest by the analytical model up to a whole
  /// batch.
  void plan_first();
  /// Which of the rest are looked at after so many were measured: those that the analytical model
  /// puts first, the more the longer the search.
  std::vector<std::size_t> eligible(std::size_t measured) const;
  std::vector<std::size_t> by_expected_improvement(std::span<const Observation> history,
                                                   std::size_t count);

  const SearchSpace& space_;
  Knowledge knowledge_;
  CandidatePool pool_;
  Eigen::MatrixXd features_, trends_;  // a row a candidate
  std::vector<std::size_t> by_model_;  // all candidates, the fastest first
  std::deque<std::size_t> first_;
};

}  // namespace rooftile
