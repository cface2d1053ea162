// The problems that certify a kernel. Pure functions: nothing here needs a device.
#pragma once

#include <vector>

#include "core/device_profile.h"
#include "core/variant.h"
#include "generator/rules.h"
#include "runtime/verify/certification_operands.h"

namespace rooftile {

/// Returns the problems that certify a variant; they are fixed for a variant and signature. Each
/// size is one of {1, 2, 3, 5, 17, tile-1, tile, tile+1, a prime}, ld exceeds the row length, and
/// alpha and beta are from {0, 1, -1, 0.5}. A variant that requires exact tiles or an aligned ld
/// gets problems that it supports.
std::vector<CertificationCase> certification_cases(const Variant& variant,
                                                   const Signature& signature,
                                                   const DeviceLimits& limits,
                                                   SumsIn sums = SumsIn::kC);

/// A small batch with padded rows that covers the edges of the fallback's 8 x 8 tile and of the
/// blocks of a quantised B.
CertificationCase edge_case(const Signature& signature);

}  // namespace rooftile
