#include "runtime/resident/row_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "generator/emit_rows.h"
#include "runtime/resident/row_check_tools.h"

namespace rooftile {

using namespace row_check;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

double softmax_bound(double value, double largest, std::int64_t used, double y) {
  // The argument of exp has two roundings of products and one of the difference. A sum of an
  // invocation is scaled once more for each larger value that it meets, and once when the
  // invocations combine; those arguments add up to at most the distance between the extremes.
  const double distance = std::abs(value - largest) + std::abs(largest),
               steps = static_cast<double>(used) / kRowsLocalSize + kRowsLocalSize + 2,
               of_exp = kUnit * (std::abs(value) + std::abs(largest) + distance) +
                        kUlp * (3 + 2 * distance),
               of_sum = of_exp + steps * (kUlp * 3 + 2 * kUnit) + kUlp * 2 * distance;
  return y * (of_exp + of_sum + 2.5 * kUlp) * 1.01 + kSmallestNormal;
}

double multiply_bound(Activation activation, double x, double y) {
  // An activation is within 16 units in the last place of its argument
  // (runtime/verify/reference.h).
  const double of_activation =
      activation == Activation::kNone ? 0 : 16 * kUlp * std::abs(x) * largest_slope(activation);
  const double exact = std::abs(activate(activation, x) * y);
  return of_activation * std::abs(y) + kUnit * (exact + of_activation * std::abs(y)) +
         kSmallestNormal * (1 + std::abs(y));
}

void check_softmax(std::shared_ptr<Device> device, const ShaderCache& cache) {
  constexpr std::int64_t kRows = 5, kColumns = 2 * kRowsLocalSize + 3, kBatch = 2, kPast = 127;
  constexpr std::int64_t kLdX = kColumns + 2, kLdY = kColumns + 1;
  constexpr float kScale = 0.75f;
  Random random(1);
  const RowMatrices x = {random_memory(*device, kOffset + kBatch * kRows * kLdX, 20, random),
                         kOffset, kLdX, kRows * kLdX},
                    y = {random_memory(*device, kOffset + kBatch * kRows * kLdY, 1, random),
                         kOffset, kLdY, kRows * kLdY};
  // In the first matrix only: -infinity beside numbers and without, NaN, and infinity.
  auto* const values = static_cast<float*>(x.memory->buffer.mapped());
  values[at(x, 0, 7)] = values[at(x, 0, 70)] = -kInfinity;
  std::fill_n(values + at(x, 1, 0), kColumns, -kInfinity);
  values[at(x, 2, 70)] = kNan;
  values[at(x, 3, 7)] = kInfinity;
  const std::vector<float> in = values_of<float>(*x.memory);
  std::vector<float> outside = values_of<float>(*y.memory);
  run(*device,
      SoftmaxCall{.rows = kRows,
                  .columns = kColumns,
                  .batch = kBatch,
                  .x = x,
                  .y = y,
                  .scale = kScale,
                  .causal = true,
                  .causal_offset = kPast},
      emit_softmax(), cache);
  const std::vector<float> out = values_of<float>(*y.memory);
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t row = 0; row < kRows; ++row) {
      const float* const from = in.data() + x.offset + b * x.stride + row * kLdX;
      const std::int64_t first = y.offset + b * y.stride + row * kLdY,
                         used = std::min(kColumns, row + kPast + 1);
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t j = 0; j < used; ++j) largest = std::max(largest, double{kScale} * from[j]);
      for (std::int64_t j = 0; j < used; ++j) sum += std::exp(double{kScale} * from[j] - largest);
      for (std::int64_t j = 0; j < kColumns; ++j) {
        const double value = double{kScale} * from[j],
                     exact = j < used ? std::exp(value - largest) / sum : 0;
        const auto i = static_cast<std::size_t>(first + j);
        const bool is_sum = j < used && std::isfinite(value);
        expect(out[i], exact, is_sum ? softmax_bound(value, largest, used, exact) : 0, "softmax");
        outside[i] = out[i];
      }
    }
  expect_unchanged(outside, out, "softmax");
}

void check_multiply(std::shared_ptr<Device> device, Activation activation,
                    const ShaderCache& cache) {
  constexpr std::int64_t kRows = 3, kColumns = kRowsLocalSize + 5;
  constexpr std::int64_t kLdX = kColumns + 1, kLdY = kColumns + 2, kLdZ = kColumns + 3;
  Random random(2);
  const auto matrices = [&](std::int64_t ld) {
    return random_matrix(*device, kRows, ld, 4, random);
  };
  const RowMatrices x = matrices(kLdX), y = matrices(kLdY), z = matrices(kLdZ);
  auto* const values = static_cast<float*>(x.memory->buffer.mapped());
  values[at(x, 0, 3)] = kNan;
  values[at(x, 1, 5)] = kInfinity;
  values[at(x, 2, 0)] = -kInfinity;
  const std::vector<float> in_x = values_of<float>(*x.memory), in_y = values_of<float>(*y.memory);
  std::vector<float> outside = values_of<float>(*z.memory);
  run(*device,
      MultiplyCall{
          .rows = kRows, .columns = kColumns, .activation = activation, .x = x, .y = y, .z = z},
      emit_multiply(activation), cache);
  const std::vector<float> out = values_of<float>(*z.memory);
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::int64_t j = 0; j < kColumns; ++j) {
      const double a = in_x[at(x, row, j)], b = in_y[at(y, row, j)];
      const std::size_t i = at(z, row, j);
      expect(out[i], activate(activation, a) * b, multiply_bound(activation, a, b), "multiply");
      outside[i] = out[i];
    }
  expect_unchanged(outside, out, "multiply");
}

}  // namespace rooftile
