// STREAM kernels and multiply-adds on the host, for the widest vector unit of the processor that
// this runs on. Internal to tuner/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rooftile {

/// c = a, scale * a, a + b, a + scale * b; count of float32.
using StreamFunction = void (*)(const float* a, const float* b, float* c, std::size_t count);

/// Multiply-adds on values in registers; returns something of them, so that they cannot be left
/// out.
using FmaFunction = float (*)(std::uint64_t trips);

struct HostStream {
  const char* name;  // "copy"
  int arrays;        // read or written
  StreamFunction run;
};

struct HostKernels {
  std::array<HostStream, 4> streams;
  FmaFunction fma;
  double flops_per_trip;  // of fma
};
HostKernels host_kernels();

}  // namespace rooftile
