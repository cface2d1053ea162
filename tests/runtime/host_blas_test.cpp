#include "runtime/host/host_blas.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "runtime/host/host_float64.h"
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
    run_in_float64(HostBlas::get(), call_of(product), HostThreads::kAll);
    product.expect_right();
  }
}

TEST(HostBlasTest, OneThreadRestoresTheSetting) {
  const int before = HostBlas::get().threads();
  Product product(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo));
  HostBlas::get().sgemm(product.problem, product.a.data(), product.b.data(), product.c.data(),
                        HostThreads::kOne);
  EXPECT_EQ(HostBlas::get().threads(), before);
}

TEST(HostBlasTest, LdPast32BitsIsRefusedUnlessThereIsOneRow) {
  Product product(padded_problem(1, 6, 7, Transpose::kNo, Transpose::kNo));
  Problem p = product.problem;
  p.lda = std::int64_t{1} << 40;
  HostBlas::get().sgemm(p, product.a.data(), product.b.data(), product.c.data(), HostThreads::kAll);
  product.expect_right();
  p.m = 2;
  EXPECT_THROW(HostBlas::get().sgemm(p, product.a.data(), product.b.data(), product.c.data(),
                                     HostThreads::kAll),
               Error);
}

}  // namespace
}  // namespace rooftile
