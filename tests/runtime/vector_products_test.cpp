// Products of one row or column on the host, over a BLAS that counts its calls.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tuple>

#include "runtime/host/grouped_host.h"
#include "runtime/host/host_gemm.h"
#include "runtime/host/host_tier.h"
#include "tests/support/call_of.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class VectorProducts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("ROOFTILE_BLAS", ROOFTILE_COUNTING_BLAS, 1); }
  void SetUp() override {
    ASSERT_EQ(HostBlas::get().library(), ROOFTILE_COUNTING_BLAS);
    gemm() = gemv() = 0;
  }

  static std::atomic<int>& gemm() { return count("counted_gemm"); }
  static std::atomic<int>& gemv() { return count("counted_gemv"); }

  static void expect_right(const Problem& p, Tier tier, int vector_products) {
    gemm() = gemv() = 0;
    Product product(p);
    run_on_host(HostBlas::get(), call_of(product), tier);
    product.expect_right();
    EXPECT_EQ(gemm(), 0) << to_string(p);
    EXPECT_EQ(gemv(), vector_products) << to_string(p);
  }

 private:
  static std::atomic<int>& count(const char* name) {
    void* const blas = ::dlopen(ROOFTILE_COUNTING_BLAS, RTLD_NOW | RTLD_NOLOAD);
    return *static_cast<std::atomic<int>*>(::dlsym(blas, name));
  }
};

constexpr Tier kHostTiers[] = {Tier::kHost, Tier::kHost1, Tier::kHost64};

TEST_F(VectorProducts, AreTheMatrixVectorProductsOfBlasInEveryLayout) {
  for (const auto& [m, n] : {std::pair(1, 113), std::pair(91, 1), std::pair(1, 1)})
    for (const Transpose trans_a : {kNo, kYes})
      for (const Transpose trans_b : {kNo, kYes})
        for (const float beta : {0.0f, -0.5f})
          for (const Tier tier : kHostTiers) {
            const Problem one = padded_problem(m, n, 77, trans_a, trans_b, 1.5f, beta);
            expect_right(one, tier, 1);
            expect_right(padded_batch(one, 3, false), tier, 3);
            Problem with_epilogue = one;
            with_epilogue.epilogue = parse_epilogue("row_scale+column_scale+bias_column+residual");
            expect_right(with_epilogue, tier, 1);
          }
}

// Behind 2^24 one sum loses every 1 that is added to it, and several lose those of one of them.
TEST_F(VectorProducts, OfOneElementAreSummedInParts) {
  constexpr std::int64_t kLength = 4096;
  constexpr float kLarge = 1 << 24;
  for (const Transpose trans_a : {kNo, kYes})
    for (const Transpose trans_b : {kNo, kYes})
      for (const std::int64_t ld : {1, 3}) {
        Problem p = packed_problem(1, 1, kLength, trans_a, trans_b);
        if (trans_a == kYes) p.lda = ld;
        if (trans_b == kNo) p.ldb = ld;
        std::vector<float> a(3 * kLength, 1.0f), b(3 * kLength, 1.0f);
        a[0] = kLarge;
        float c = 0;
        HostBlas::get().sgemm(p, a.data(), b.data(), &c, HostThreads::kOne);
        EXPECT_GE(c, kLarge + kLength / 2) << to_string(p) << " " << ld;
        EXPECT_LE(c, kLarge + kLength) << to_string(p) << " " << ld;
      }
}

TEST_F(VectorProducts, OfABetaThatIsNanAreNan) {
  for (const auto& [m, n] : {std::pair(1, 5), std::pair(5, 1), std::pair(1, 1)})
    for (const Tier tier : kHostTiers) {
      Product product(padded_problem(m, n, 3, kNo, kNo, 1.0f, kNan));
      run_on_host(HostBlas::get(), call_of(product), tier);
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          EXPECT_TRUE(std::isnan(product.c[static_cast<std::size_t>(i * product.problem.ldc + j)]))
              << to_string(product.problem) << " " << name(tier);
    }
}

