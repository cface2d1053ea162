// Resampling of disturbed samples, a limited number of times; a sample that is still disturbed is
// kept and flagged noisy. No side effects besides the callbacks.
#pragma once

#include <functional>
#include <vector>

namespace rooftile {

/// One timed run of a kernel.
struct Reading {
  double kernel_ns = 0, pack_ns = 0;
  /// Share of the processors' time that other programs used; 0 where unknown.
  double busy_share = 0;
};

struct SteadySamples {
  std::vector<Reading> readings;
  int retaken = 0;    ///< Runs that were discarded.
  int noisy = 0;      ///< Readings that were kept although they look disturbed.
  double lost_s = 0;  ///< Wall time of back-offs and repeated runs.
};

inline constexpr double kBusyShare = 0.1;  ///< A sample with a higher share counts as disturbed.
inline constexpr int kMostRetakes = 3;     ///< Limit for one call of steady_samples().

/// Returns `count` readings. A reading with a busy_share above kBusyShare is repeated after
/// back_off(number of earlier back-offs). Then a reading that is a quarter slower than the fastest
/// of its neighbours is repeated without back-off, because a spike has passed by then.
/// most_retakes limits all of them together.
SteadySamples steady_samples(int count, int most_retakes, const std::function<Reading()>& take,
                             const std::function<void(int)>& back_off);

/// Allowance for resampling, so that a machine that is never quiet does not use up a budget: two
/// seconds at first, and then a tenth of the time spent on measuring.
class RetakeAllowance {
 public:
  bool any() const { return left_s_ > 0; }
  void earn(double measuring_s) { left_s_ += 0.1 * measuring_s; }
  void spend(double seconds) { left_s_ -= seconds; }

 private:
  double left_s_ = 2;
};

}  // namespace rooftile
