// A kernel for tests that need a fast one and do not mind which.
#pragma once

#include "generator/priors/untuned_kernel.h"

namespace rooftile {

/// The kernel that an untuned device gets for a large float32 product: the smallest of that kind,
/// so that it is legal with small buffers, too.
inline Variant default_variant(const DeviceProfile& device) {
  return untuned_kernel(device, packed_problem(256, 256, 256));
}

}  // namespace rooftile
