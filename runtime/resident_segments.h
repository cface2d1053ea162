// Steps of several products in the order in which they were asked for: barriers where one touches
// what another wrote, and submissions short enough for the operating system's watchdog.
#pragma once

#include <deque>
#include <vector>

#include "runtime/resident_product.h"

namespace rooftile {

/// Pure: knows bytes of buffers, not what is in them.
class Segments {
 public:
  void add(ProductSteps product, double expected_ns);
  void add(const CopyStep& copy, const Access& read, const Access& written);

  /// One list of steps a submission; at least one. Views that they name live while *this does.
  const std::vector<std::vector<Step>>& lists() const { return lists_; }
  double expected_ns() const { return expected_ns_; }

 private:
  void separate(const std::vector<Access>& reads, const std::vector<Access>& writes);
  void append(Step step, double ns);

  std::vector<std::vector<Step>> lists_ = {{}};
  std::vector<std::deque<Buffer>> views_;
  double list_ns_ = 0, expected_ns_ = 0;
  std::vector<Access> reads_, writes_;  // since the last barrier
};

}  // namespace rooftile
