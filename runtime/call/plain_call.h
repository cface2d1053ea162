// The most frequent kind of call in a compact form, so that a repeated call is found quickly.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "core/problem.h"

namespace rooftile {

/// Row-major GEMM of one pair of float32 or float64 matrices, without epilogue, with sizes that fit
/// BLAS's 32-bit integers. Not validated.
struct PlainProduct {
  std::int32_t m = 0, n = 0, k = 0;
  std::int32_t lda = 0, ldb = 0, ldc = 0;
  double alpha = 0, beta = 0;
  Transpose trans_a = Transpose::kNo, trans_b = Transpose::kNo;
  bool float64 = false;  ///< Type of the matrices; float32 where false.

  bool operator==(const PlainProduct&) const = default;
};

struct PlainCall {
  PlainProduct product;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};


/// Whether all values that were combined by bitwise or are legal sizes of a plain call.
inline bool is_plain_size(std::int64_t sizes) {
  return sizes >= 0 && sizes <= std::numeric_limits<std::int32_t>::max();
}

/// No value for a problem that is not plain.
inline std::optional<PlainProduct> plain_product(const Problem& p) {
  if (p.batch != 1 || (!is_float32(p.types) && p.types != kFloat64Types) || any(p.epilogue) ||
      !is_plain_size(p.m | p.n | p.k | p.lda | p.ldb | p.ldc))
    return std::nullopt;
  return PlainProduct{.m = static_cast<std::int32_t>(p.m),
                      .n = static_cast<std::int32_t>(p.n),
                      .k = static_cast<std::int32_t>(p.k),
                      .lda = static_cast<std::int32_t>(p.lda),
                      .ldb = static_cast<std::int32_t>(p.ldb),
                      .ldc = static_cast<std::int32_t>(p.ldc),
                      .alpha = p.alpha,
                      .beta = p.beta,
                      .trans_a = p.trans_a,
                      .trans_b = p.trans_b,
                      .float64 = is_float64(p.types)};
}

inline Problem problem_of(const PlainProduct& p) {
  return {.types = p.float64 ? kFloat64Types : Types{},
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .trans_a = p.trans_a,
          .trans_b = p.trans_b,
          .lda = p.lda,
          .ldb = p.ldb,
          .ldc = p.ldc,
          .alpha = p.alpha,
          .beta = p.beta};
}

}  // namespace rooftile
