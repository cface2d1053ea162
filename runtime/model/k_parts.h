// How a variant divides k, as the kernels' plan does (generator/layout.h). Internal to
// runtime/model.
#pragma once

#include <cmath>

#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

/// Steps of k in a trip of the kernel's loop. Packed dot products count words of `dot`.
inline double steps_of_trip(const Variant& v) {
  const bool tiles =
      v.family == Family::kTiled || v.family == Family::kMatrix || v.family == Family::kVector;
  return static_cast<double>(tiles ? v.tile_k : v.unroll_k) * v.dot;
}

/// Parts that k is really split into, each of whole trips, and how deep the first is.
struct KParts {
  double parts = 1, depth = 0;
};
inline KParts k_parts(const Problem& p, const Variant& v) {
  const auto k = static_cast<double>(p.k);
  if (v.split_k == 1 || p.k == 0) return {.depth = k};
  const double trip = steps_of_trip(v);
  const double depth = std::ceil(std::ceil(k / v.split_k) / trip) * trip;
  return {.parts = std::ceil(k / depth), .depth = std::min(depth, k)};
}

/// Whether parts are stored apart and added by a second kernel.
inline bool is_reduced(const KParts& k, const Variant& v) {
  return k.parts > 1 || v.reduction == Reduction::kAtomic;
}
/// Parts of C that lie in memory.
inline double stored_parts(const KParts& k, const Variant& v) {
  return v.reduction == Reduction::kAtomic ? 1 : k.parts;
}

}  // namespace rooftile
