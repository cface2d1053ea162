// Softmax of rows and products element by element, as steps of a list.
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/resident/row_check.h"
#include "tests/support/row_list.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kCanaryValue = -7.25f;

class RowOperationsTest : public RowListTest {};

/// Expects y to be the softmax of x, NaN included, and everything between its rows to be unchanged.
void expect_softmax(const rooftile_softmax_args& args, const std::vector<float>& x,
                    const std::vector<float>& y, const std::vector<float>& y_before) {
  std::vector<float> outside = y;
  for (std::int64_t b = 0; b < args.batch; ++b)
    for (std::int64_t i = 0; i < args.rows; ++i) {
      const float* const from = x.data() + b * args.stride_x + i * args.ld_x;
      const std::int64_t used =
          args.causal == 0 ? args.columns
                           : std::clamp<std::int64_t>(i + args.causal_offset + 1, 0, args.columns);
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t j = 0; j < used; ++j)
        largest = std::max(largest, double{args.scale} * from[j]);
      for (std::int64_t j = 0; j < used; ++j)
        sum += std::exp(double{args.scale} * from[j] - largest);
      for (std::int64_t j = 0; j < args.columns; ++j) {
        const auto at = static_cast<std::size_t>(b * args.stride_y + i * args.ld_y + j);
        const double value = double{args.scale} * from[j],
                     exact = j < used ? std::exp(value - largest) / sum : 0;
        const double bound =
            j < used && std::isfinite(value) ? softmax_bound(value, largest, used, exact) : 0;
        ASSERT_TRUE(std::isnan(exact) ? std::isnan(y[at]) : std::abs(y[at] - exact) <= bound)
            << "matrix " << b << ", row " << i << ", column " << j << ": " << y[at]
            << " instead of " << exact;
        outside[at] = y_before[at];
      }
    }
  // NaN is not equal to itself.
  EXPECT_EQ(std::memcmp(outside.data(), y_before.data(), y.size() * sizeof y[0]), 0);
}

TEST_F(RowOperationsTest, SoftmaxIsRightAtEveryWidthAroundTheWorkgroup) {
  for (const std::int64_t columns : {1, 3, 63, 64, 65, 129}) {
    const rooftile_softmax_args args = {.struct_size = sizeof args,
                                        .rows = 3,
                                        .columns = columns,
                                        .batch = 2,
                                        .ld_x = columns + 1,
                                        .ld_y = columns + 2,
                                        .stride_x = 3 * (columns + 1) + 1,
                                        .stride_y = 3 * (columns + 2),
                                        .scale = -1.5f};
    const std::vector<float> x = random_values(static_cast<std::size_t>(2 * args.stride_x), 30),
                             y_before(static_cast<std::size_t>(2 * args.stride_y), kCanaryValue);
    const rooftile_place of_x = put(x, 3, 4), of_y = put(y_before, 5, 4);
    ok(rooftile_list_softmax(list_, &args, of_x, of_y));
    run();
    expect_softmax(args, x, download(of_y, y_before.size()), y_before);
  }
}

