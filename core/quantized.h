// A quantised B in memory (Quantization in core/types.h): how to read it, and how to make it from
// float32.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.h"

namespace rooftile {

/// Whether the permission to add in half precision is used. With a quantised B it is not: kernels
/// add a * (q - zero point) and scale afterwards, which overflows where weights and results are
/// small.
inline bool may_sum_in_f16(const Types& t) { return t.sums == Sums::kF16 && !quantized(t); }

/// Host memory of a quantised matrix of rows x k: values rows * ld * bits / 8 bytes, scales and
/// float zero points rows * blocks elements of the type of A, packed zero points rows *
/// zero_point_bytes_per_row. zero_points is null when they lie in the middle.
struct QuantizedOperand {
  const void* values = nullptr;
  const void* scales = nullptr;
  const void* zero_points = nullptr;
};

/// Bytes of the values, scales and zero points of a B of p.n rows and p.k values, for all experts
/// of a grouped problem.
struct QuantizedBytes {
  std::int64_t values = 0, scales = 0, zero_points = 0;
};
QuantizedBytes quantized_bytes(const Problem& p);

/// Zero point of one block of a row (a column of op(B)).
double zero_point(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                  std::int64_t block);
/// Largest |q - zero point| that a value q of q.bits bits can have.
double largest_distance(const Quantization& q, double zero_point);
/// Largest magnitude of a weight beside A of this type. Weights beside a float16 A are float16 as
/// well (the operator's own definition), so |scale| * largest_distance() must not exceed it.
double largest_weight(DataType a);

/// The value of B at a row (column of op(B)) and a step of k: (q - zero point) * scale, in float64.
double dequantized(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                   std::int64_t step);
/// Writes a row's k values without cancellation, for error bounds: (q + |zero point|) * |scale|.
void dequantized_magnitudes(const Problem& p, const QuantizedOperand& b, std::int64_t row,
                            double* magnitudes);
/// Writes rows [begin, end) as float32 or float64, k values each, ld apart. The subtraction of the
/// zero point and the multiplication with the scale are each rounded to that type.
void dequantize(const Problem& p, const QuantizedOperand& b, std::int64_t begin, std::int64_t end,
                float* values, std::int64_t ld);
void dequantize(const Problem& p, const QuantizedOperand& b, std::int64_t begin, std::int64_t end,
                double* values, std::int64_t ld);

/// The result of quantize(), ready for a call.
struct QuantizedMatrix {
  std::vector<std::uint8_t> values;
  std::vector<char> scales, zero_points;

  QuantizedOperand operand() const {
    return {values.data(), scales.data(), zero_points.empty() ? nullptr : zero_points.data()};
  }
};

/// Quantises rows x k float32 values as types.b says, with scales in the type of A. The value of a
/// row and a step of k lies row * row_stride + step * step_stride behind values.
///
/// Each block gets 2^bits equidistant steps that cover its values and lie within largest_weight();
/// scales are rounded away from zero for this. A value becomes the nearest step:
///   - Zero points in the middle, or packed: the step is off by at most |scale|; zero is exact.
///   - Float zero points: by at most |scale| and the rounding of the zero point, which is relative
///     to the block's largest magnitude. Steps are not finer than A's type can tell apart, and a
///     block of equal values is exact to that type's rounding.
/// A block of zeros has scale 0 or, with zero points, 1.
///
/// In the blocks of a format values become what quantize_block() makes of them.
///
/// Throws kInvalidArgument, naming row and column of the k x n matrix op(B), for values that are
/// not finite, exceed largest_weight() or do not lie within the format's reach_of(), and for blocks
/// whose scales would allow weights beyond largest_weight(). A call takes all else that is
/// returned.
QuantizedMatrix quantize(const Types& types, std::int64_t rows, std::int64_t k, const float* values,
                         std::int64_t row_stride, std::int64_t step_stride);

}  // namespace rooftile
