// An estimate of the time that a driver needs to compile a kernel, relative to other kernels.
#pragma once

#include "core/variant.h"
#include "generator/signature.h"

namespace rooftile {

/// The number of statements in the innermost loops of a kernel, of its pack kernels and of its
/// reduction, once the loops are unrolled. The length of the source is no such measure, because
/// sources differ in numbers only. The estimate holds with warm caches as well, because drivers
/// unroll the loops before they look into their caches. Measured on lavapipe 22.3 with warm caches
/// on an AMD EPYC, 2026-11-22, with 79 float32 kernels of a tuning: a statement takes 57 us of
/// processor time (33 to 91). Where one of two kernels has twice as many statements, it took at
/// least twice as long in 92 % of the pairs, and 1.5 times as long in 98 %. The number of registers
/// alone (reg_m * reg_n) gives 65 % and 77 %.
double compiler_work(const Variant& v, const Signature& s);

}  // namespace rooftile
