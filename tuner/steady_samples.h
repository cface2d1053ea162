// Samples that a busy machine has spoilt are taken again, a bounded number of times; what is still
// spoilt then is kept and counted as noisy. Pure but for the callbacks.
#pragma once

#include <functional>
#include <vector>

namespace rooftile {

/// One timed run of a kernel.
struct Reading {
  double kernel_ns = 0, pack_ns = 0;
  double busy_share = 0;  // of the processors' time that somebody else had; 0 where unknown
};

struct SteadySamples {
  std::vector<Reading> readings;
  int retaken = 0;    // runs that were thrown away
  int noisy = 0;      // of readings: kept although they look spoilt
  double lost_s = 0;  // wall time of back-offs and of runs that took another one's place
};

inline constexpr double kBusyShare = 0.1;  // a sample with more is spoilt
inline constexpr int kMostRetakes = 3;     // a call of steady_samples()

/// count readings. One with a busy_share above kBusyShare is taken again after back_off(how many
/// times before), and then one that is a quarter slower than the fastest of its neighbours: without
/// back-off, since a spike has passed by then. most_retakes for all of them together.
SteadySamples steady_samples(int count, int most_retakes, const std::function<Reading()>& take,
                             const std::function<void(int)>& back_off);

/// What may be spent on taking samples again, so that a machine that is never quiet does not eat a
/// budget: two seconds at first, and then a tenth of the time spent on measuring.
class RetakeAllowance {
 public:
  bool any() const { return left_s_ > 0; }
  void earn(double measuring_s) { left_s_ += 0.1 * measuring_s; }
  void spend(double seconds) { left_s_ -= seconds; }

 private:
  double left_s_ = 2;
};

}  // namespace rooftile
