// A problem's space with all measurements as a text file, on which search strategies are compared
// without a device (rooftile-bench search).
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
  /// Median of all samples and their median absolute deviation from it, in ns; 0 unless measured.
  double kernel_ns = 0, mad_ns = 0;
  std::size_t count = 0;  ///< Number of samples.
  double pack_ns = 0, compile_ns = 0;

  bool operator==(const FrozenPoint&) const = default;
};

struct FrozenSpace {
  /// Device and driver of the measurement. The names come from a driver and are untrusted; line
  /// breaks are removed.
  std::string device, driver;
  Problem problem;
  std::vector<Figure> figures;  ///< Figures of the device's calibration (device.* only).
  /// First candidates of a search without any history: the default and the priors.
  std::vector<Variant> starts;
  std::vector<FrozenPoint> points;

  bool operator==(const FrozenSpace&) const = default;
};

/// Returns all candidates that searches have measured on a problem, or that failed on it, over all
/// runs; sorted by variant. Samples that were later taken beside a few kernels only are left out,
/// because the machine may have differed. Points are empty when there are none.
FrozenSpace frozen_space(const Store& store, const DeviceRecord& device, const Problem& problem);

/// Writes a comment line; JSON with device, driver, problem, figures and starts; then CSV with a
/// header line: every parameter of the variant, status, kernel_ns, mad_ns, count, pack_ns,
/// compile_ns. Times are rounded to whole ns, figures to six digits.
std::string to_csv(const FrozenSpace& space);
/// Throws kInvalidArgument, naming `name` and the line.
FrozenSpace parse_frozen_space(std::string_view text, std::string_view name);

}  // namespace rooftile
