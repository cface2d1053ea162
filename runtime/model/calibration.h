// The calibrated numbers that every prediction rests on, and their names in the database. All rates are measured.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/figure.h"
#include "core/problem.h"

namespace rooftile {

/// A bandwidth plateau found by STREAM kernels: "memory" is last and always there once calibrated.
struct MemoryLevel {
  std::string name;         // "cache", "memory"
  double gbps = 0;          // bytes read plus written, triad
  double footprint_bytes = 0;  // largest footprint at which it held; infinity for memory
};

struct DeviceRates {
  double submit_ns = 0;          // empty submit to fence
  double dispatch_ns = 0;        // one more dispatch in the same submit
  double upload_gbps = 0, download_gbps = 0;  // host pointer to kernel-visible buffer and back, as the runtime does it
  double fma_gflops = 0;         // f32
  double shared_gbps = 0;        // shared memory, all compute units together
  std::vector<MemoryLevel> levels;
  double compute_units = 1;
  bool zero_copy = false;        // host pointers need no transfer
};

/// Host GEMM rate measured on one problem size.
struct HostPoint {
  double m = 0, n = 0, k = 0;
  double gflops = 0;
};
struct HostRates {
  double call_ns = 0;  // smallest BLAS call
  double gbps = 0;     // triad
  std::vector<HostPoint> gemm;
};

struct Calibration {
  DeviceRates device;
  HostRates host, host1, host64;  // all threads, one thread, float64
};

/// Names, units and values both ways; from_figures(to_figures(c)) == c up to spreads. Unknown names are ignored; what is
/// missing stays 0 (and a device with submit_ns or fma_gflops 0 counts as not calibrated).
std::vector<Figure> to_figures(const Calibration& c);
Calibration calibration_from_figures(std::span<const Figure> figures);
bool is_calibrated(const DeviceRates& rates);

/// Device : host.
struct CalibrationRatios {
  double compute, bandwidth, latency;
};
CalibrationRatios calibration_ratios(const Calibration& c);

}  // namespace rooftile
