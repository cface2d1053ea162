// A kernel for tests that need a fast one and do not mind which.
#pragma once

#include "generator/priors/default_kernel.h"

namespace rooftile {

/// The kernel that an untuned device gets for a large float32 product: the smallest of that kind,
/// so that it is legal with small buffers, too.
inline Variant fast_kernel(const DeviceProfile& device) {
  return default_kernel(device, packed_problem(256, 256, 256));
}

}  // namespace rooftile
