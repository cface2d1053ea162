// One measurement of a calibration with its uncertainty. The database stores it, and runtime/model
// interprets it.
#pragma once

#include <cstddef>
#include <string>

namespace rooftile {

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
