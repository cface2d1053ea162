// Batches, epilogues and types in rooftile_gemm, on the host tiers.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <rooftile/rooftile.hpp>

#include "tests/support/c_api_fixture.h"
#include "tests/support/host_call.h"
#include "tests/support/resized.h"
#include "tests/support/with.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

TEST_F(CApi, BatchesOfEveryTierAndLayoutAreRight) {
  for (rooftile_tier tier :
       {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_HOST, ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64})
    for (bool shared_b : {false, true}) {
      Product product(padded_batch(
          padded_problem(5, 6, 7, Transpose::kNo, Transpose::kYes, 1.0f, 0.5f), 4, shared_b));
      rooftile_gemm_args args = gemm_args_of(product);
      args.tier = tier;
      EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
      product.expect_right();
    }
  Product product(padded_batch(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo), 3, false));
  const rooftile_gemm_args args = column_major(gemm_args_of(product));
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
}

class HostEpilogues : public CApi {
 protected:
  void expect_right(Problem p, const char* epilogue) {
    p.epilogue = parse_epilogue(epilogue);
    p.epilogue.low = is_float64(p.types) ? -1.0 / 3 : -0.25;  // which float32 does not hold
    p.epilogue.high = 0.5;
    Product product(p);
    const HostCall call(product);
    EXPECT_EQ(rooftile_gemm(context_, &call.args), ROOFTILE_OK) << rooftile_last_error();
    product.expect_right();
  }
};

TEST_F(HostEpilogues, AreRight) {
  for (const char* text : {"row_scale+bias_row+relu", "column_scale+bias_column+gelu_erf+residual",
                           "silu+clamp", "row_scale+column_scale+gelu_tanh"})
    for (const char* types : {"f32", "f64"})
      for (float beta : {0.0f, 0.5f})
        expect_right(padded_batch(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kYes, 1.5f,
                                                 beta, parse_types(types)),
                                  3, false),
                     text);
}

// The host passes over a column as over a row.
TEST_F(HostEpilogues, OfAColumnAreRight) {
  for (const char* text : {"row_scale+bias_row+silu", "column_scale+bias_column+relu+clamp"})
    for (const char* types : {"f32", "f64", "f16_f16"})
      for (float beta : {0.0f, 0.5f}) {
        Problem p =
            packed_problem(2500, 1, 3, Transpose::kNo, Transpose::kNo, 1, parse_types(types));
        p.beta = beta;
        expect_right(p, text);
      }
}

TEST_F(CApi, AnEpilogueInColumnMajorOrderKeepsItsRowsAndColumns) {
  // The same memory, seen as its transpose: m and n, A and B, rows and columns are exchanged.
  Problem p = padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo);
  p.epilogue = parse_epilogue("row_scale+bias_column+relu");
  Product product(p);
  rooftile_gemm_args args = column_major(gemm_args_of(product));
  rooftile_epilogue epilogue = epilogue_of(product);
  std::swap(epilogue.row_scale, epilogue.column_scale);
  epilogue.bias_kind = ROOFTILE_BIAS_ROW;
  args.epilogue = &epilogue;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
}

TEST_F(CApi, TheResidualMayBeCItself) {
  for (const char* types : {"f32", "f64"}) {
    Problem p =
        padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo, 1, 0.5f, parse_types(types));
    p.epilogue = parse_epilogue("relu+residual");
    Product product(p);
    rooftile_gemm_args args = gemm_args_of(product);
    rooftile_epilogue epilogue = epilogue_of(product);
    epilogue.residual = product.c_data();
    epilogue.ld_residual = p.ldc;
    product.copy_c_to_residual();
    args.epilogue = &epilogue;
    EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
    product.expect_right();
  }
}

TEST_F(CApi, EveryTypeOnTheHostIsRight) {
  for (const std::string& types : other_types())
    for (rooftile_tier tier : {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_HOST64}) {
      const bool integers = parse_types(types).c == DataType::kI32;
      Problem p = padded_batch(
          padded_problem(5, 6, 37, Transpose::kNo, Transpose::kYes, integers ? 1.0f : 1.5f,
                         integers ? 1.0f : 0.5f, parse_types(types)),
          3, true);
      const bool fuses = !integers;  // The others have no epilogue.
      if (fuses) p.epilogue = parse_epilogue("bias_row+relu");
      Product product(p);
      const rooftile_epilogue epilogue = epilogue_of(product);
      const rooftile_quantization quantization = quantization_of(product);
      rooftile_gemm_args args = gemm_args_of(product);
      if (fuses) args.epilogue = &epilogue;
      if (quantized(p.types)) args.quantization = &quantization;
      args.tier = tier;
      EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
      product.expect_right();
    }
}

