// Copies of operands that BLAS cannot read as they are, in float32 or float64, and the way back of
// results.
#pragma once

#include <memory>

#include "core/quantized.h"

namespace rooftile {

/// Memory that is not zeroed first: that would cost as much as filling it.
std::unique_ptr<float[]> uninitialized_floats(std::int64_t elements);
std::unique_ptr<double[]> uninitialized_doubles(std::int64_t elements);

/// A matrix of another type as float32, all processors at work: its span, with the same ld.
void widen_matrix(DataType type, Extent extent, std::int64_t ld, const void* from, float* to);
/// Rows of float32, ld_from apart, into a matrix of another type.
void narrow_matrix(DataType type, Extent extent, const float* from, std::int64_t ld_from, void* to,
                   std::int64_t ld_to);
/// Rows of a matrix of another type as float32, ld_to apart.
void widen_rows(DataType type, Extent extent, const void* from, std::int64_t ld_from, float* to,
                std::int64_t ld_to);
void widen_rows(DataType type, Extent extent, const void* from, std::int64_t ld_from, double* to,
                std::int64_t ld_to);
/// op(B) of a quantised B, n x k elements, ld k.
void dequantize_matrix(const Problem& p, const QuantizedOperand& b, float* to);
void dequantize_matrix(const Problem& p, const QuantizedOperand& b, double* to);

}  // namespace rooftile