TEST_F(RowOperationsTest, SoftmaxInPlaceUsesTheColumnsOfTheMaskOnly) {
  // The first rows use no column, the last ones all.
  rooftile_softmax_args args = softmax_args(75, 71, 2);
  args.columns = 70, args.causal = 1;
  std::vector<float> x = random_values(75 * 71, 4);
  x[20 * 71 + 4] = -kInfinity;  // A value that a program masked itself.
  for (const std::int64_t offset :
       {std::int64_t{-3}, std::int64_t{0}, std::int64_t{-90},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    args.causal_offset = offset;
    const rooftile_place place = put(x, 0, 4);
    ok(rooftile_list_softmax(list_, &args, place, place));
    run();
    args.causal_offset = std::clamp<std::int64_t>(offset, -100, 100);
    expect_softmax(args, x, download(place, x.size()), x);
  }
}

TEST_F(RowOperationsTest, SoftmaxOfLargeValuesDoesNotOverflow) {
  const std::vector<float> x = {3e38f, 1e38f, 3e38f, -3e38f};
  const rooftile_softmax_args args = softmax_args(1, 4);
  const rooftile_place place = put(x, 0, 4);
  ok(rooftile_list_softmax(list_, &args, place, place));
  run();
  EXPECT_THAT(download(place, 4), ::testing::ElementsAre(0.5f, 0.0f, 0.5f, 0.0f));
}

// Lavapipe leaves the loops of an invocation after 65535 trips in all, without reporting it.
TEST_F(RowOperationsTest, SoftmaxOfALongRowIsRightOrRefused) {
  for (const std::int64_t columns : {1'000'003, 3'000'001}) {
    const rooftile_softmax_args args = softmax_args(1, columns);
    const std::vector<float> x = random_values(static_cast<std::size_t>(columns), 3);
    const rooftile_place place = put(x, 0, 4);
    start_new_list();
    if (device_.limits.max_loop_trips > 0 && columns > 2'000'000) {
      EXPECT_EQ(rooftile_list_softmax(list_, &args, place, place), ROOFTILE_UNSUPPORTED);
      EXPECT_THAT(rooftile_last_error(), HasSubstr("loop trips"));
      continue;
    }
    ok(rooftile_list_softmax(list_, &args, place, place));
    run();
    expect_softmax(args, x, download(place, x.size()), x);
  }
}

TEST_F(RowOperationsTest, SoftmaxOfARowIsNanWithNanOrInfinityOrWithoutAnyNumber) {
  // As in NumPy, on every driver. The planted columns belong to different invocations, to the same
  // one (3 and 67), and to what the mask hides.
  constexpr std::int64_t kColumns = 131, kRows = 9;
  std::vector<float> x = random_values(kRows * kColumns, 4);
  const auto row = [&](std::int64_t i) { return x.begin() + i * kColumns; };
  std::fill_n(row(0), kColumns, -kInfinity);
  row(1)[67] = kNan;
  std::fill_n(row(2), kColumns, -kInfinity);
  row(2)[5] = kNan;
  row(3)[3] = kInfinity;
  row(4)[0] = row(4)[3] = row(4)[130] = -kInfinity;
  row(5)[3] = -kInfinity, row(5)[67] = kInfinity;
  std::fill_n(row(6), kColumns, kInfinity);
  row(7)[130] = kNan, row(7)[129] = kInfinity, row(7)[128] = -kInfinity;
  std::fill_n(row(8), kColumns, -kInfinity);
  row(8)[70] = -2;
  for (const float scale : {1.0f, -0.5f, 0.0f, kNan})
    for (const std::int64_t causal : {0, 1}) {
      rooftile_softmax_args args = softmax_args(kRows, kColumns, scale);
      args.causal = causal, args.causal_offset = 119;  // rows 0 to 8 use 120 to 128
      const rooftile_place place = put(x, 0, 4);
      ok(rooftile_list_softmax(list_, &args, place, place));
      run();
      SCOPED_TRACE(fmt::format("scale {}, causal {}", scale, causal));
      expect_softmax(args, x, download(place, x.size()), x);
      start_new_list();
    }
}

TEST_F(RowOperationsTest, SoftmaxOfAProductBeyondFloat32IsNan) {
  const std::vector<float> x = {1, 3e38f, 2, 3};
  const rooftile_softmax_args args = softmax_args(1, 4, 2);
  const rooftile_place place = put(x, 0, 4);
  ok(rooftile_list_softmax(list_, &args, place, place));
  run();
  for (const float y : download(place, 4)) EXPECT_TRUE(std::isnan(y)) << y;
}

TEST_F(RowOperationsTest, MultiplyKeepsWhatTheActivationsFormulasGiveForNanInfinityAndExtremes) {
  const std::vector<float> x = {kNan, -kNan, kInfinity, -kInfinity, 3e38f,  -3e38f,  1e20f, -1e20f,
                                1e4f, -1e4f, 100,       -100,       1e-30f, -1e-30f, 0.0f,  -0.0f};
  const auto columns = static_cast<std::int64_t>(x.size());
  for (int activation = 0; activation <= ROOFTILE_SILU; ++activation) {
    const rooftile_multiply_args args = multiply_args(3, columns, activation);
    std::vector<float> rows_of_x, y;
    for (const float factor : {1.0f, kNan, kInfinity}) {
      rows_of_x.insert(rows_of_x.end(), x.begin(), x.end());
      y.insert(y.end(), x.size(), factor);
    }
    const rooftile_place of_x = put(rows_of_x, 0, 4), of_y = put(y, 0, 4);
    ok(rooftile_list_multiply(list_, &args, of_x, of_y, of_y));
    run();
    const std::vector<float> z = download(of_y, y.size());
    for (std::size_t i = 0; i < z.size(); ++i) {
      const auto kind = static_cast<Activation>(activation);
      const double a = rows_of_x[i], b = y[i], activated = activate(kind, a), exact = activated * b;
      // An activation that float32 or a device rounds to 0 times infinity is NaN.
      if (std::isinf(b) && std::abs(activated) < 0x1p-100) continue;
      EXPECT_TRUE(std::isnan(exact)   ? std::isnan(z[i])
                  : std::isinf(exact) ? z[i] == exact
                                      : std::abs(z[i] - exact) <= multiply_bound(kind, a, b))
          << "activation " << activation << " of " << a << " times " << b << " is " << z[i];
    }
    start_new_list();
  }
}

TEST_F(RowOperationsTest, MultiplyIsRightWithEveryActivationAndInPlace) {
  for (int activation = 0; activation <= ROOFTILE_SILU; ++activation) {
    rooftile_multiply_args args = multiply_args(3, 67, activation);
    args.ld_x = 68, args.ld_y = args.ld_z = 70;
    const std::vector<float> x = random_values(3 * 68, 6), y = random_values(3 * 70, 2);
    const rooftile_place of_x = put(x, 1, 4), of_y = put(y, 2, 4);
    ok(rooftile_list_multiply(list_, &args, of_x, of_y, of_y));
    run();
    const std::vector<float> z = download(of_y, y.size());
    std::vector<float> outside = y;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 67; ++j) {
        const auto kind = static_cast<Activation>(activation);
        const double a = x[i * 68 + j], b = y[i * 70 + j];
        ASSERT_LE(std::abs(z[i * 70 + j] - activate(kind, a) * b), multiply_bound(kind, a, b))
            << "activation " << activation << " of " << a << " times " << b;
        outside[i * 70 + j] = z[i * 70 + j];
      }
    EXPECT_EQ(outside, z);
    start_new_list();
  }
}

