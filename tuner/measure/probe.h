// A calibration shader with everything needed to time it by the device's clock. Internal to tuner/.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/figure.h"
#include "generator/emit.h"
#include "runtime/device/device.h"
#include "runtime/device/push_constants.h"
#include "tuner/measure/steady_samples.h"

namespace rooftile {

inline constexpr double kProbeTimeoutNs = 30e9;
inline constexpr int kProbeSamples = 7;

/// One recorded dispatch, to be timed any number of times. The pipeline and the buffers of its step
/// must outlive it.
class TimedDispatch {
 public:
  TimedDispatch(Device& device, const DispatchStep& step);

  /// Returns the device time of one run.
  Reading take();

 private:
  Device& device_;
  CommandList list_;
  /// Maximum over all runs: the number of processors that this dispatch keeps busy.
  double occupancy_ = 0;
};

class Probe {
 public:
  Probe(Device& device, const Shader& shader);

  template <typename Push>
  TimedDispatch dispatch(const std::vector<BufferRange>& bindings, const Push& push,
                         std::uint32_t groups) {
    return TimedDispatch(device_, {.pipeline = &pipeline_,
                                   .bindings = bindings,
                                   .push_constants = bytes_of_block(push),
                                   .groups = {groups, 1, 1}});
  }

  /// Returns device times of one dispatch per run of a command list: this many samples after a
  /// warm-up.
  template <typename Push>
  std::vector<double> times(const std::vector<BufferRange>& bindings, const Push& push,
                            std::uint32_t groups, int samples = kProbeSamples) {
    return times(dispatch(bindings, push, groups), samples);
  }
  const Pipeline& pipeline() const { return pipeline_; }

 private:
  static std::vector<double> times(TimedDispatch dispatch, int samples);

  Device& device_;
  Pipeline pipeline_;
};

/// Returns the number of loop iterations that makes a dispatch long compared with launch and clock
/// resolution and short compared with a budget, at most as many as the device runs of all loops
/// together. timed(trips) runs it once. It begins with 4, the fewest for which launch and store
/// take only a few percent of the time: on a slow device that may be long enough.
std::uint32_t long_enough(const DeviceLimits& limits,
                          const std::function<double(std::uint32_t)>& timed,
                          std::uint32_t trips = 4);

/// Converts times to rates: amount per ns.
std::vector<double> rates(double amount, const std::vector<double>& times_ns);

Figure figure_of(const std::string& name, const std::string& unit,
                 const std::vector<double>& sample);

}  // namespace rooftile
