// What the parts of a device's calibration share. Internal to tuner/: calibrate.h is its door.
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
#include "tuner/calibrate.h"
#include "tuner/probe.h"
#include "tuner/rounds.h"
#include "tuner/stream_bench.h"

namespace rooftile {

/// Kernels are compiled and made long enough first, and the memory levels found; then all rates are
/// sampled in rounds until the time is up.
class Calibrator {
 public:
  static constexpr std::string_view kDifference = "ns/byte";  // unit of nothing else

  Calibrator(const std::shared_ptr<Device>& device, double seconds);

  Calibrated run();

 private:
  /// A memory level that the curve has shown, and the figures of its kernels.
  struct Level {
    std::string name;
    std::vector<std::string> figures;
  };

  void add(const std::string& figure, const std::string& unit, const std::vector<double>& sample) {
    figures_.push_back(figure_of(figure, unit, sample));
  }
  /// A figure to be sampled in the rounds.
  void sample(std::string figure, std::string unit, std::function<Turn()> take) {
    sampled_.push_back({std::move(figure), std::move(unit), std::move(take)});
  }
  /// The same of what costs more, in ns a byte: none when it is not sure that it is above 0.
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
  /// A power of two of vectors: a quarter of the smallest first-level caches, 4 kB, or what one
  /// trip of `unroll` touches.
  std::uint32_t window(int width, int unroll) const;

  /// Trips that make a dispatch long enough; push(trips) makes the push constants.
  template <typename Push>
  std::uint32_t trips_of(Probe& probe, const std::vector<BufferRange>& bindings,
                         std::uint32_t groups, const Push& push) {
    return long_enough(limits_, [&](std::uint32_t n) {
      return probe.times(bindings, push(n), groups, 1).front();
    });
  }
  /// Samples amount over time of such a dispatch; amount(trips) of all workgroups.
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
  /// Notes what has passed since the last part.
  void end_part(const char* name);
  const Figure* found(const std::string& name) const;

  // calibrate_arithmetic.cpp
  void multiply_adds();
  void other_multiply_adds();
  void compute_units();
  // calibrate_device.cpp
  void latencies();
  void workgroups_and_barriers();
  // calibrate_loads.cpp
  void shared_memory();
  void loads();
  void load_rate(const std::string& figure, LoadPath load_path, int width);
  void stores();
  void broadcasts();
  void load_latency();
  // calibrate_stream.cpp
  void stream(double end_s);
  void level_bandwidths();
  // calibrate_link.cpp
  void transfers();
  void fetch();
  void imports();
  void use_in_place(const Buffer& imported, const Buffer& own);
  void overlap();

  const std::shared_ptr<Device> shared_device_;
  Device& device_;
  const DeviceLimits& limits_;
  double begin_s_ = now_s(), end_s_, part_s_ = begin_s_;
  // What closures of sampled_ refer to stays where it is. Imported memory outlives its buffers.
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
  int best_local_size_ = 64, best_chains_ = 8;  // of the multiply-add kernel; later probes use them
};

}  // namespace rooftile
