// Which tuned element types tell most about a product of types that were not tuned.
#pragma once

#include "core/types.h"

namespace rooftile {

/// 0 for the wanted types themselves; then the same operands with another C, the same A with
/// another B, float32, and last all others.
inline int type_distance(const Types& tuned, const Types& wanted) {
  if (tuned == wanted) return 0;
  if (tuned.a == wanted.a) return tuned.b == wanted.b ? 1 : 2;
  return tuned == Types{} ? 3 : 4;
}

}  // namespace rooftile
