// Bad input through the C ABI: a status, a message that names the argument, and C as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <rooftile/rooftile.hpp>
#include <thread>

#include "tests/runtime/product.h"
#include "tests/runtime/scratch.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string database = (folder_ / "none.db").string();
    rooftile_options options = {.struct_size = sizeof options, .database_path = database.c_str()};
    ASSERT_EQ(rooftile_open(&options, &context_), ROOFTILE_OK) << rooftile_last_error();
  }
  void TearDown() override { rooftile_close(context_); }

  static rooftile_sgemm_args args_of(Product& product) {
    const Problem& p = product.problem;
    return {.struct_size = sizeof(rooftile_sgemm_args),
            .layout = ROOFTILE_ROW_MAJOR,
            .trans_a = p.trans_a == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE,
            .trans_b = p.trans_b == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE,
            .m = p.m,
            .n = p.n,
            .k = p.k,
            .alpha = p.alpha,
            .a = product.a.data(),
            .lda = p.lda,
            .b = product.b.data(),
            .ldb = p.ldb,
            .beta = p.beta,
            .c = product.c.data(),
            .ldc = p.ldc};
  }
  static rooftile_gemm_args gemm_args_of(Product& product) {
    const Problem& p = product.problem;
    return {.struct_size = sizeof(rooftile_gemm_args),
            .type = static_cast<rooftile_type>(p.type),
            .trans_a = p.trans_a == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE,
            .trans_b = p.trans_b == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE,
            .m = p.m,
            .n = p.n,
            .k = p.k,
            .batch = p.batch,
            .alpha = p.alpha,
            .beta = p.beta,
            .a = product.stored_a_elements.data(),
            .b = product.stored_b_elements.data(),
            .c = product.c.data(),
            .lda = p.lda,
            .ldb = p.ldb,
            .ldc = p.ldc,
            .stride_a = p.stride_a,
            .stride_b = p.stride_b,
            .stride_c = p.stride_c};
  }
  static rooftile_epilogue epilogue_of(Product& product) {
    const Epilogue& e = product.problem.epilogue;
    return {.struct_size = sizeof(rooftile_epilogue),
            .row_scale = e.row_scale ? product.row_scale.data() : nullptr,
            .column_scale = e.column_scale ? product.column_scale.data() : nullptr,
            .bias_kind = static_cast<rooftile_bias>(e.bias),
            .bias = product.bias.data(),
            .activation = static_cast<rooftile_activation>(e.activation),
            .residual = e.residual ? product.residual.data() : nullptr,
            .ld_residual = product.ld_residual(),
            .stride_residual = product.stride_residual(),
            .clamp = e.clamp ? 1 : 0,
            .low = e.low,
            .high = e.high};
  }
  void expect_refused(const Product& product, const rooftile_sgemm_args& args,
                      const std::string& message,
                      rooftile_status status = ROOFTILE_INVALID_ARGUMENT) {
    EXPECT_EQ(rooftile_sgemm(context_, &args), status);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    EXPECT_TRUE(product.c_is_untouched());
  }

  ScratchFolder folder_;
  rooftile_context* context_ = nullptr;
  Product product_{padded_problem(5, 7, 3, Transpose::kNo, Transpose::kNo)};
};

TEST_F(CApi, RefusesWrongSizes) {
  rooftile_sgemm_args args = args_of(product_);
  args.m = -1;
  expect_refused(product_, args, "m is -1");
  args = args_of(product_);
  args.k = -5;
  expect_refused(product_, args, "k is -5");
  args = args_of(product_);
  args.m = std::numeric_limits<std::int64_t>::max();
  expect_refused(product_, args, "address space");
}

TEST_F(CApi, RefusesLdBelowTheStoredRow) {
  rooftile_sgemm_args args = args_of(product_);
  args.lda = 2;
  expect_refused(product_, args, "lda is 2");
  args = args_of(product_);
  args.ldc = 6;
  expect_refused(product_, args, "ldc is 6");
  args = args_of(product_);
  args.layout = ROOFTILE_COLUMN_MAJOR;  // columns of A are m = 5 long
  args.lda = 4, args.ldb = 3, args.ldc = 5;
  expect_refused(product_, args, "lda is 4, but the stored columns of a are 5");
}

