#pragma once

#include "core/problem.h"

namespace rooftile {

/// What is compiled into a kernel besides its Variant. Sizes, ld, offsets, alpha and beta are push
/// constants.
struct Signature {
  DataType type = DataType::kF32;
  Transpose trans_a = Transpose::kNo, trans_b = Transpose::kNo;

  bool operator==(const Signature&) const = default;
};
inline Signature signature_of(const Problem& p) { return {p.type, p.trans_a, p.trans_b}; }

}  // namespace rooftile
