// Operands as units multiply them. Matrix units: the parts of float32, the integers of a quantised
// B whose scales multiply sums, and the error bound of both. Packed dot products: A in 8-bit
// integers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/block_layout.h"
#include "core/device_profile.h"
#include "core/variant.h"
#include "generator/signature.h"

namespace rooftile {

/// Whether a device has kernels that round operands of such types as far as is allowed: to 16 bits
/// where its matrix units multiply bfloat16 and its driver leaves no loop early (RECOMPUTES_SUMS of
/// templates/matrix/store.glsl), to 8 bits also where it has packed dot products.
inline bool has_rounding_kernels(const DeviceLimits& limits, Rounding rounding) {
  if (rounding == Rounding::kInt8 && limits.integer_dot_product) return true;
  return limits.max_loop_trips == 0 &&
         std::ranges::any_of(limits.matrix_shapes, [](const MatrixShape& shape) {
           return shape.operand == DataType::kBf16 && shape.sum == DataType::kF32;
         });
}
/// Types with the permission to round operands only where the device has kernels that do so.
inline Types types_on(const DeviceLimits& limits, const Types& t) {
  return has_rounding_kernels(limits, t.rounding) ? t : unrounded(t);
}
/// Whether a vector or tiled kernel rounds A to 8-bit integers as it stores it to shared memory,
/// and multiplies them by those of a quantised B with packed dot products (rounded() of
/// templates/load/types.glsl).
inline bool multiplies_int8(const Variant& v, const Types& t) {
  return t.rounding == Rounding::kInt8 && v.stage == Stage::kStored && v.family != Family::kMatrix;
}
/// For matrix kernels: the type that the units multiply, and the number of parts of an element: 3
/// for float32, 2 where it may be rounded to half, 1 for the integers of a quantised B. A kind with
/// float16 parts would be a parameter of Variant, on which these functions then depend.
inline DataType unit_type(const Types& t) { return t.a == DataType::kF32 ? DataType::kBf16 : t.a; }
inline int parts_of(const Types& t, Operand operand) {
  const bool integers = operand == Operand::kB && quantized(t);
  if (t.a != DataType::kF32 || integers) return 1;
  return t.rounding == Rounding::kNone ? 3 : 2;
}
/// Whether a matrix kernel splits a float32 operand into bfloat16 parts, which the units multiply
/// (templates/matrix/split.glsl).
inline bool splits(const Variant& v, const Types& t, Operand operand) {
  return v.family == Family::kMatrix && parts_of(t, operand) > 1;
}
/// How far a kernel rounds the operands of such types.
inline Rounding rounding_in(const Variant& v, const Types& t) {
  if (multiplies_int8(v, t)) return Rounding::kInt8;
  return t.rounding != Rounding::kNone && splits(v, t, Operand::kA) ? Rounding::kHalf
                                                                    : Rounding::kNone;
}
/// Whether a matrix kernel multiplies A by the integers of a quantised B, which bfloat16 holds, and
/// sums by their scales (templates/matrix/b_quantized.glsl); and steps of k that share a scale.
/// Beside a float16 A, B is dequantised to float16.
inline bool scales_sums(const Variant& v, const Types& t) {
  return v.family == Family::kMatrix && quantized(t) && unit_type(t) == DataType::kBf16;
}
inline int scale_steps(const Types& t) {
  constexpr int kMost = 32;  // A subgroup holds the fragments of B for all of them in registers.
  return std::min(has_block_format(t) ? layout_of(t.b.format).scaled : t.b.block, kMost);
}
/// Steps of k of a row of A that share a scale where A is rounded to 8-bit integers, at most
/// kRoundedSteps: they also share B's.
inline int rounded_steps(const Variant& v, const Types& t) {
  return std::min({kRoundedSteps, scale_steps(t), v.unroll_k});
}
/// Whether values of a quantised B are multiples of their scales plus a minimum or the share of a
/// float zero point.
inline bool has_addends(const Types& t) {
  return has_block_format(t) ? layout_of(t.b.format).minimum : t.b.zero_point == ZeroPoint::kFloat;
}
/// Whether a value of a quantised B is more than a scale times an 8-bit integer, so that something
/// multiplies sums of A's integers: a minimum, or a zero point that differs from block to block.
inline bool sums_int8(const Types& t) {
  return has_block_format(t) ? layout_of(t.b.format).minimum : t.b.zero_point != ZeroPoint::kMiddle;
}
/// Operations of matrix units for the product of two fragments: one for each pair (i, j) of parts
/// with i + j less than their number. Where there are addends, operations sum A's rows, too.
inline double operations_of(const Variant& v, const Types& t) {
  const int parts = parts_of(t, Operand::kA);
  if (scales_sums(v, t))
    return parts * (has_addends(t) ? 1 + static_cast<double>(v.matrix_n) / v.subgroup_n : 1);
  return splits(v, t, Operand::kA) ? parts * (parts + 1) / 2.0 : 1;
}
/// Whether sums of a matrix kernel that are not finite are computed again, in float32: those of
/// parts, and those that scales multiply (templates/matrix/store.glsl).
inline bool recomputes_sums(const Variant& v, const Types& t) {
  return splits(v, t, Operand::kA) || scales_sums(v, t);
}
/// Fewest steps of k where sums are computed again if they are not finite. In units of u = 2^-24 of
/// the sum of magnitudes, alpha, beta and their sum cost 3, the pairs that are left out 2, adding
/// the sum of each operation along k to the others 1 an operation, and the additions within
/// operations at most 18, if a unit truncates each of 16 products one bit below the last of the
/// largest one, and their sum. For two operations that is 25, and the bound of the standard
/// precision is k + 3. With a quantised B the bound is k + 7. Parts are added from the smallest on,
/// so that only operations of the first part truncate addends beside large sums: four (32 steps by
/// 8; fewer and longer ones lose less), each 8 products, the sum before and the result. Two
/// roundings scale these sums, and each 16 steps are added twice: 40 + 2 + 3 and k / 8, which is
/// less than the bound for 48 steps and more.
///
/// Two parts leave out 3 * 2^-16 at most, which is with all of the above far less than the 2^-10 of
/// the bound of half.
inline int least_depth_of_parts(const Types& t) {
  if (t.rounding != Rounding::kNone) return 1;
  return quantized(t) ? 48 : 24;
}
/// How many times longer than predicted a kernel may take where its data asks for it, as far as
/// submissions provide for it. Sums that are not finite take about 50 times as long with float32
/// operands in parts (templates/matrix/store.glsl): a submission of 0.25 s, 0.8 s. With a
/// quantised B they take six times that: each factor is unpacked alone, three times as long on
/// lavapipe, and the kernel itself is predicted to take half as long.
inline int slowness(const Variant& v, const Types& t) {
  return scales_sums(v, t) ? 96 : splits(v, t, Operand::kA) ? 16 : 1;
}
/// Bytes of an element in the tiles of a matrix kernel, in all of its parts.
inline std::int64_t unit_bytes(const Types& t, Operand operand) {
  return parts_of(t, operand) * bytes_of(unit_type(t));
}

}  // namespace rooftile
