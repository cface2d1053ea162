// Random plausible problems, calibrations and calls for property tests, and the decision of one
// call.
#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <vector>

#include "runtime/model/dispatch.h"

namespace rooftile {

inline double uniform(double low, double high) {
  constexpr int kSteps = 1'000'000;
  return low + (high - low) * *rc::gen::inRange(0, kSteps + 1) / kSteps;
}

/// Rates and sizes span orders of magnitude.
inline double log_uniform(double low, double high) {
  return low * std::pow(high / low, uniform(0, 1));
}

inline std::int64_t random_size(double largest = 5000) {
  return std::llround(log_uniform(1, largest));
}

inline Transpose random_transpose() { return *rc::gen::element(Transpose::kNo, Transpose::kYes); }

inline Problem random_problem() {
  Problem p = packed_problem(random_size(), random_size(), random_size(), random_transpose(),
                             random_transpose(), random_size(20));
  p.beta = *rc::gen::element(0.0f, 1.0f, -0.5f);
  return p;
}

inline DeviceRates random_device() {
  const double memory = log_uniform(5, 3000);
  DeviceRates rates{.submit_ns = log_uniform(500, 1e6),
                    .dispatch_ns = log_uniform(10, 20000),
                    .upload_gbps = log_uniform(1, 60),
                    .download_gbps = log_uniform(1, 60),
                    .fma_gflops = log_uniform(10, 80000),
                    .shared_gbps = log_uniform(10, 20000),
                    .levels = {{.name = "memory", .gbps = memory}},
                    .compute_units = std::floor(log_uniform(1, 150))};
  if (*rc::gen::arbitrary<bool>()) {
    rates.import_ns = log_uniform(500, 1e6);
    rates.import_upload_gbps = log_uniform(1, 60);
    rates.import_download_gbps = log_uniform(1, 60);
    if (*rc::gen::arbitrary<bool>()) rates.import_growth_ns = log_uniform(1e-4, 1);
    if (*rc::gen::arbitrary<bool>())
      rates.import_read_extra_ns = rates.import_write_extra_ns = log_uniform(1e-4, 1);
  }
  if (*rc::gen::arbitrary<bool>()) rates.fetch_ns = log_uniform(10, 1e6);
  if (*rc::gen::arbitrary<bool>()) rates.overlap = uniform(0, 1);
  if (*rc::gen::arbitrary<bool>())
    rates.levels.insert(rates.levels.begin(), {.name = "cache",
                                               .gbps = memory * uniform(1, 8),
                                               .footprint_bytes = log_uniform(1e4, 1e8)});
  return rates;
}

inline HostRates random_host() {
  HostRates rates{.call_ns = log_uniform(10, 2000), .gbps = log_uniform(2, 300)};
  const int points = *rc::gen::inRange(1, 25);
  for (int i = 0; i < points; ++i)
    rates.gemm.push_back({.m = static_cast<double>(random_size()),
                          .n = static_cast<double>(random_size()),
                          .k = static_cast<double>(random_size()),
                          .gflops = log_uniform(0.1, 3000)});
  return rates;
}

inline Calibration random_calibration() {
  Calibration c{.device = random_device(), .host = random_host(), .host1 = {}, .host64 = {}};
  if (*rc::gen::arbitrary<bool>()) c.host1 = random_host();
  if (*rc::gen::arbitrary<bool>()) c.host64 = random_host();
  return c;
}

inline std::vector<TunedTime> random_tuned() {
  std::vector<TunedTime> tuned;
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i)
    tuned.push_back({.problem = random_problem(),
                     .ns = log_uniform(1e3, 1e10),
                     .tile_m = *rc::gen::element(1, 16, 64, 128),
                     .tile_n = *rc::gen::element(1, 16, 64, 128)});
  return tuned;
}

inline Residency random_residency() {
  return *rc::gen::element(Residency::kHost, Residency::kDevice);
}

inline Call random_call() {
  Call call{.problem = random_problem(),
            .a = random_residency(),
            .b = random_residency(),
            .c = random_residency()};
  if (*rc::gen::arbitrary<bool>()) call.extra_passes_over_c = *rc::gen::inRange(0, 5);
  if (*rc::gen::arbitrary<bool>()) call.guard_ns = log_uniform(10, 1e7);
  if (*rc::gen::arbitrary<bool>()) call.rerun_probability = uniform(0, 1);
  call.c_is_checked = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    call.before_pass = retyped(call.problem, {});
    call.before_pass->beta = 0;
    call.pass_ns = log_uniform(10, 1e7);
  }
  return call;
}

inline Decision decide(const Call& call, const Calibration& calibration, DeviceKind kind,
                       std::span<const TunedTime> tuned) {
  return decide(call, DispatchModel(calibration, kind, tuned));
}

}  // namespace rooftile
