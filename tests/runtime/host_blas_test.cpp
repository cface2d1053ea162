#include "runtime/host/host_blas.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/host/host_tier.h"
#include "tests/support/call_of.h"

namespace rooftile {
namespace {

TEST(HostBlasTest, BothThreadCountsAndFloat64AreRight) {
  for (Problem p : {padded_problem(33, 20, 65, Transpose::kYes, Transpose::kNo, 2.0f, 0.5f),
                    padded_problem(1, 301, 130, Transpose::kNo, Transpose::kYes)}) {
    for (HostThreads threads : {HostThreads::kAll, HostThreads::kOne}) {
      Product product(p);
      HostBlas::get().sgemm(p, product.a.data(), product.b.data(), product.c.data(), threads);
      product.expect_right();
    }
    Product product(p);
    run_on_host(HostBlas::get(), call_of(product), Tier::kHost64);
    product.expect_right();
  }
}

// The large operand has parts of 1,024 columns or rows and 256 of k, or of 436 whole rows.
TEST(HostBlasTest, ThinProductsWithWidenedOperandsAreRight) {
  const auto expect_right = [](const Problem& p) {
    for (const Tier tier : {Tier::kHost, Tier::kHost1, Tier::kHost64}) {
      Product product(p);
      run_on_host(HostBlas::get(), call_of(product), tier, HostThreads::kAll);
      Problem wide = p;
      if (tier == Tier::kHost64) wide.types.sums = Sums::kF64;
      product.problem = wide;
      product.expect_right();
    }
  };
  for (const auto& [m, n] : {std::pair(3, 1'100), std::pair(1, 1'500), std::pair(1'100, 2)})
    for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes})
      for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes})
        for (const char* types : {"f32", "f16", "bf16_bf16", "f32_f16"})
          expect_right(with_epilogue(
              padded_problem(m, n, 600, trans_a, trans_b, 2.0f, 0.5f, parse_types(types)),
              parse_epilogue(m == 3 ? "bias_column+relu+residual" : "")));
  for (const char* types : {"f32xq4b32zf", "f16xq8b32z_f16", "f32xq4_k"})
    expect_right(with_epilogue(padded_problem(2, 1'100, 600, Transpose::kNo, Transpose::kYes, 1.0f,
                                              0.5f, parse_types(types)),
                               parse_epilogue("row_scale+column_scale+bias_row+silu")));
}

TEST(HostBlasTest, OneThreadRestoresTheSetting) {
  const int before = HostBlas::get().threads();
  Product product(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo));
  HostBlas::get().sgemm(product.problem, product.a.data(), product.b.data(), product.c.data(),
                        HostThreads::kOne);
  EXPECT_EQ(HostBlas::get().threads(), before);
}

/// A matrix whose rows lie further apart than BLAS counts, in memory of which only the pages that
/// are used exist.
class FarRows {
 public:
  static constexpr std::int64_t kLd = (std::int64_t{1} << 31) + 3;

  FarRows(std::int64_t rows, std::int64_t columns)
      : bytes_(static_cast<std::size_t>(((rows - 1) * kLd + columns) * 4)),
        at_(static_cast<float*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) at_[i * kLd + j] = value(i, j);
  }
  FarRows(const FarRows&) = delete;
  FarRows& operator=(const FarRows&) = delete;
  ~FarRows() { ::munmap(at_, bytes_); }

  float* at() const { return at_; }
  static float value(std::int64_t i, std::int64_t j) {
    return static_cast<float>((3 * i + j) % 7 - 2);
  }

 private:
  std::size_t bytes_;
  float* at_;
};

TEST(HostBlasTest, RowsThatLieFurtherApartThanBlasCountsAreRight) {
  constexpr std::int64_t m = 2, n = 3, k = 2;
  for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes})
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
      Problem p = packed_problem(m, n, k, trans_a, trans_b);
      p.lda = p.ldb = p.ldc = FarRows::kLd;
      p.alpha = 2;
      p.beta = 0.5f;
      const FarRows a(stored_a(p).rows, stored_a(p).columns),
          b(stored_b(p).rows, stored_b(p).columns), c(m, n);
      HostBlas::get().sgemm(p, a.at(), b.at(), c.at(), HostThreads::kAll);
      const auto of = [](Transpose trans, std::int64_t i, std::int64_t j) {
        return trans == Transpose::kYes ? FarRows::value(j, i) : FarRows::value(i, j);
      };
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (std::int64_t l = 0; l < k; ++l) sum += of(trans_a, i, l) * of(trans_b, l, j);
          EXPECT_EQ(c.at()[i * p.ldc + j], 2 * sum + 0.5f * FarRows::value(i, j)) << to_string(p);
        }
    }
}

}  // namespace
}  // namespace rooftile
