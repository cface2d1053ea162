// Place of a problem in a direct-mapped cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/problem.h"

namespace rooftile {

/// Below `slots`. Problems that differ in sizes, leading dimensions or `kind` hardly ever share
/// one.
inline std::size_t slot_of(const Problem& p, std::uint64_t kind, std::size_t slots) {
  std::uint64_t h = static_cast<std::uint64_t>(p.m) ^ (kind << 32);
  for (const std::int64_t x : {p.n, p.k, p.lda, p.ldb, p.ldc, p.batch})
    h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>((h ^ (h >> 32)) % slots);
}

}  // namespace rooftile