TEST_F(CApi, RefusesNullOverlapAndUnknownEnumerators) {
  rooftile_sgemm_args args = args_of(product_);
  args.a = nullptr;
  expect_refused(product_, args, "a is null");
  args = args_of(product_);
  args.c = nullptr;
  expect_refused(product_, args, "c is null");
  args = args_of(product_);
  args.b = args.c + 3;
  expect_refused(product_, args, "c overlaps b");
  args = args_of(product_);
  args.trans_a = static_cast<rooftile_transpose>(7);
  expect_refused(product_, args, "trans_a is 7");
  args = args_of(product_);
  args.layout = static_cast<rooftile_layout>(9);
  expect_refused(product_, args, "layout is 9");
  args = args_of(product_);
  args.tier = static_cast<rooftile_tier>(42);
  expect_refused(product_, args, "tier is 42");
  args = args_of(product_);
  args.struct_size = 8;
  expect_refused(product_, args, "struct_size is 8");
  EXPECT_EQ(rooftile_sgemm(context_, nullptr), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_sgemm(nullptr, &args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_open(nullptr, nullptr), ROOFTILE_INVALID_ARGUMENT);
  rooftile_close(nullptr);
}

TEST_F(CApi, EmptyAndScaledOnlyProductsFollowBlas) {
  for (Problem p : {padded_problem(4, 6, 0, Transpose::kNo, Transpose::kNo, 1.0f, 0.5f),
                    padded_problem(4, 6, 3, Transpose::kNo, Transpose::kYes, 0.0f, -1.0f)}) {
    Product product(p);
    rooftile_sgemm_args args = args_of(product);
    args.a = args.b = nullptr;  // not read
    ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
    Problem scaled = p;
    scaled.alpha = 0;
    product.problem = scaled;
    product.expect_right();
  }
  Product none(padded_problem(0, 6, 3, Transpose::kNo, Transpose::kNo));
  rooftile_sgemm_args args = args_of(none);
  args.c = nullptr;
  EXPECT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
}

TEST_F(CApi, ZeroBetaErasesNanAndNanInAPropagates) {
  Product product(padded_problem(3, 5, 4, Transpose::kNo, Transpose::kNo));
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t j = 0; j < 5; ++j)
      product.c[static_cast<std::size_t>(r * product.problem.ldc + j)] = NAN;
  product.a[static_cast<std::size_t>(product.problem.lda)] = INFINITY;  // row 1
  const rooftile_sgemm_args args = args_of(product);
  ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK);
  product.expect_right();
  EXPECT_TRUE(std::isfinite(product.c[0]));
  EXPECT_FALSE(std::isfinite(product.c[static_cast<std::size_t>(product.problem.ldc)]));
}

TEST_F(CApi, EveryTransposeLayoutAndHostTierIsRight) {
  for (rooftile_tier tier :
       {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_HOST, ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64}) {
    for (Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
      for (Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
        Product product(padded_problem(17, 9, 23, trans_a, trans_b, -1.5f, 0.5f));
        rooftile_sgemm_args args = args_of(product);
        args.tier = tier;
        ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
        product.expect_right();
        // The same memory is the transposed product in column-major order.
        Product swapped(product.problem);
        args = args_of(swapped);
        std::swap(args.trans_a, args.trans_b);
        std::swap(args.m, args.n);
        std::swap(args.a, args.b);
        std::swap(args.lda, args.ldb);
        args.layout = ROOFTILE_COLUMN_MAJOR;
        args.tier = tier;
        ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
        swapped.expect_right();
      }
    }
  }
}

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
  // Column-major: C^T = op(B)^T op(A)^T, so the same memory with A and B, m and n swapped.
  Product product(padded_batch(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo), 3, false));
  rooftile_gemm_args args = gemm_args_of(product);
  args.layout = ROOFTILE_COLUMN_MAJOR;
  std::swap(args.m, args.n);
  std::swap(args.a, args.b);
  std::swap(args.lda, args.ldb);
  std::swap(args.stride_a, args.stride_b);
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
}

TEST_F(CApi, EpiloguesOnTheHostAreRight) {
  for (const char* text : {"row_scale+bias_row+relu", "column_scale+bias_column+gelu_erf+residual",
                           "silu+clamp", "row_scale+column_scale+gelu_tanh"}) {
    for (float beta : {0.0f, 0.5f}) {
      Problem p = padded_batch(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kYes, 1.5f, beta),
                               3, false);
      p.epilogue = parse_epilogue(text);
      p.epilogue.low = -0.25f;
      p.epilogue.high = 0.5f;
      Product product(p);
      rooftile_gemm_args args = gemm_args_of(product);
      const rooftile_epilogue epilogue = epilogue_of(product);
      args.epilogue = &epilogue;
      EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
      product.expect_right();
    }
  }
}

