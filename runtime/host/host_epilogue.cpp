#include "runtime/host/host_epilogue.h"

#include <algorithm>
#include <cmath>

#include "runtime/support/parallel.h"

namespace rooftile {
namespace {

constexpr std::int64_t kElementsPerThread = 1 << 17;  // Less work is not worth starting a thread.

float activated(Activation activation, float x) {
  constexpr float kSqrtHalf = 0.70710678f, kSqrtTwoOverPi = 0.79788456f;
  switch (activation) {
    case Activation::kRelu:
      return x < 0 ? 0.0f : x;
    case Activation::kGeluErf:
      return 0.5f * x * (1 + std::erf(x * kSqrtHalf));
    case Activation::kGeluTanh:
      return 0.5f * x * (1 + std::tanh(kSqrtTwoOverPi * (x + 0.044715f * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kNone:
      break;
  }
  return x;
}

class Pass {
 public:
  Pass(const Problem& p, const EpilogueOperands& operands, std::int64_t i, const float* sums,
       std::int64_t ld_sums, float* c)
      : p_(p), x_(operands), residual_(operands.residual), sums_(sums), ld_sums_(ld_sums), c_(c) {
    if (residual_ != nullptr) residual_ += i * operands.stride_residual;
  }

  void rows(std::int64_t begin, std::int64_t end) const {
    const Epilogue& e = p_.epilogue;
    for (std::int64_t row = begin; row < end; ++row) {
      const float scale = e.row_scale ? x_.row_scale[row] : 1.0f;
      const float row_bias = e.bias == Bias::kRow ? x_.bias[row] : 0.0f;
      for (std::int64_t column = 0; column < p_.n; ++column) {
        float y = sums_[row * ld_sums_ + column];
        float& target = c_[row * p_.ldc + column];
        if (e.row_scale) y *= scale;
        if (e.column_scale) y *= x_.column_scale[column];
        if (p_.beta != 0.0f) y += static_cast<float>(p_.beta) * target;
        if (e.bias != Bias::kNone) y += e.bias == Bias::kRow ? row_bias : x_.bias[column];
        y = activated(e.activation, y);
        if (e.residual) y += residual_[row * x_.ld_residual + column];
        if (e.clamp) y = y < e.low ? e.low : y > e.high ? e.high : y;
        target = y;
      }
    }
  }

 private:
  const Problem& p_;
  const EpilogueOperands& x_;
  const float* residual_;
  const float* sums_;
  std::int64_t ld_sums_;
  float* c_;
};

}  // namespace

void apply_epilogue(const Problem& p, const EpilogueOperands& operands, std::int64_t i,
                    const float* sums, std::int64_t ld_sums, float* c) {
  const Pass pass(p, operands, i, sums, ld_sums, c);
  const std::int64_t rows_per_thread = kElementsPerThread / std::max<std::int64_t>(p.n, 1) + 1;
  parallel_ranges(p.m, rows_per_thread,
                  [&pass](std::int64_t begin, std::int64_t end) { pass.rows(begin, end); });
}

}  // namespace rooftile
