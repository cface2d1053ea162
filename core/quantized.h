// A quantised B in memory (Quantization in core/types.h): reading it, and making it from float32.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.h"

namespace rooftile {

/// Host memory of a quantised matrix of rows x k: values rows * ld * bits / 8 bytes, scales and
/// float zero points rows * blocks elements of the type of A, packed zero points rows *
/// zero_point_bytes_per_row. zero_points is null when they lie in the middle.
struct QuantizedOperand {
  const void* values = nullptr;
  const void* scales = nullptr;
  const void* zero_points = nullptr;
};

/// Bytes of each part of B, for p.n rows of p.k.
struct QuantizedBytes {
  std::int64_t values = 0, scales = 0, zero_points = 0;
};
QuantizedBytes quantized_bytes(const Problem& p);

/// The value of B at a row (column of op(B)) and a step of k: (q - zero point) * scale, in float64.
double dequantized(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                   std::int64_t step);
/// The same with nothing cancelled: (q + |zero point|) * |scale|.
double dequantized_magnitude(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                             std::int64_t step);
/// Rows [begin, end) as float32, k values each, ld apart. Each value is rounded once or twice.
void dequantize(const Problem& p, const QuantizedOperand& b, std::int64_t begin, std::int64_t end,
                float* values, std::int64_t ld);

/// What quantize() makes, ready for a call.
struct QuantizedMatrix {
  std::vector<std::uint8_t> values;
  std::vector<char> scales, zero_points;

  QuantizedOperand operand() const {
    return {values.data(), scales.data(), zero_points.empty() ? nullptr : zero_points.data()};
  }
};

/// Quantises rows x k float32 values as types.b says, scales in types.a's type: each block to the
/// nearest of its 2^bits steps. Zero points in the middle: the largest magnitude becomes the lowest
/// value, so that zero is exact; else the steps run from the smallest to the largest value (zero
/// included when zero points are packed). A block of zeros has scale 0 or, with zero points, 1.
/// The value of a row and step lies row * row_stride + step * step_stride behind values. Throws
/// kInvalidArgument for values that are not finite, and for scales that are not in the type of A.
QuantizedMatrix quantize(const Types& types, std::int64_t rows, std::int64_t k, const float* values,
                         std::int64_t row_stride, std::int64_t step_stride);

}  // namespace rooftile
