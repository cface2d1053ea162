// A product whose operands lie in the device's memory, computed there or by the host.
#pragma once

#include <vector>

#include "bench/contests/dispatch_contest.h"

namespace rooftile {

enum class DeviceTakesPart { kNo, kYes };

/// What a program does with data on the device. kDevice: the product on device buffers, submitted
/// and waited for. kHost1: A and B are downloaded, multiplied on one thread, and C is uploaded.
/// beta is 0. The context outlives them, the operands are copied. Throws as Context::resident() and
/// Resident::product.
std::vector<Contestant> resident_contestants(Context& context, const Problem& p,
                                             const ProductOperands& operands,
                                             DeviceTakesPart device);

}  // namespace rooftile