// The test has the largest possible sum, and odd sums that would be rounded if float32 summed more
// terms.
TEST_F(CApi, IntegersAreExactOnTheHostUpToTheLongestK) {
  const struct {
    rooftile_type type;
    // largest: the element of the largest magnitude; inwards: the sign of steps to smaller
    // magnitudes
    int largest, inwards;
    std::int64_t k;
  } kTypes[] = {{ROOFTILE_U8, 255, -1, 33025}, {ROOFTILE_I8, -128, 1, 131071}};
  constexpr std::int64_t kRows = 3, kColumns = 5;
  for (const auto& [type, largest, inwards, k] : kTypes) {
    Random random(static_cast<std::uint64_t>(k));
    std::vector<int> a(static_cast<std::size_t>(kRows * k), largest),
        b(static_cast<std::size_t>(kColumns * k), largest);
    for (std::vector<int>* x : {&a, &b})  // The first row keeps the largest value.
      std::for_each(x->begin() + k, x->end(), [&, way = inwards](int& value) {
        value += way * static_cast<int>(random.below(32));
      });
    std::vector<std::int32_t> expected;
    for (std::int64_t row = 0; row < kRows; ++row)
      for (std::int64_t column = 0; column < kColumns; ++column)
        expected.push_back(static_cast<std::int32_t>(
            std::inner_product(a.begin() + row * k, a.begin() + (row + 1) * k,
                               b.begin() + column * k, std::int64_t{0})));
    EXPECT_EQ(expected[0], k * largest * largest);
    const std::vector<unsigned char> stored_a(a.begin(), a.end()), stored_b(b.begin(), b.end());
    std::vector<std::int32_t> c(expected.size(), -1);
    rooftile_gemm_args args = {};
    args.struct_size = sizeof args;
    args.type = type;
    args.type_c = ROOFTILE_I32;
    args.trans_b = ROOFTILE_TRANSPOSE;
    args.m = kRows;
    args.n = args.ldc = kColumns;
    args.k = args.lda = args.ldb = k;
    args.batch = 1;
    args.alpha = 1;
    args.a = stored_a.data();
    args.b = stored_b.data();
    args.c = c.data();
    EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
    EXPECT_EQ(c, expected);
  }
}

TEST_F(CApi, ScalarsOfFloat64HaveFieldsOfTheirOwn) {
  const auto refused = [&](const rooftile_gemm_args& args, const char* says) {
    EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(says));
  };
  Product wide(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo, 1, 0, parse_types("f64")));
  rooftile_gemm_args args = gemm_args_of(wide);
  args.alpha = 1;
  refused(args, "alpha is for other types than F64, which has alpha_f64");
  args = gemm_args_of(wide);
  args.beta = 1;
  refused(args, "beta is for other types than F64, which has beta_f64");
  args = gemm_args_of(wide);
  args.struct_size = offsetof(rooftile_gemm_args, alpha_f64);
  refused(args, "not in a structure of struct_size 216");
  args = gemm_args_of(wide);
  args.type = ROOFTILE_F32;
  refused(args, "f64 operands have an f64 C");
  args = gemm_args_of(wide);
  args.a = static_cast<const char*>(args.a) + 4;
  refused(args, "not aligned to f64's 8 bytes");
  EXPECT_TRUE(wide.c_is_untouched());
  Product single(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo));
  args = gemm_args_of(single);
  args.alpha_f64 = 1;
  refused(args, "alpha_f64 is for operands of type F64");
  args = gemm_args_of(single);
  args.beta_f64 = 0.5;
  refused(args, "beta_f64 is for operands of type F64");
  EXPECT_TRUE(single.c_is_untouched());
}

TEST_F(CApi, LimitsOfFloat64HaveFieldsOfTheirOwn) {
  for (const char* types : {"f32", "f64"}) {
    const bool doubles = parse_types(types).a == DataType::kF64;
    Problem p = padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo, 1, 0, parse_types(types));
    p.epilogue = parse_epilogue("bias_row+clamp");
    p.epilogue.low = -1, p.epilogue.high = 1;
    Product product(p);
    const rooftile_epilogue right = epilogue_of(product);
    const auto refused = [&](const rooftile_epilogue& epilogue, const std::string& message) {
      expect_refused(product, epilogue, message);
    };
    const std::string belongs =
        doubles ? " is for other types than F64, which has " : "_f64 is for operands of type F64";
    refused(with(right, [&](auto& x) { doubles ? x.low = -1 : x.low_f64 = -1; }),
            "epilogue->low" + belongs + (doubles ? "low_f64" : ""));
    refused(with(right, [&](auto& x) { doubles ? x.high = 1 : x.high_f64 = 1; }),
            "epilogue->high" + belongs + (doubles ? "high_f64" : ""));
    if (!doubles) continue;
    refused(with(right, [](auto& x) { x.low_f64 = 2; }), "limits are 2 and 1");
    refused(with(right, [](auto& x) { x.struct_size = kEpilogueOfFirstRelease; }),
            "not in an epilogue of struct_size 88");
    refused(with(right, [](auto& x) { x.bias = static_cast<const char*>(x.bias) + 4; }),
            "not aligned to f64's 8 bytes");
    const HostCall call(product);
    EXPECT_EQ(rooftile_gemm(context_, &call.args), ROOFTILE_OK) << rooftile_last_error();
    product.expect_right();
  }
}

