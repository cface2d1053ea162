// A calibration that is complete and was never measured: to measure one takes a quarter of a
// minute.
#pragma once

#include "runtime/model/calibration.h"

namespace rooftile {

inline Calibration made_up_calibration() {
  const HostRates host = {.call_ns = 1e3,
                          .gbps = 10,
                          .gemm = {{.m = 64, .n = 64, .k = 64, .gflops = 10}},
                          .gemv = {{.m = 1, .n = 64, .k = 64, .gflops = 5}}};
  return {.device = {.submit_ns = 1e4,
                     .dispatch_ns = 1e3,
                     .fetch_ns = 100,
                     .fma_gflops = 100,
                     .synchronised_fma_gflops = 50,
                     .levels = {{.name = "memory", .gbps = 10}}},
          .host = host,
          .host1 = host};
}

}  // namespace rooftile
