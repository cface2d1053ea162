// One measured number of a calibration, with how sure it is. Stored by db, interpreted by
// runtime/model.
#pragma once

#include <cstddef>
#include <string>

namespace rooftile {

struct Figure {
  std::string
      name;  // "device.fma.f32", "host.gemm.threads.512x512x512": model/calibration.h lists them
  std::string unit;  // "gflops", "gbps", "ns"
  double value = 0;  // median
  double mad = 0;    // median absolute deviation, same unit
  std::size_t count = 0;

  bool operator==(const Figure&) const = default;
};

}  // namespace rooftile
