// How split-K divides a problem, in the model's arithmetic. Internal to runtime/model.
#pragma once

#include <algorithm>

#include "core/problem.h"
#include "core/variant.h"
#include "generator/layout.h"

namespace rooftile {

/// Elements of k in one trip of the kernel's loop, which itself counts words of `dot`.
inline double elements_of_trip(const Variant& v) { return static_cast<double>(k_step(v)) * v.dot; }

/// The number of partial sums that split-K really makes, and the depth of the first in elements.
struct KSlices {
  double parts = 1, depth = 0;
};
inline KSlices k_slices(const Problem& p, const Variant& v) {
  if (v.split_k == 1 || p.k == 0) return {.depth = static_cast<double>(p.k)};
  const std::int64_t depth = std::min(split_depth(v, p.k) * v.dot, p.k);
  return {.parts = static_cast<double>(k_slices_of(v, p.k)), .depth = static_cast<double>(depth)};
}

/// Whether partial sums lie in a workspace, from which a second kernel makes C.
inline bool is_reduced(const KSlices& k, const Variant& v) {
  return k.parts > 1 || v.reduction == Reduction::kAtomic;
}

}  // namespace rooftile
