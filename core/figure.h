// One measurement of a calibration with its uncertainty. The database stores it, and runtime/model
// interprets it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rooftile {

/// Names of the host's rates by size, of which there are hundreds, begin with it.
inline constexpr std::string_view kHostGridPrefix = "host.gemm.";

struct Figure {
  // "device.fma.f32", "host.gemm.threads.512x512x512": runtime/model/calibration.h lists the names.
  std::string name;
  std::string unit;  // "gflops", "gbps", "ns"
  double value = 0;  // median
  double mad = 0;    // median absolute deviation, same unit
  std::size_t count = 0;

  bool operator==(const Figure&) const = default;
};

}  // namespace rooftile