TEST_F(CApi, RefusesUnknownTypes) {
  Product other(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo));
  rooftile_gemm_args args = gemm_args_of(other);
  args.type = static_cast<rooftile_type>(7);
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("type is 7"));
  args = gemm_args_of(other);
  args.struct_size = 0;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_TRUE(other.c_is_untouched());
}

TEST_F(CApi, RefusesWrongQuantizations) {
  Product product(padded_problem(5, 6, 37, Transpose::kNo, Transpose::kYes, 1.0f, 0.0f,
                                 parse_types("f32xq4b16z")));
  const rooftile_quantization right = quantization_of(product);
  rooftile_gemm_args args = gemm_args_of(product);
  const auto refused = [&](const rooftile_quantization& quantization, const std::string& message) {
    args.quantization = &quantization;
    expect_refused(product, args, message);
  };
  refused(with(right, [&](auto& x) { x.bits = 3; }), "3 bits");
  refused(with(right, [&](auto& x) { x.bits = 0; }), "bits is 0");
  refused(with(right, [&](auto& x) { x.block = 48; }), "blocks of 48");
  refused(with(right, [&](auto& x) { x.values_bytes -= 1; }),
          "values_bytes is 143, but n and k need 144");
  refused(with(right, [&](auto& x) { x.scales_bytes = 0; }), "scales_bytes is 0");
  refused(with(right, [&](auto& x) { x.zero_points_bytes += 1; }), "zero_points_bytes");
  refused(with(right, [&](auto& x) { x.scales = nullptr; }), "the scales of b is null");
  refused(with(right, [&](auto& x) { x.scales = static_cast<const char*>(right.scales) + 1; }),
          "not aligned");
  refused(with(right, [&](auto& x) { x.scales = product.c.data(); }), "c overlaps the scales of b");
  refused(with(right, [&](auto& x) { x.struct_size = 1; }), "struct_size");
  refused(with(right, [&](auto& x) { x.zero_point = static_cast<rooftile_zero_point>(7); }),
          "zero_point is 7");
  std::vector<float> scales(18, 1.0f);
  scales[7] = std::numeric_limits<float>::quiet_NaN();
  refused(with(right, [&](auto& x) { x.scales = scales.data(); }),
          "the scale of b is NaN at block 1 of row 2");
  args.trans_b = ROOFTILE_NO_TRANSPOSE;
  refused(right, "stored n x k");
  args = gemm_args_of(product);
  args.ldb = 47;
  refused(right, "ldb is 47");
  args.ldb = 0;  // 0 stands for the right value.
  args.quantization = &right;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
}

TEST_F(CApi, RefusesUnsupportedCombinationsOfTypes) {
  Product product(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo));
  const rooftile_gemm_args right = gemm_args_of(product);
  const auto refused = [&](const rooftile_gemm_args& args, const std::string& message) {
    expect_refused(product, args, message);
  };
  refused(with(right, [&](auto& x) { x.type_c = ROOFTILE_I32; }), "C is i32 only for i8 or u8");
  rooftile_gemm_args args = right;
  args.type_c = ROOFTILE_I8;
  refused(args, "C cannot be i8");
  args.type_c = ROOFTILE_U8;
  refused(args, "C cannot be u8");
  refused(with(right, [&](auto& x) { x.f16_sums = 1; }), "sums in f16 need A in f16");
  args = right;
  args.type = ROOFTILE_I8;
  args.type_c = ROOFTILE_I32;
  args.alpha = 0.5f;
  refused(args, "alpha is 0.5");
  args.alpha = 1;
  args.k = 200000;
  args.lda = 200000;
  refused(args, "beyond 131071");
  args.type = ROOFTILE_U8;
  refused(args, "beyond 33025");
  refused(with(right, [&](auto& x) { x.a = reinterpret_cast<const char*>(product.a.data()) + 2; }),
          "not aligned");
  refused(with(right, [&](auto& x) { x.c = reinterpret_cast<char*>(product.c.data()) + 1; }),
          "not aligned");
}

