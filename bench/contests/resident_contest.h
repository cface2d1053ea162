// A GEMM on operands in device memory, computed by the device or by the host.
#pragma once

#include <vector>

#include "bench/contests/dispatch_contest.h"

namespace rooftile {

enum class DeviceTakesPart { kNo, kYes };

/// Tiers of a program with data on the device. kDevice: the GEMM on device buffers is submitted and
/// waited for. kHost1: A and B are downloaded, multiplied on one thread, and C is uploaded. beta is
/// 0. The context must outlive them; the operands are copied. Throws the errors of
/// Context::resident() and Resident::product.
std::vector<Contestant> resident_contestants(Context& context, const Problem& p,
                                             const ProductOperands& operands,
                                             DeviceTakesPart device);

}  // namespace rooftile
