// Operands with padded rows, canaries around C and the check against float64 that the runtime's
// tests share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/half.h"
#include "core/problem.h"
#include "tuner/random.h"
#include "tuner/reference.h"

namespace rooftile {

inline constexpr std::uint32_t kCanary = 0x7fc0beef;

/// Row-major operands of a problem; everything that is no element is NaN, and C's surroundings are
/// canaries.
struct Product {
  Problem problem;
  std::vector<float> a, b, c, c_before;
  std::vector<char> stored_a_elements, stored_b_elements;  // a and b in the problem's type
  std::vector<float> row_scale, column_scale, bias, residual;

  explicit Product(const Problem& p) : problem(p) {
    Random random(static_cast<std::uint64_t>(p.m * 131 + p.n * 17 + p.k));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    fill(a, stored_a(p), p.lda, p.stride_a, random, nan);
    fill(b, stored_b(p), p.ldb, p.stride_b, random, nan);
    stored_a_elements = stored(a);
    stored_b_elements = stored(b);
    fill(c, {p.m, p.n}, p.ldc, p.stride_c, random, std::bit_cast<float>(kCanary));
    c_before = c;
    for (std::vector<float>* x : {&row_scale, &column_scale, &bias}) {
      x->resize(static_cast<std::size_t>(std::max(p.m, p.n)));
      std::generate(x->begin(), x->end(), [&] { return random.symmetric(); });
    }
    fill(residual, {p.m, p.n}, ld_residual(), stride_residual(), random, nan);
  }
  std::int64_t ld_residual() const { return problem.n + 2; }
  std::int64_t stride_residual() const { return problem.m * ld_residual() + 1; }

  bool c_is_untouched() const {
    for (std::size_t i = 0; i < c.size(); ++i)
      if (std::bit_cast<std::uint32_t>(c[i]) != std::bit_cast<std::uint32_t>(c_before[i]))
        return false;
    return true;
  }

  /// Every element within its bound, everything else as it was.
  void expect_right() const {
    const Problem& p = problem;
    Problem wide = one_product(p);  // a and b are float32 here
    wide.type = DataType::kF32;
    for (std::int64_t at = 0; at < static_cast<std::int64_t>(c.size()); ++at) {
      const std::int64_t i = p.batch == 1 ? 0 : std::min(at / p.stride_c, p.batch - 1);
      const std::int64_t row = (at - i * p.stride_c) / p.ldc,
                         column = (at - i * p.stride_c) % p.ldc;
      const auto index = static_cast<std::size_t>(at);
      if (row >= p.m || column >= p.n) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(c[index]),
                  std::bit_cast<std::uint32_t>(c_before[index]))
            << "outside of C at " << row << ", " << column;
        continue;
      }
      const ReferenceElement expected =
          reference_element(wide, a.data() + i * p.stride_a, b.data() + i * p.stride_b,
                            c_before[index], values(i, row, column), row, column);
      ASSERT_LE(error_ratio(roundings(p), expected, c[index]), 1.0)
          << to_string(p) << " product " << i << " at " << row << ", " << column << ": " << c[index]
          << " for " << expected.value;
    }
  }

 private:
  /// In the problem's type; x becomes what is left of it.
  std::vector<char> stored(std::vector<float>& x) const {
    const auto count = static_cast<std::int64_t>(x.size());
    std::vector<char> elements(static_cast<std::size_t>(count * bytes_of(problem.type)));
    narrow(problem.type, x.data(), elements.data(), count);
    widen(problem.type, elements.data(), x.data(), count);
    return elements;
  }
  EpilogueValues values(std::int64_t i, std::int64_t row, std::int64_t column) const {
    const auto at = [](const std::vector<float>& x, std::int64_t index) {
      return static_cast<double>(x[static_cast<std::size_t>(index)]);
    };
    return {.row_scale = at(row_scale, row),
            .column_scale = at(column_scale, column),
            .bias = at(bias, problem.epilogue.bias == Bias::kRow ? row : column),
            .residual = at(residual, i * stride_residual() + row * ld_residual() + column)};
  }

  void fill(std::vector<float>& x, Extent extent, std::int64_t ld, std::int64_t stride,
            Random& random, float outside) const {
    x.assign(static_cast<std::size_t>((problem.batch - 1) * stride + extent.rows * ld + 8),
             outside);
    for (std::int64_t i = 0; i < problem.batch; ++i)
      for (std::int64_t r = 0; r < extent.rows; ++r)
        for (std::int64_t j = 0; j < extent.columns; ++j)
          x[static_cast<std::size_t>(i * stride + r * ld + j)] = random.symmetric();
  }
};

inline Problem padded_problem(std::int64_t m, std::int64_t n, std::int64_t k, Transpose trans_a,
                              Transpose trans_b, float alpha = 1.0f, float beta = 0.0f) {
  Problem p = packed_problem(m, n, k, trans_a, trans_b);
  p.lda += 3;
  p.ldb += 5;
  p.ldc += 1;
  p.alpha = alpha;
  p.beta = beta;
  return p;
}

/// Batch of such products, matrices a little apart; with a shared B all products read the same.
inline Problem padded_batch(Problem p, std::int64_t batch, bool shared_b) {
  p.batch = batch;
  p.stride_a = stored_a(p).rows * p.lda + 7;
  p.stride_b = shared_b ? 0 : stored_b(p).rows * p.ldb + 2;
  p.stride_c = p.m * p.ldc + 1;
  return p;
}

}  // namespace rooftile
