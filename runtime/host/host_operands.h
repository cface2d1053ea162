// Conversion of operands to float32 or float64 on all processors, and of results back to C's type.
#pragma once

#include <memory>
#include <type_traits>

#include "core/quantized.h"
#include "runtime/host/host_blas.h"

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
                std::int64_t ld_to, HostThreads threads = HostThreads::kAll);
/// Dequantises B to op(B): n x k elements with ld k.
template <typename Real>
void dequantize_matrix(const Problem& p, const QuantizedOperand& b, Real* to);

}  // namespace rooftile
