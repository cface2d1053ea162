// Change of a device's speed during a run, from a reference kernel that is timed repeatedly. Has no
// side effects.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace rooftile {

class Drift {
 public:
  static constexpr std::size_t kWindow = 3;  ///< Readings for one level.

  void add(double reference_ns) { readings_ns_.push_back(reference_ns); }
  std::size_t readings() const { return readings_ns_.size(); }

  /// Returns the reference's present time over its time at the run's start: medians of three
  /// readings, so that one disturbed reading changes nothing. 1 while the difference is within the
  /// readings' own spread.
  double level() const;
  /// Same over the whole run, for users. No value before six readings or within the spread.
  std::optional<double> slowdown() const;
  /// Whether a reading is further from the last ones than they are from each other.
  bool moved(double reference_ns) const;

 private:
  double tolerance() const;  ///< Of a ratio of two readings' medians.
  double recent_ns() const;

  std::vector<double> readings_ns_;
};

}  // namespace rooftile
