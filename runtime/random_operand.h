#pragma once

#include <vector>

#include "core/quantized.h"
#include "core/random.h"

namespace rooftile {

/// So many elements as they lie in memory: uniform in [-1, 1) and rounded to the type, 8-bit
/// integers in their whole range.
std::vector<char> random_operand(DataType type, std::int64_t elements, Random& random);

/// A stored B of so many elements: values of a quantised one, else as above.
std::vector<char> random_b(const Types& types, std::int64_t elements, Random& random);

/// Scales and zero points of a quantised B; empty where there are none. Zero points that are floats
/// lie among the values.
struct RandomQuantization {
  std::vector<char> scales, zero_points;
};
RandomQuantization random_quantization(const Problem& p, Random& random);

}  // namespace rooftile