TEST_F(RowOperationsTest, StepsOfAListSeeEachOthersResults) {
  const std::vector<float> ones(6 * 6, 1.0f);
  const rooftile_place x = put(ones, 0, 4), y = {create(6 * 6 * 4), 0}, z = {create(6 * 6 * 4), 0};
  // y := x * x, all 6; y := softmax(y), all 1/6; z := y * y, all 1/36; x := z * x, all 1/6.
  const rooftile_gemm_args gemm = {.struct_size = sizeof gemm,
                                   .m = 6,
                                   .n = 6,
                                   .k = 6,
                                   .batch = 1,
                                   .alpha = 1,
                                   .lda = 6,
                                   .ldb = 6,
                                   .ldc = 6};
  rooftile_resident_operands operands = {.struct_size = sizeof operands, .a = x, .b = x, .c = y};
  ok(rooftile_list_gemm(list_, &gemm, &operands));
  const rooftile_softmax_args softmax = softmax_args(6, 6);
  ok(rooftile_list_softmax(list_, &softmax, y, y));
  const rooftile_multiply_args multiply = multiply_args(6, 6);
  ok(rooftile_list_multiply(list_, &multiply, y, y, z));
  operands.a = z, operands.b = x, operands.c = y;
  ok(rooftile_list_gemm(list_, &gemm, &operands));
  run();
  for (const float value : download(y, 36)) EXPECT_NEAR(value, 1.0f / 6, 1e-6f);
}

TEST_F(RowOperationsTest, MatricesWithoutElementsNeedNothing) {
  const rooftile_place place = {create(16), 0};
  for (const auto& [rows, columns] : {std::pair{0, 3}, {3, 0}}) {
    rooftile_softmax_args softmax = softmax_args(3, 3, 1, 2);
    softmax.rows = rows, softmax.columns = columns;
    ok(rooftile_list_softmax(list_, &softmax, place, place));
    rooftile_multiply_args multiply = multiply_args(3, 3);
    multiply.rows = rows, multiply.columns = columns;
    ok(rooftile_list_multiply(list_, &multiply, place, place, place));
  }
  run();
}

TEST_F(RowOperationsTest, RefusesWhatDoesNotFit) {
  const rooftile_place x = {create(64 * 4), 0}, y = {create(64 * 4), 0};
  const rooftile_softmax_args right = softmax_args(2, 8, 1, 3);
  const auto refused = [&](const rooftile_softmax_args& args, const rooftile_place& from,
                           const rooftile_place& to, const char* message) {
    EXPECT_EQ(rooftile_list_softmax(list_, &args, from, to), ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
  };
  const auto with = [&](auto member, std::int64_t value) {
    rooftile_softmax_args args = right;
    args.*member = value;
    return args;
  };
  using Args = rooftile_softmax_args;
  refused(with(&Args::rows, -1), x, y, "rows is -1");
  refused(with(&Args::columns, std::int64_t{1} << 40), x, y, "columns is 1099511627776");
  refused(with(&Args::batch, 0), x, y, "batch is 0");
  refused(with(&Args::ld_x, 7), x, y, "the leading dimension of x is 7, but it has 8 columns");
  refused(with(&Args::ld_y, 7), x, y, "the leading dimension of y is 7");
  refused(with(&Args::stride_x, -1), x, y, "the stride of x is -1");
  refused(with(&Args::stride_y, 15), x, y, "two result matrices of the batch overlap");
  refused(with(&Args::rows, 5), x, y, "but its buffer has 256 bytes");
  refused(right, {x.buffer, 17}, y, "x has 48 elements from element 17 on");
  refused(right, {x.buffer, -1}, y, "an offset is -1");
  refused(right, {x.buffer, std::numeric_limits<std::int64_t>::max()}, y, "an offset is");
  refused(right, {nullptr, 0}, y, "x has no buffer");
  refused(right, x, {nullptr, 0}, "y has no buffer");
  refused(right, x, {x.buffer, 8}, "the result overlaps an operand");
  refused(with(&Args::struct_size, 8), x, y, "struct_size");
  EXPECT_EQ(rooftile_list_softmax(list_, nullptr, x, y), ROOFTILE_INVALID_ARGUMENT);

  rooftile_multiply_args multiply = multiply_args(2, 8, 5);
  multiply.ld_z = 9;
  EXPECT_EQ(rooftile_list_multiply(list_, &multiply, x, y, y), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("activation is 5; see rooftile_activation"));
  multiply.activation = 0;
  EXPECT_EQ(rooftile_list_multiply(list_, &multiply, x, y, y), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the result overlaps an operand"));
}

}  // namespace
}  // namespace rooftile