TEST_F(VectorProducts, AreTheMatrixVectorProductsOfBlasForEveryType) {
  for (const std::string& types : other_types())
    for (const auto& [m, n] : {std::pair(1, 35), std::pair(35, 1)})
      for (const Tier tier : kHostTiers)
        expect_right(padded_problem(m, n, 256, kNo, kYes, 1, 0, parse_types(types)), tier, 1);
}

// The least and the most elements of a product in pieces, along k and along the result; beyond
// them.
TEST_F(VectorProducts, OfMediumSizeAreComputedInPieces) {
  for (const auto& [side, k, pieces] :
       {std::tuple(95, 97, 1), std::tuple(95, 98, 2), std::tuple(98, 95, 2),
        std::tuple(3, 16000, 6), std::tuple(16000, 3, 6), std::tuple(16700, 3, 1)})
    for (const bool row : {true, false})
      for (const Transpose trans : {kNo, kYes})
        for (const float beta : {0.0f, -0.5f})
          for (const Tier tier : kHostTiers)
            expect_right(row ? padded_problem(1, side, k, trans, trans, 1.5f, beta)
                             : padded_problem(side, 1, k, trans, trans, 1.5f, beta),
                         tier, pieces);
}

TEST_F(VectorProducts, AreThoseOfRepeatedCallsToo) {
  Product product(padded_problem(1, 113, 77, kYes, kYes, 1.5f, -0.5f));
  HostBlas::get().gemm({.product = *plain_product(product.problem),
                        .a = product.a.data(),
                        .b = product.b.data(),
                        .c = product.c.data()},
                       HostThreads::kAll);
  product.expect_right();
  EXPECT_EQ(gemm(), 0);
  EXPECT_EQ(gemv(), 1);
}

/// Whether multiply() calls gemm of a library with kernels for small matrices.
bool takes_gemm(const ColumnMajorGemm<double>& g, bool small_kernels) {
  static bool gemm = false;
  const GemmRoutines<double> blas = {.gemm = [](auto...) { gemm = true; },
                                     .gemv = [](auto...) { gemm = false; },
                                     .small_kernels = small_kernels};
  multiply(blas, g);
  return gemm;
}

TEST(SmallVectorProducts, AreMatrixProductsWhereBlasHasKernelsForThem) {
  const ColumnMajorGemm<double> column = {
      .trans_a = 'T', .trans_b = 'N', .m = 100, .n = 1, .k = 499, .alpha = 1};
  EXPECT_TRUE(takes_gemm(column, true));
  EXPECT_FALSE(takes_gemm(column, false));
  const auto changed = [&](auto member, auto value) {
    ColumnMajorGemm<double> g = column;
    g.*member = value;
    return g;
  };
  using G = ColumnMajorGemm<double>;
  EXPECT_FALSE(takes_gemm(changed(&G::k, 500), true)) << "50,000 elements";
  EXPECT_FALSE(takes_gemm(changed(&G::k, 31), true));
  EXPECT_FALSE(
      takes_gemm({.trans_a = 'T', .trans_b = 'N', .m = 1201, .n = 1, .k = 40, .alpha = 1}, true));
  EXPECT_FALSE(takes_gemm(changed(&G::m, 8), true));
  EXPECT_FALSE(takes_gemm(changed(&G::trans_b, 'T'), true));
  EXPECT_FALSE(takes_gemm(changed(&G::trans_a, 'N'), true)) << "more than 16,000 elements";
  const ColumnMajorGemm<double> row = {
      .trans_a = 'T', .trans_b = 'N', .m = 1, .n = 499, .k = 100, .alpha = 1};
  EXPECT_TRUE(takes_gemm(row, true));
  EXPECT_FALSE(takes_gemm(row, false));
}

