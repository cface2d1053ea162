// A kernel of which no certificate is known, against float64.
#pragma once

#include <memory>

#include "runtime/kernel.h"

namespace rooftile {

/// Computes a small product of this signature, with padded rows, offsets and a batch, and compares
/// every element with the float64 reference, and the rest of C with what was there. Throws
/// kInternal when it is wrong, and what building and running it throws. Not a certificate: for the
/// one kernel that does nothing clever.
void check_on(std::shared_ptr<Device> device, const Variant& variant, const Signature& signature,
              const ShaderCache& cache);

}  // namespace rooftile