TEST_F(CApi, AnEpilogueInColumnMajorOrderKeepsItsRowsAndColumns) {
  // The same memory seen transposed: m and n, A and B, rows and columns change places.
  Problem p = padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo);
  p.epilogue = parse_epilogue("row_scale+bias_column+relu");
  Product product(p);
  rooftile_gemm_args args = gemm_args_of(product);
  args.layout = ROOFTILE_COLUMN_MAJOR;
  std::swap(args.m, args.n);
  std::swap(args.a, args.b);
  std::swap(args.lda, args.ldb);
  rooftile_epilogue epilogue = epilogue_of(product);
  std::swap(epilogue.row_scale, epilogue.column_scale);
  epilogue.bias_kind = ROOFTILE_BIAS_ROW;
  args.epilogue = &epilogue;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
}

TEST_F(CApi, TheResidualMayBeCItself) {
  Problem p = padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo);
  p.epilogue = parse_epilogue("relu+residual");
  Product product(p);
  rooftile_gemm_args args = gemm_args_of(product);
  rooftile_epilogue epilogue = epilogue_of(product);
  epilogue.residual = product.c.data();
  epilogue.ld_residual = p.ldc;
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t column = 0; column < p.n; ++column)
      product.residual[static_cast<std::size_t>(row * product.ld_residual() + column)] =
          product.c[static_cast<std::size_t>(row * p.ldc + column)];
  args.epilogue = &epilogue;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
}

TEST_F(CApi, SixteenBitOperandsOnTheHostAreRight) {
  for (DataType type : {DataType::kF16, DataType::kBf16})
    for (rooftile_tier tier : {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_HOST64}) {
      Problem p = padded_batch(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kYes, 1.5f, 0.5f),
                               3, true);
      p.type = type;
      p.epilogue = parse_epilogue("bias_row+relu");
      Product product(p);
      const rooftile_epilogue epilogue = epilogue_of(product);
      rooftile_gemm_args args = gemm_args_of(product);
      args.epilogue = &epilogue;
      args.tier = tier;
      EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
      product.expect_right();
    }
}

TEST_F(CApi, RefusesUnknownTypes) {
  Product other(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo));
  rooftile_gemm_args args = gemm_args_of(other);
  args.type = static_cast<rooftile_type>(3);
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("type is 3"));
  args = gemm_args_of(other);
  args.struct_size = 0;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_TRUE(other.c_is_untouched());
}

TEST_F(CApi, RefusesWrongEpilogues) {
  Problem p = padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo);
  p.epilogue = parse_epilogue("row_scale+bias_column+relu+residual+clamp");
  p.epilogue.low = 0;
  p.epilogue.high = 1;
  Product product(p);
  rooftile_gemm_args args = gemm_args_of(product);
  const rooftile_epilogue right = epilogue_of(product);
  const auto refused = [&](const rooftile_epilogue& epilogue, const std::string& message) {
    args.epilogue = &epilogue;
    EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    EXPECT_TRUE(product.c_is_untouched());
  };
  rooftile_epilogue epilogue = right;
  epilogue.bias = nullptr;
  refused(epilogue, "bias is null");
  epilogue = right;
  epilogue.bias_kind = static_cast<rooftile_bias>(7);
  refused(epilogue, "bias is 7");
  epilogue = right;
  epilogue.activation = static_cast<rooftile_activation>(-1);
  refused(epilogue, "activation is -1");
  epilogue = right;
  epilogue.low = 2;
  refused(epilogue, "limits are 2 and 1");
  epilogue = right;
  epilogue.high = NAN;
  refused(epilogue, "limits are");
  epilogue = right;
  epilogue.ld_residual = 5;
  refused(epilogue, "ld_residual is 5");
  epilogue = right;
  epilogue.row_scale = product.c.data();
  refused(epilogue, "c overlaps row_scale");
  epilogue = right;
  epilogue.residual = product.c.data() + 1;
  refused(epilogue, "c overlaps the residual");
  epilogue = right;
  epilogue.struct_size = 3;
  refused(epilogue, "struct_size");
}