TEST_F(VectorProducts, AreThoseOfGroupsOfOneRow) {
  Product product(padded_problem(4, 19, 23, kNo, kNo));
  const GroupedCall grouped = {call_of(product), {{0, 1}, {0, 2}, {0, 1}}};
  run_grouped_on_host(HostBlas::get(), grouped, Tier::kHost, HostThreads::kAll);
  product.expect_right();
  EXPECT_EQ(gemm(), 1);
  EXPECT_EQ(gemv(), 2);
}

// BLAS's matrix-vector routine leaves y as it is where it has nothing to sum.
TEST_F(VectorProducts, ScaleCWhereAAndBAreNotRead) {
  for (const auto& [m, n] : {std::pair(1, 5), std::pair(5, 1)})
    for (const auto& [k, alpha] : {std::pair(0, 2.0f), std::pair(3, 0.0f)})
      for (const float beta : {0.0f, 0.5f}) {
        Problem p = packed_problem(m, n, k);
        p.alpha = alpha;
        p.beta = beta;
        const std::vector<float> a(15, kNan), b(15, kNan);
        std::vector<float> c(5, beta == 0 ? kNan : 4.0f);
        HostBlas::get().sgemm(p, a.data(), b.data(), c.data(), HostThreads::kAll);
        EXPECT_EQ(c, std::vector<float>(5, beta == 0 ? 0.0f : 2.0f)) << to_string(p);
      }
}

TEST_F(VectorProducts, NeitherReadCForBetaZeroNorSkipZeros) {
  constexpr std::int64_t kLength = 65, kSize = 70;
  for (const bool row : {true, false})
    for (const Transpose trans : {kNo, kYes}) {
      const Problem p = row ? packed_problem(1, kSize, kLength, kNo, trans)
                            : packed_problem(kSize, 1, kLength, trans, kNo);
      const std::vector<float> zeros(kLength, 0.0f);
      std::vector<float> matrix(kSize * kLength, 1.0f), c(kSize, kNan);
      // The matrix has a NaN in its first element only, which is one of the first sum.
      matrix[0] = kNan;
      HostBlas::get().sgemm(p, row ? zeros.data() : matrix.data(),
                            row ? matrix.data() : zeros.data(), c.data(), HostThreads::kAll);
      EXPECT_TRUE(std::isnan(c[0])) << to_string(p);
      for (std::size_t i = 1; i < c.size(); ++i) EXPECT_EQ(c[i], 0.0f) << to_string(p) << " " << i;
    }
}

// Deterministic contexts promise the same bits, and programs' memory begins anywhere.
TEST_F(VectorProducts, OnOneThreadHaveTheSameBitsWhereverOperandsLie) {
  for (const auto& [m, n] : {std::pair(1, 203), std::pair(203, 1)})
    for (const Transpose trans : {kNo, kYes})
      for (const Tier tier : {Tier::kHost1, Tier::kHost64}) {
        const Product original(padded_problem(m, n, 301, trans, trans, 1.5f, -0.5f));
        const auto moved = [](const std::vector<float>& x, std::size_t by) {
          std::vector<float> result(by);
          result.insert(result.end(), x.begin(), x.end());
          return result;
        };
        std::vector<float> first;
        for (std::size_t by = 0; by < 16; ++by) {
          const std::vector<float> a = moved(original.a, by), b = moved(original.b, 3 * by % 16);
          std::vector<float> c = moved(original.c, 5 * by % 16);
          const GemmCall call = {.problem = original.problem,
                                 .a = a.data() + by,
                                 .b = b.data() + 3 * by % 16,
                                 .c = c.data() + 5 * by % 16};
          run_on_host(HostBlas::get(), call, tier, HostThreads::kOne);
          c.erase(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(5 * by % 16));
          if (by == 0) first = c;
          EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(float)), 0)
              << to_string(original.problem) << " " << by;
        }
      }
}

}  // namespace
}  // namespace rooftile
