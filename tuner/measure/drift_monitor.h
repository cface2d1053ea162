// Times a reference kernel at intervals, so that measurements can be corrected for the drift of the
// device's speed.
#pragma once

#include <functional>
#include <optional>

#include "tuner/measure/drift.h"

namespace rooftile {

class DriftMonitor {
 public:
  /// Times the reference if it is due, several times where its time has changed. time_reference
  /// returns ns; after it returned no value it is not called again, because a kernel that fails
  /// says nothing about the device's speed. over() is asked before each reading.
  void update(const std::function<std::optional<double>()>& time_reference,
              const std::function<bool()>& over);
  void begin_problem() { first_level_ = drift_.level(); }
  /// Ratio of the device's time now to that at the run's start, and to that at begin_problem().
  double level_of_run() const { return drift_.level(); }
  double level_of_problem() const { return drift_.level() / first_level_; }
  std::optional<double> slowdown() const { return drift_.slowdown(); }

 private:
  Drift drift_;
  double first_level_ = 1, due_s_ = 0;
  bool failed_ = false;
};

}  // namespace rooftile
