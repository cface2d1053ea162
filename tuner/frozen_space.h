// A problem's space with everything measured, as a text file: search strategies are compared on it
// without a device (bench/bench_search).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/figure.h"
#include "core/problem.h"
#include "core/variant.h"
#include "db/store.h"

namespace rooftile {

struct FrozenPoint {
  Variant variant;
  SampleStatus status = SampleStatus::kMeasured;
  // Median of all samples and their median absolute deviation from it, in ns; 0 unless measured.
  double kernel_ns = 0, mad_ns = 0;
  std::size_t count = 0;  // samples
  double pack_ns = 0, compile_ns = 0;

  bool operator==(const FrozenPoint&) const = default;
};

struct FrozenSpace {
  // Where it was measured. Names come from a driver: untrusted text, line breaks removed.
  std::string device, driver;
  Problem problem;
  std::vector<Figure> figures;  // of the device's calibration; device.* only
  std::vector<Variant> starts;  // what a search without any history tries first: default and priors
  std::vector<FrozenPoint> points;

  bool operator==(const FrozenSpace&) const = default;
};

/// All candidates that searches have measured on a problem, or failed on, over all runs; by
/// variant. Samples that were taken later beside a few kernels only are left out: the machine may
/// have been another. Empty points when there are none.
FrozenSpace frozen_space(const Store& store, const DeviceRecord& device, const Problem& problem);

/// A comment line, JSON with device, driver, problem, figures and starts; then CSV with a header
/// line: every parameter of the variant, status, kernel_ns, mad_ns, count, pack_ns, compile_ns.
/// Times are rounded to whole ns, figures to six digits.
std::string to_csv(const FrozenSpace& space);
/// Throws kInvalidArgument naming `name` and the line.
FrozenSpace parse_frozen_space(std::string_view text, std::string_view name);

}  // namespace rooftile
