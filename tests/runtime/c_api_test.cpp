// For invalid input, the C ABI returns a status and a message that names the argument, and leaves
// C unchanged.
#include <cmath>
#include <fstream>
#include <thread>

#include "tests/support/c_api_fixture.h"
#include "tests/support/with.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

TEST_F(CApi, RefusesWrongSizes) {
  expect_refused(product_, with(args_of(product_), [&](auto& x) { x.m = -1; }), "m is -1");
  expect_refused(product_, with(args_of(product_), [&](auto& x) { x.k = -5; }), "k is -5");
  expect_refused(
      product_,
      with(args_of(product_), [&](auto& x) { x.m = std::numeric_limits<std::int64_t>::max(); }),
      "address space");
}

TEST_F(CApi, RefusesLdBelowTheStoredRow) {
  expect_refused(product_, with(args_of(product_), [&](auto& x) { x.lda = 2; }), "lda is 2");
  expect_refused(product_, with(args_of(product_), [&](auto& x) { x.ldc = 6; }), "ldc is 6");
  rooftile_sgemm_args args = args_of(product_);
  args.layout = ROOFTILE_COLUMN_MAJOR;  // A column of A has m = 5 elements.
  args.lda = 4, args.ldb = 3, args.ldc = 5;
  expect_refused(product_, args, "lda is 4, but the stored columns of a are 5");
}

// Blocked factorisations use such operands.
TEST_F(CApi, InterleavedBlocksOfOneMatrixDoNotOverlap) {
  constexpr std::int64_t kBlock = 4, kLd = 13;
  std::vector<float> matrix(kBlock * kLd, 1.0f);
  rooftile_sgemm_args args = {.struct_size = sizeof args,
                              .m = kBlock,
                              .n = kBlock,
                              .k = kBlock,
                              .alpha = 1,
                              .a = matrix.data(),
                              .lda = kLd,
                              .b = matrix.data() + kBlock,
                              .ldb = kLd,
                              .c = matrix.data() + 2 * kBlock,
                              .ldc = kLd};
  ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::size_t column = i % kLd;
    EXPECT_EQ(matrix[i], column >= 2 * kBlock && column < 3 * kBlock ? 4.0f : 1.0f) << i;
  }
  const auto refused = [&](std::int64_t c, const char* message) {
    rooftile_sgemm_args wrong = args;
    wrong.c = matrix.data() + c;
    EXPECT_EQ(rooftile_sgemm(context_, &wrong), ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), ::testing::HasSubstr(message));
  };
  refused(2 * kBlock - 1, "c overlaps b");
  refused(kLd - kBlock + 1, "c overlaps a");  // Rows of C end in the next rows of A.
  args.ldb = kLd + 1;
  refused(2 * kBlock, "c overlaps b");  // The columns of the overlap depend on the row.
}

TEST_F(CApi, RefusesNullOverlapAndUnknownEnumerators) {
  expect_refused(product_, with(args_of(product_), [&](auto& x) { x.a = nullptr; }), "a is null");
  expect_refused(product_, with(args_of(product_), [&](auto& x) { x.c = nullptr; }), "c is null");
  expect_refused(product_, with(args_of(product_), [&](auto& x) { x.b = x.c + 3; }),
                 "c overlaps b");
  expect_refused(
      product_,
      with(args_of(product_), [&](auto& x) { x.trans_a = static_cast<rooftile_transpose>(7); }),
      "trans_a is 7");
  expect_refused(
      product_,
      with(args_of(product_), [&](auto& x) { x.layout = static_cast<rooftile_layout>(9); }),
      "layout is 9");
  rooftile_sgemm_args args = args_of(product_);
  args.tier = static_cast<rooftile_tier>(42);
  expect_refused(product_, args, "tier is 42");
  args.tier = ROOFTILE_TIER_SPLIT;  // Only an answer.
  expect_refused(product_, args, "tier is 5");
  args = args_of(product_);
  for (const std::int64_t devices : {-1, 3}) {
    args.devices = devices;
    expect_refused(product_, args, "devices is " + std::to_string(devices));
  }
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
    args.a = args.b = nullptr;  // These are not read.
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
        // The same memory holds the transposed product in column-major order.
        Product swapped(product.problem);
        args = column_major(args_of(swapped));
        args.tier = tier;
        ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
        swapped.expect_right();
      }
    }
  }
}

TEST_F(CApi, ForcedDeviceWithoutOneFailsAndLeavesC) {
  open_without_device();
  expect_refused(product_, with(args_of(product_), [&](auto& x) { x.tier = ROOFTILE_TIER_DEVICE; }),
                 "no Vulkan device that matches", ROOFTILE_UNSUPPORTED);
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
  EXPECT_THAT(rooftile_last_error(), HasSubstr("ROOFTILE_TIER is 'warp'; known: auto"));
  EXPECT_EQ(context, nullptr);
}

TEST(VersionTest, HeaderAndLibraryAgree) {
  EXPECT_EQ(std::string(rooftile_version()), std::to_string(ROOFTILE_VERSION_MAJOR) + "." +
                                                 std::to_string(ROOFTILE_VERSION_MINOR) + "." +
                                                 std::to_string(ROOFTILE_VERSION_PATCH));
}

TEST_F(CApi, InvalidGuardsAreRefused) {
  Product product(padded_problem(5, 7, 3, Transpose::kNo, Transpose::kNo));
  rooftile_guard guard = {.struct_size = sizeof guard, .precision = ROOFTILE_PRECISION_EXACT64};
  rooftile_sgemm_args args = args_of(product);
  args.guard = &guard;
  ASSERT_EQ(rooftile_sgemm(context_, &args), ROOFTILE_OK) << rooftile_last_error();
  product.expect_right();
  rooftile_decision decision = {.struct_size = sizeof decision};
  ASSERT_EQ(rooftile_last_decision(context_, &decision), ROOFTILE_OK);
  EXPECT_EQ(decision.tier, ROOFTILE_TIER_HOST64);
  EXPECT_EQ(decision.reason, ROOFTILE_REASON_PRECISION);

  Product untouched(product.problem);
  args = args_of(untouched);
  args.guard = &guard;
  guard.precision = static_cast<rooftile_precision>(7);
  expect_refused(untouched, args, "precision is 7");
  guard.precision = ROOFTILE_PRECISION_DEFAULT;
  guard.kappa = -1;
  expect_refused(untouched, args, "kappa");
  guard.kappa = std::numeric_limits<double>::quiet_NaN();
  expect_refused(untouched, args, "kappa");
  guard = {.struct_size = sizeof guard - 1};
  expect_refused(untouched, args, "guard->struct_size");
}

}  // namespace
}  // namespace rooftile
