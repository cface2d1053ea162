// Where a kernel leaves its sums: what makes a plain kernel usable for a signature that it was not
// compiled for.
#pragma once

#include <cstdint>

#include "generator/signature.h"

namespace rooftile {

/// kC: the kernel makes C, epilogue included (a split product through its parts).
/// kWorkspace: the kernel of sums_signature() leaves unscaled sums in a workspace, laid out like
/// the parts of a split product, and the kernel of emit_reduce() makes C from them: one pass over C
/// with alpha, beta, the epilogue and the only rounding to C's type.
enum class SumsIn : std::uint8_t { kC, kWorkspace };

/// The plain signature with the same operands whose C holds the sums exactly: float32, int32 of
/// 8-bit integers, or float64.
inline Signature sums_signature(const Signature& s) {
  Signature plain = s;
  plain.epilogue = {};
  plain.types.sums = Sums::kUsual;
  plain.types.c = sum_type(plain.types);
  return plain;
}
/// The signature that the kernel is compiled for.
inline Signature compiled_signature(const Signature& s, SumsIn sums) {
  return sums == SumsIn::kC ? s : sums_signature(s);
}

}  // namespace rooftile
