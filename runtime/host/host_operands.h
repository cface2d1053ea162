// Conversion of operands to float32 or float64 on all processors, and of results back to C's type.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>

#include "core/quantized.h"

namespace rooftile {

/// Allocates memory without zeroing it, which would cost as much as filling it.
template <typename T>
std::unique_ptr<T[]> uninitialized(std::int64_t elements) {
  return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(elements));
}

/// Whether elements of this type are those of Real, float or double, as they lie in memory.
template <typename Real>
constexpr bool is_type(DataType type) {
  return type == (std::is_same_v<Real, float> ? DataType::kF32 : DataType::kF64);
}

/// Converts rows of Real, float or double, ld_from elements apart, to a matrix of another type.
template <typename Real>
void narrow_matrix(DataType type, Extent extent, const Real* from, std::int64_t ld_from, void* to,
                   std::int64_t ld_to);
/// Converts rows of a matrix of another type to rows of Real, ld_to elements apart.
template <typename Real>
void widen_rows(DataType type, Extent extent, const void* from, std::int64_t ld_from, Real* to,
                std::int64_t ld_to);
/// Dequantises B to op(B): n x k elements with ld k.
template <typename Real>
void dequantize_matrix(const Problem& p, const QuantizedOperand& b, Real* to);

/// One operand of a batch as Real, float or double: the caller's memory where it has that type,
/// else a widened copy without padding. A matrix that the whole batch shares is widened once.
template <typename Real>
class WideOperand {
 public:
  WideOperand(DataType type, Extent extent, std::int64_t ld)
      : type_(type), extent_(extent), ld_(ld) {
    if (!is_wide()) copy_ = uninitialized<Real>(extent.rows * extent.columns);
  }
  const Real* of(const void* matrix) {
    if (is_wide()) return static_cast<const Real*>(matrix);
    if (matrix != widened_) widen_rows(type_, extent_, matrix, ld_, copy_.get(), extent_.columns);
    widened_ = matrix;
    return copy_.get();
  }
  /// Elements between the rows of what of() returns; at least 1.
  std::int64_t ld() const { return is_wide() ? ld_ : std::max<std::int64_t>(extent_.columns, 1); }

 private:
  bool is_wide() const { return is_type<Real>(type_); }

  DataType type_;
  Extent extent_;
  std::int64_t ld_;
  const void* widened_ = nullptr;
  std::unique_ptr<Real[]> copy_;
};

}  // namespace rooftile
