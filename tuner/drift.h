// How fast a device is now against how fast it was: from a reference kernel that is timed again and
// again through a run. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace rooftile {

class Drift {
 public:
  static constexpr std::size_t kWindow = 3;  // readings that make one level

  void add(double reference_ns) { readings_ns_.push_back(reference_ns); }
  std::size_t readings() const { return readings_ns_.size(); }

  /// Time of the reference now over its time at the run's start: medians of three readings, so that
  /// one that was disturbed changes nothing. 1 as long as the difference is within the readings'
  /// own spread.
  double level() const;
  /// The same over the whole run, for people; nothing before six readings, or within the spread.
  std::optional<double> slowdown() const;
  /// Whether a reading is further from the last ones than they are from each other.
  bool moved(double reference_ns) const;

 private:
  double tolerance() const;  // of a ratio of two readings' medians
  double recent_ns() const;

  std::vector<double> readings_ns_;
};

}  // namespace rooftile
