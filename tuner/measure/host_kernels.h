// STREAM kernels and multiply-adds on the host, for the widest vector unit of this processor.
// Internal to tuner/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rooftile {

/// c = a, scale * a, a + b, or a + scale * b; `count` float32 elements.
using StreamFunction = void (*)(const float* a, const float* b, float* c, std::size_t count);

/// Multiply-adds on values in registers. Returns a result that depends on them, so that the
/// compiler cannot remove them.
using FmaFunction = float (*)(std::uint64_t trips);

struct HostStream {
  const char* name;  ///< For example "copy".
  int arrays;        ///< Number of arrays read or written.
  StreamFunction run;
};

struct HostKernels {
  std::array<HostStream, 4> streams;
  FmaFunction fma;
  double flops_per_trip;  ///< Flops of one iteration of fma.
};
HostKernels host_kernels();

}  // namespace rooftile
