// Random weights of every magnitude of a type, block by block.
#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/types.h"

namespace rooftile {

/// Common property of a block's values.
enum class WeightBlock : std::uint8_t {
  kZero,
  kConstant,
  kNegative,
  kOutlier,
  kNearlyEqual,
  kMixed
};

/// Finite values of one block, within the range of weights for an A of this type.
inline std::vector<float> random_block(DataType a, std::int64_t size) {
  const bool half = a == DataType::kF16;
  const double most = half ? 65504.0 : static_cast<double>(std::numeric_limits<float>::max());
  // Magnitudes from subnormal numbers to the type's largest, which is drawn often.
  const int exponent = half ? *rc::gen::inRange(-26, 17) : *rc::gen::inRange(-150, 129);
  const double largest = std::min(most, std::ldexp(1.0, exponent));
  const auto unit = [] { return *rc::gen::inRange(-1000, 1001) / 1000.0; };
  const auto kind =
      *rc::gen::element(WeightBlock::kZero, WeightBlock::kConstant, WeightBlock::kNegative,
                        WeightBlock::kOutlier, WeightBlock::kNearlyEqual, WeightBlock::kMixed);
  const double first = unit() < 0 ? -largest : largest;
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i) {
    double x = largest * unit();
    if (kind == WeightBlock::kZero) x = 0;
    if (kind == WeightBlock::kConstant) x = first;
    if (kind == WeightBlock::kNegative) x = -std::abs(x);
    if (kind == WeightBlock::kOutlier && i > 0) x *= 1e-4;
    if (kind == WeightBlock::kOutlier && i == 0) x = first;
    if (kind == WeightBlock::kNearlyEqual) x = first * (1 - 0x1p-13 * std::abs(unit()));
    values.push_back(static_cast<float>(x));
  }
  return values;
}

/// rows x k weights, row by row.
inline std::vector<float> random_weights(const Types& types, std::int64_t rows, std::int64_t k) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t step = 0; step < k; step += types.b.block) {
      const std::vector<float> block =
          random_block(types.a, std::min<std::int64_t>(types.b.block, k - step));
      values.insert(values.end(), block.begin(), block.end());
    }
  return values;
}

/// Any legal types with a quantised B whose scales lie apart, with a C of float32.
inline Types random_quantized_types() {
  const DataType a = *rc::gen::element(DataType::kF32, DataType::kF16);
  return {.a = a,
          .b = {.bits = *rc::gen::element(4, 8),
                .block = *rc::gen::element(16, 32, 64, 128, 256),
                .zero_point =
                    *rc::gen::element(ZeroPoint::kMiddle, ZeroPoint::kPacked, ZeroPoint::kFloat)},
          .c = DataType::kF32};
}

}  // namespace rooftile
