// Keeps a device at full clocks while kernels are timed. A GPU that idles for a second lowers them
// (an H100 to a sixth), and needs a quarter of a second of unbroken load to raise them again.
#pragma once

#include <functional>
#include <memory>

#include "runtime/device/device.h"

namespace rooftile {

class Probe;
class TimedDispatch;

/// Not thread-safe. A software device has no clocks of its own, and nothing is done for it.
class FullClocks {
 public:
  static constexpr double kMostS = 0.5;       ///< Limit of the load of one call of raise().
  static constexpr double kTolerance = 1.05;  ///< Of the gauge's time over its best.
  /// After raise() they are full for so long without another look: they fall where a device idles
  /// for a second.
  static constexpr double kFullS = 0.02;

  explicit FullClocks(std::shared_ptr<Device> device);
  ~FullClocks();
  FullClocks(const FullClocks&) = delete;
  FullClocks& operator=(const FullClocks&) = delete;

  /// Times a short kernel of multiply-adds, the gauge, and repeats it without a pause until it is
  /// about as fast as at its best. The first call compiles it and runs it for kMostS. Does nothing
  /// within kFullS of the last call. Throws what Device::run throws.
  void raise();
  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  double take();

  std::shared_ptr<Device> device_;
  Buffer target_;
  std::unique_ptr<Probe> probe_;
  std::unique_ptr<TimedDispatch> gauge_;
  double best_ns_ = 0, full_until_s_ = 0;
};

/// When to stop a load that raises the clocks. take() runs the gauge once and returns its time in
/// ns, clock() returns seconds. Returns the gauge's new best time: the fastest of all, but the last
/// one where most_s ended before the gauge was within the tolerance of best_ns, because the device
/// is slower now. best_ns is 0 at first; then the whole time is used.
double raised_to_ns(double best_ns, double most_s, const std::function<double()>& take,
                    const std::function<double()>& clock);

}  // namespace rooftile
