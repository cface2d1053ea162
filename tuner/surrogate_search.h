// Search by a surrogate: a regression over what was measured says where the next gain is to be
// expected. Jones, Schonlau and Welch, Efficient Global Optimization, J. Global Optimization 13
// (1998); the batch's candidates after the first are chosen as if those before had come out as
// predicted (Ginsbourger, Le Riche and Carraro's kriging believer, 2010).
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
  SurrogateSearch(const SearchSpace& space, Knowledge knowledge, std::uint64_t seed);

  std::vector<std::size_t> propose(std::span<const Observation> history,
                                   std::size_t count) override;

 private:
  /// Before there is enough to fit: starts, then each family's best by the analytical model.
  void plan_first();
  std::vector<std::size_t> by_expected_improvement(std::span<const Observation> history,
                                                   std::size_t count);

  const SearchSpace& space_;
  Knowledge knowledge_;
  Random random_;
  CandidatePool pool_;
  Eigen::MatrixXd features_, trends_;  // a row a candidate
  std::deque<std::size_t> first_;
};

}  // namespace rooftile
