#pragma once

#include <vector>

#include "core/numbers/random.h"
#include "core/quantized.h"

namespace rooftile {

/// Returns `elements` random elements in their storage format: uniform in [-1, 1) and rounded to
/// the type; 8-bit integers over their whole range.
std::vector<char> random_operand(DataType type, std::int64_t elements, Random& random);

/// Returns `elements` ones.
std::vector<char> ones(DataType type, std::int64_t elements);

/// Returns bytes of all values.
std::vector<char> random_bytes(std::int64_t count, Random& random);

/// Returns a stored B of `elements` elements: the values of a quantised B, or whole blocks, else as
/// above.
std::vector<char> random_b(const Types& types, std::int64_t elements, Random& random);

/// The same for operands that are timed, of which millions of elements would take longer than the
/// kernels: the values repeat after 2^20 - 3 elements (a prime, so that no row of a usual problem
/// begins where they do), of block formats after 32749 blocks.
std::vector<char> repeated_operand(DataType type, std::int64_t elements, Random& random);
std::vector<char> repeated_b(const Types& types, std::int64_t elements, Random& random);

/// Scales and zero points of a quantised B; empty where there are none. Floating-point zero points
/// lie within the range of the values.
struct RandomQuantization {
  std::vector<char> scales, zero_points;
};
RandomQuantization random_quantization(const Problem& p, Random& random);

/// Returns a quantised B of equal scales and equal integers, which are powers of two as far as its
/// format allows, and its separate scales and zero points.
std::vector<char> equal_b(const Types& types, std::int64_t elements);
RandomQuantization equal_quantization(const Problem& p);

}  // namespace rooftile