TEST_F(CApi, ABatchWithoutDepthNeedsNoOperands) {
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
    EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    EXPECT_TRUE(product.c_is_untouched());
  };
  rooftile_gemm_args args = right;
  args.batch = -1;
  refused(args, "batch is -1");
  args = right;
  args.stride_c = 5 * product.problem.ldc - 2;
  refused(args, "they would overlap");
  args = right;
  args.stride_b = -8;
  refused(args, "stride_b is -8");
  args = right;
  args.stride_a = std::int64_t{1} << 61;
  refused(args, "stride_a");
  args = right;
  args.b = product.c.data() + args.stride_c;
  refused(args, "c overlaps b");
  args = right;
  args.struct_size -= 8;
  refused(args, "struct_size");
  const void* hole[3] = {product.a.data(), nullptr, product.a.data()};
  args = right;
  args.a_array = hole;
  refused(args, "a[1] is null");
  float* twice[3] = {product.c.data(), product.c.data() + 200, product.c.data() + 3};
  args = right;
  args.c_array = twice;
  refused(args, "two matrices C");
  args = right;
  args.batch = 0;
  refused(args, "batch is 0; it is 1 for a single product");
}

TEST_F(CApi, ForcedDeviceWithoutOneFailsAndLeavesC) {
  rooftile_sgemm_args args = args_of(product_);
  args.tier = ROOFTILE_TIER_DEVICE;
  expect_refused(product_, args, "rooftile tune", ROOFTILE_UNSUPPORTED);
}

TEST_F(CApi, ExplainNamesTheVetoWithoutReadingPointers) {
  rooftile_sgemm_args args = args_of(product_);
  args.a = args.b = nullptr;
  args.c = nullptr;
  rooftile_decision decision = {.struct_size = sizeof decision};
  ASSERT_EQ(rooftile_explain(context_, &args, &decision), ROOFTILE_OK) << rooftile_last_error();
  EXPECT_EQ(decision.score, 0.0);
  EXPECT_THAT(decision.veto, HasSubstr("no tuning database"));
  EXPECT_NE(decision.tier, ROOFTILE_TIER_DEVICE);
}

TEST_F(CApi, ExplainsGeneralProductsAsItRunsThem) {
  Problem p = padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo);
  p.type = DataType::kBf16;
  Product product(p);
  const rooftile_gemm_args args = gemm_args_of(product);
  rooftile_decision decision = {.struct_size = sizeof decision};
  EXPECT_EQ(rooftile_explain_gemm(context_, &args, &decision), ROOFTILE_OK);
  EXPECT_NE(decision.tier, ROOFTILE_TIER_DEVICE);
  EXPECT_THAT(decision.veto, HasSubstr("no tuning database"));
}

TEST_F(CApi, ManyThreadsOnOneContext) {
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t) {
    team.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        Product product(
            padded_problem(10 + t, 12, 31, Transpose::kNo, Transpose::kYes, 1.0f, 0.5f));
        rooftile_sgemm_args args = args_of(product);
        args.tier = t % 2 == 0 ? ROOFTILE_TIER_HOST1 : ROOFTILE_TIER_AUTO;
        ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK);
        product.expect_right();
      }
    });
  }
  for (std::thread& thread : team) thread.join();
}

TEST_F(CApi, TheCppWrapperFillsInWhatIsObvious) {
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

TEST(OpenTest, SaysWhatIsWrongWithTheDatabaseOrTheEnvironment) {
  const ScratchFolder folder;
  std::ofstream(folder / "notes.txt") << "this is no database, but it is long enough to look at\n";
  const std::string text_file = (folder / "notes.txt").string();
  rooftile_context* context = nullptr;
  rooftile_options options = {.struct_size = sizeof options, .database_path = text_file.c_str()};
  EXPECT_EQ(rooftile_open(&options, &context), ROOFTILE_DATABASE_ERROR);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("notes.txt"));
  EXPECT_EQ(context, nullptr);
  EXPECT_TRUE(std::filesystem::exists(folder / "notes.txt"));

  const std::string missing = (folder / "none.db").string();
  options.database_path = missing.c_str();
  const ScopedEnvironment tier("ROOFTILE_TIER", "warp");
  EXPECT_EQ(rooftile_open(&options, &context), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("unknown tier 'warp'"));
  EXPECT_EQ(context, nullptr);
}

TEST(VersionTest, HeaderAndLibraryAgree) {
  EXPECT_EQ(std::string(rooftile_version()), std::to_string(ROOFTILE_VERSION_MAJOR) + "." +
                                                 std::to_string(ROOFTILE_VERSION_MINOR) + "." +
                                                 std::to_string(ROOFTILE_VERSION_PATCH));
}

}  // namespace
}  // namespace rooftile
