// Check against float64 of a kernel that has no certificate.
#pragma once

#include <memory>

#include "runtime/kernel/kernel.h"

namespace rooftile {

/// Computes a small problem of this signature, with padded rows, offsets and a batch, and compares
/// every element with the float64 reference and the rest of C with its old content. Throws
/// kInternal when the result is wrong, and the errors of building and running the kernel. This does
/// not replace a certificate; it is meant for the plain fallback kernel only.
void check_on(std::shared_ptr<Device> device, const Variant& variant, const Signature& signature,
              const ShaderCache& cache);

}  // namespace rooftile
