// How much of a kernel there is for a driver to compile.
#pragma once

#include "core/variant.h"
#include "generator/signature.h"

namespace rooftile {

/// Of the kernel with its packing and its sum of parts, in statements of its innermost loops once
/// they are unrolled: a measure for comparing the time that compilers take. Source files say
/// nothing, they differ in numbers only. Drivers begin with everything unrolled, whatever their
/// caches keep of what follows, which is why it holds with warm caches.
/// lavapipe 22.3 with warm caches on an AMD EPYC, 2026-11-22, 79 float32 kernels of a tuning: 57 us
/// of processor time a statement (33 to 91). Of two kernels of which one has twice as many it took
/// at least twice as long in 92 % of the pairs, and 1.5 times in 98 %. Registers alone (reg_m *
/// reg_n): 65 % and 77 %.
double compiler_work(const Variant& v, const Signature& s);

}  // namespace rooftile
