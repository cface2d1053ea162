// Distance of element types, to find the tuned types that best predict an untuned GEMM.
#pragma once

#include "core/types.h"

namespace rooftile {

/// Returns 0 for the wanted types themselves; then, in rising order, for the same operands with
/// another C, the same A with another B, float32, and all others, which also those are whose
/// kernels may round operands where the wanted ones may not.
inline int type_distance(const Types& tuned, const Types& wanted) {
  if (tuned == wanted) return 0;
  if (tuned.rounding != wanted.rounding) return 4;
  if (tuned.a == wanted.a) return tuned.b == wanted.b ? 1 : 2;
  return tuned == Types{} ? 3 : 4;
}

}  // namespace rooftile
