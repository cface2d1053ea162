// What the parts of a device's calibration share. Internal to tuner/: calibrate.h is its door.
#pragma once

#include <string>
#include <vector>

#include "core/figure.h"
#include "generator/calibration_shaders.h"
#include "runtime/device/device.h"
#include "tuner/probe.h"

namespace rooftile {

class Calibrator {
 public:
  explicit Calibrator(Device& device) : device_(device), limits_(device.profile().limits) {}

  std::vector<Figure> run() {
    latencies();
    multiply_adds();
    compute_units();
    other_multiply_adds();
    workgroups_and_barriers();
    shared_memory();
    loads();
    stores();
    broadcasts();
    load_latency();
    stream();
    transfers();
    imports();
    return std::move(figures_);
  }

 private:
  void add(const std::string& figure, const std::string& unit, const std::vector<double>& sample) {
    figures_.push_back(figure_of(figure, unit, sample));
  }
  std::uint32_t many_groups(int local_size) const {
    return static_cast<std::uint32_t>(262144 / local_size);
  }
  /// A power of two of vectors: a quarter of the smallest first-level caches, 4 kB, or what one
  /// trip of `unroll` touches.
  std::uint32_t window(int width, int unroll) const;
  /// Amount over time of a dispatch that is long enough; amount(trips) of all workgroups.
  /// push(trips) makes the push constants.
  template <typename Push, typename Amount>
  std::vector<double> rate_of(Probe& probe, const std::vector<BufferRange>& bindings,
                              std::uint32_t groups, const Push& push, const Amount& amount) {
    const std::uint32_t trips = long_enough(limits_, [&](std::uint32_t n) {
      return probe.times(bindings, push(n), groups, 1).front();
    });
    return rates(amount(trips), probe.times(bindings, push(trips), groups));
  }

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
  void stream();
  // calibrate_link.cpp
  void transfers();
  void imports();

  Device& device_;
  const DeviceLimits& limits_;
  std::vector<Figure> figures_;
  int best_local_size_ = 64, best_chains_ = 8;  // of the multiply-add kernel; later probes use them
};

}  // namespace rooftile