TEST_F(CApi, RefusesWrongEpilogues) {
  Problem p = padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo);
  p.epilogue = parse_epilogue("row_scale+bias_column+relu+residual+clamp");
  p.epilogue.low = 0;
  p.epilogue.high = 1;
  Product product(p);
  const rooftile_epilogue right = epilogue_of(product);
  const auto refused = [&](const rooftile_epilogue& epilogue, const std::string& message) {
    expect_refused(product, epilogue, message);
  };
  refused(with(right, [&](auto& x) { x.bias = nullptr; }), "bias is null");
  refused(with(right, [&](auto& x) { x.bias_kind = static_cast<rooftile_bias>(7); }),
          "bias_kind is 7");
  refused(with(right, [&](auto& x) { x.activation = static_cast<rooftile_activation>(-1); }),
          "activation is -1");
  refused(with(right, [&](auto& x) { x.low = 2; }), "limits are 2 and 1");
  refused(with(right, [&](auto& x) { x.high = NAN; }), "limits are");
  refused(with(right, [&](auto& x) { x.ld_residual = 5; }), "ld_residual is 5");
  for (const int bits : {60, 61, 62})
    refused(with(right, [&](auto& x) { x.ld_residual = std::int64_t{1} << bits; }),
            "such a residual fits no address space");
  refused(with(right, [&](auto& x) { x.row_scale = product.c.data(); }), "c overlaps row_scale");
  refused(with(right, [&](auto& x) { x.residual = product.c.data() + 1; }),
          "c overlaps the residual");
  refused(with(right, [&](auto& x) { x.struct_size = 3; }), "struct_size");
}

TEST_F(CApi, ABatchWithKZeroNeedsNoOperands) {
  Product product(
      padded_batch(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo, 0.0f, 0.5f), 3, false));
  rooftile_gemm_args args = gemm_args_of(product);
  args.a = args.b = nullptr;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
}

TEST_F(CApi, RefusesWrongBatches) {
  Product product(padded_batch(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo), 3, false));
  const rooftile_gemm_args right = gemm_args_of(product);
  const auto refused = [&](const rooftile_gemm_args& args, const std::string& message) {
    expect_refused(product, args, message);
  };
  refused(with(right, [&](auto& x) { x.batch = -1; }), "batch is -1");
  refused(with(right, [&](auto& x) { x.stride_c = 5 * product.problem.ldc - 2; }),
          "they would overlap");
  refused(with(right, [&](auto& x) { x.stride_b = -8; }), "stride_b is -8");
  refused(with(right, [&](auto& x) { x.stride_a = std::int64_t{1} << 61; }), "stride_a");
  refused(with(right, [&](auto& x) { x.b = product.c.data() + x.stride_c; }), "c overlaps b");
  refused(with(right, [&](auto& x) { x.struct_size -= 4; }), "struct_size");
  const void* hole[3] = {product.a.data(), nullptr, product.a.data()};
  refused(with(right, [&](auto& x) { x.a_array = hole; }), "a[1] is null");
  void* twice[3] = {product.c.data(), product.c.data() + 200, product.c.data() + 3};
  refused(with(right, [&](auto& x) { x.c_array = twice; }), "two matrices C");
  rooftile_gemm_args args = right;
  args.batch = 0;
  refused(args, "batch is 0; it is 1 for a single GEMM");
}

TEST_F(CApi, ExplainGemmNamesTheTierThatGemmUses) {
  Problem p = padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo);
  p.types = {DataType::kBf16};
  Product product(p);
  const rooftile_gemm_args args = gemm_args_of(product);
  rooftile_decision decision = {.struct_size = sizeof decision};
  EXPECT_EQ(rooftile_explain_gemm(context_, &args, &decision), ROOFTILE_OK);
  EXPECT_NE(decision.tier, ROOFTILE_TIER_DEVICE);
  EXPECT_THAT(decision.veto, HasSubstr("no tuning database"));
}

TEST_F(CApi, TheCppWrapperFillsInStructSizeAndBatch) {
  const std::string database = (folder_ / "none.db").string();
  Session session({.database_path = database.c_str()});
  Product product(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo));
  rooftile_gemm_args args = gemm_args_of(product);
  args.struct_size = 0;
  args.batch = 0;
  EXPECT_NE(session.explain_gemm(args).tier, ROOFTILE_TIER_DEVICE);
  session.gemm(args);
  product.expect_right();
  args.m = -1;
  EXPECT_THROW(session.gemm(args), StatusError);
}

}  // namespace
}  // namespace rooftile
