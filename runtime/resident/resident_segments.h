// Steps of several calls in the order of submission, with barriers where one touches what another
// wrote, in submissions that are short enough for the operating system's watchdog.
#pragma once

#include <deque>
#include <vector>

#include "runtime/resident/resident_product.h"

namespace rooftile {

/// Knows only byte ranges of buffers, not their content, and has no side effects.
class Segments {
 public:
  void add(ProductSteps product, double expected_ns);
  void add(const CopyStep& copy, const Access& read, const Access& written);

  /// One list of steps for each submission; there is at least one. Views that the steps refer to
  /// live as long as *this.
  const std::vector<std::vector<Step>>& lists() const { return lists_; }
  double expected_ns() const { return expected_ns_; }

 private:
  void separate(const std::vector<Access>& reads, const std::vector<Access>& writes);
  void append(Step step, double ns);

  std::vector<std::vector<Step>> lists_ = {{}};
  std::vector<std::deque<Buffer>> views_;
  double list_ns_ = 0, expected_ns_ = 0;
  std::vector<Access> reads_, writes_;  ///< Accesses since the last barrier.
};

}  // namespace rooftile
