// Waiting while the machine is slower than it was: a neighbour on the same processor keeps it for
// seconds, in which all kernels may take about the same time.
#pragma once

#include <functional>

#include "core/time_account.h"

namespace rooftile {

/// Whether a kernel takes clearly longer than in earlier measurements. usual_ns: 0 or infinity
/// where there are none.
bool is_slowed(double ns, double usual_ns);

/// Times are taken again after a wait as long as they are slowed and there is time for that.
class QuietWait {
 public:
  /// No waits.
  QuietWait() = default;
  /// Waits and discarded times of most_s in all, and none once over() is true.
  QuietWait(double most_s, std::function<bool()> over, TimeAccount* account = nullptr);

  /// Returns false at once where the time is used up; otherwise true, after a wait. discarded_s:
  /// wall time of the measurement that is repeated then.
  bool wait(double discarded_s);

 private:
  double left_s_ = 0;
  std::function<bool()> over_;
  TimeAccount* account_ = nullptr;
};

}  // namespace rooftile
