// Conversion of operands to float32 or float64 for BLAS, and of results back to C's type.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>

#include "core/quantized.h"

namespace rooftile {

/// Allocate memory without zeroing it, which would cost as much as filling it.
std::unique_ptr<float[]> uninitialized_floats(std::int64_t elements);
std::unique_ptr<double[]> uninitialized_doubles(std::int64_t elements);

/// Converts a matrix of another type to float32 with the same ld, on all processors. All elements
/// of its span are converted.
void widen_matrix(DataType type, Extent extent, std::int64_t ld, const void* from, float* to);
/// Converts rows of float32, ld_from elements apart, to a matrix of another type.
void narrow_matrix(DataType type, Extent extent, const float* from, std::int64_t ld_from, void* to,
                   std::int64_t ld_to);
/// Convert rows of a matrix of another type to float32 or float64 rows, ld_to elements apart.
void widen_rows(DataType type, Extent extent, const void* from, std::int64_t ld_from, float* to,
                std::int64_t ld_to);
void widen_rows(DataType type, Extent extent, const void* from, std::int64_t ld_from, double* to,
                std::int64_t ld_to);
/// One operand of a batch as Real, float or double: the caller's memory where it has that type,
/// else a widened copy without padding. A matrix that the whole batch shares is widened once.
template <typename Real>
class WideOperand {
 public:
  WideOperand(DataType type, Extent extent, std::int64_t ld)
      : type_(type), extent_(extent), ld_(ld) {
    if (!is_wide())
      copy_ = std::make_unique_for_overwrite<Real[]>(
          static_cast<std::size_t>(extent.rows * extent.columns));
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
  bool is_wide() const { return std::is_same_v<Real, float> && type_ == DataType::kF32; }

  DataType type_;
  Extent extent_;
  std::int64_t ld_;
  const void* widened_ = nullptr;
  std::unique_ptr<Real[]> copy_;
};

/// Dequantise B to op(B): n x k elements with ld k.
void dequantize_matrix(const Problem& p, const QuantizedOperand& b, float* to);
void dequantize_matrix(const Problem& p, const QuantizedOperand& b, double* to);

}  // namespace rooftile
