// Strategies that learn nothing: a fixed order, independent of measurements.
#pragma once

#include <algorithm>
#include <vector>

#include "tuner/search/candidate_pool.h"

namespace rooftile {

class FixedOrder : public Strategy {
 public:
  /// `size` is the number of candidates of the space; repeated candidates count once.
  FixedOrder(std::vector<std::size_t> order, std::size_t size)
      : order_(std::move(order)), pool_(size) {}

  std::vector<std::size_t> propose(std::span<const Observation> history,
                                   std::size_t count) override {
    pool_.take(history);
    std::vector<std::size_t> batch;
    for (; next_ < order_.size() && batch.size() < count; ++next_)
      if (pool_.take(order_[next_])) batch.push_back(order_[next_]);
    return batch;
  }

 private:
  std::vector<std::size_t> order_;
  CandidatePool pool_;
  std::size_t next_ = 0;
};

}  // namespace rooftile
