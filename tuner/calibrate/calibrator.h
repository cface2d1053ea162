// Shared parts of a device's calibration. Internal to tuner/; the interface is calibrate.h.
#pragma once

#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/figure.h"
#include "generator/calibration_shaders.h"
#include "runtime/device/device.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/measure/probe.h"
#include "tuner/measure/rounds.h"
#include "tuner/measure/stream_bench.h"

namespace rooftile {

/// Compiles the kernels, sets their durations and finds the memory levels first; then samples all
/// rates in rounds until the time is up.
class Calibrator {
 public:
  static constexpr std::string_view kDifference = "ns/byte";  ///< Unit that nothing else has.

  Calibrator(FullClocks& clocks, double seconds);

  Calibrated run();

 private:
  /// A memory level found in the curve, and the figures of its kernels.
  struct Level {
    std::string name;
    std::vector<std::string> figures;
  };

  void add(const std::string& figure, const std::string& unit, const std::vector<double>& sample) {
    figures_.push_back(figure_of(figure, unit, sample));
  }
  /// Adds a figure to be sampled in the rounds.
  void sample(std::string figure, std::string unit, std::function<Turn()> take) {
    sampled_.push_back({std::move(figure), std::move(unit), std::move(take)});
  }
  /// Same for an additional cost in ns per byte; the figure is left out unless it is surely above
  /// 0.
  void sample_difference(std::string figure, std::function<Turn()> take) {
    sample(std::move(figure), std::string(kDifference), std::move(take));
  }
  const Buffer& buffer(std::uint64_t bytes) {
    return buffers_.emplace_back(device_.create_buffer(bytes, BufferUse::kDevice));
  }
  Probe& probe(const Shader& shader) { return probes_.emplace_back(device_, shader); }
  template <typename Push>
  TimedDispatch& dispatch(Probe& probe, const std::vector<BufferRange>& bindings, const Push& push,
                          std::uint32_t groups) {
    return dispatches_.emplace_back(probe.dispatch(bindings, push, groups));
  }
  std::uint32_t many_groups(int local_size) const {
    return static_cast<std::uint32_t>(262144 / local_size);
  }
  /// Returns a power of two of vectors: a quarter of the smallest first-level caches, 4 kB, or the
  /// footprint of one iteration of `unroll`.
  std::uint32_t window(int width, int unroll) const;

  /// Returns the number of loop iterations that makes a dispatch long enough; push(trips) creates
  /// the push constants.
  template <typename Push>
  std::uint32_t trips_of(Probe& probe, const std::vector<BufferRange>& bindings,
                         std::uint32_t groups, const Push& push) {
    return long_enough(limits_, [&](std::uint32_t n) {
      return probe.times(bindings, push(n), groups, 1).front();
    });
  }
  /// Samples amount over time of such a dispatch; amount(trips) is that of all workgroups.
  template <typename Push, typename Amount>
  void sample_rate(const std::string& figure, const std::string& unit, Probe& probe,
                   const std::vector<BufferRange>& bindings, std::uint32_t groups, const Push& push,
                   const Amount& amount) {
    const std::uint32_t trips = trips_of(probe, bindings, groups, push);
    TimedDispatch& timed = dispatch(probe, bindings, push(trips), groups);
    sample(figure, unit, [&timed, total = amount(static_cast<double>(trips))] {
      const Reading reading = timed.take();
      return Turn{total / reading.kernel_ns, reading.busy_share};
    });
  }
  /// Records the time since the last part.
  void end_part(const char* name);
  const Figure* found(const std::string& name) const;

  // These functions are defined in calibrate_arithmetic.cpp.
  void multiply_adds();
  void other_multiply_adds();
  void compute_units();
  // These functions are defined in calibrate_device.cpp.
  void latencies();
  void workgroups_and_barriers();
  // These functions are defined in calibrate_loads.cpp.
  void shared_memory();
  void loads();
  void load_rate(const std::string& figure, LoadPath load_path, int width);
  void stores();
  void broadcasts();
  void load_latency();
  // These functions are defined in calibrate_stream.cpp.
  void stream(double end_s);
  void level_bandwidths();
  // These functions are defined in calibrate_link.cpp.
  void transfers();
  void fetch();
  void imports();
  void use_in_place(const Buffer& imported, const Buffer& own);
  void overlap();

  const std::shared_ptr<Device> shared_device_;
  Device& device_;
  FullClocks& clocks_;
  const DeviceLimits& limits_;
  double begin_s_ = now_s(), end_s_, part_s_ = begin_s_;
  // Objects that closures of sampled_ refer to do not move. Imported memory outlives its buffers.
  std::vector<std::unique_ptr<void, decltype(&std::free)>> host_memory_;
  std::deque<Buffer> buffers_;
  std::deque<Probe> probes_;
  std::deque<TimedDispatch> dispatches_;
  std::deque<CommandList> lists_;
  std::unique_ptr<StreamBench> stream_bench_;
  std::deque<StreamRun> stream_runs_;
  std::vector<SampledFigure> sampled_;
  std::vector<Level> levels_;
  std::vector<Figure> figures_;
  std::vector<CalibrationPart> parts_;
  /// Of the multiply-add kernel; later probes use them.
  int best_local_size_ = 64, best_chains_ = 8;
};

}  // namespace rooftile
