#include "runtime/host/host_float64.h"

#include <algorithm>
#include <memory>

#include "core/half.h"
#include "runtime/host/host_operands.h"
#include "runtime/support/parallel.h"

namespace rooftile {
namespace {

constexpr std::int64_t kSummedPerThread = 1 << 16;  // Less work is not worth starting a thread.

/// Writes matrix i of the batch to C from its sums (m x n, packed). The sums are alpha * op(A) *
/// op(B), plus beta * C where there is no epilogue.
void store(const GemmCall& call, std::int64_t i, double* sums) {
  const Problem& p = call.problem;
  const std::int64_t rows_per_thread = kSummedPerThread / p.n + 1;
  parallel_ranges(p.m, rows_per_thread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double* const line = sums + row * p.n;
      void* const c = static_cast<char*>(call.c_of(i)) + row * p.ldc * bytes_of(p.types.c);
      if (any(p.epilogue)) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          const double old =
              p.beta != 0.0f ? static_cast<double>(p.beta) * element(p.types.c, c, j) : 0.0;
          line[j] = apply(p.epilogue, epilogue_values(p.epilogue, call.epilogue, i, row, j),
                          line[j], old);
        }
      }
      narrow(p.types.c, line, c, p.n);
    }
  });
}

}  // namespace

void run_in_float64(const HostBlas& blas, const GemmCall& call, HostThreads threads) {
  const Problem& p = call.problem;
  // A and B are not read where they do not affect the result.
  const bool reads = reads_operands(p);
  const Extent nothing = {0, 0};
  Problem one = one_product(p);
  one.types = {};
  one.epilogue = {};
  one.ldc = p.n;
  if (!reads) one.k = 0;
  // The epilogue scales the sums before beta * C is added.
  if (any(p.epilogue)) one.beta = 0.0f;
  const bool quantized_b = quantized(p.types);
  WideOperand<double> a(p.types.a, reads ? stored_a(p) : nothing, p.lda);
  WideOperand<double> b(p.types.a, reads && !quantized_b ? stored_b(p) : nothing, p.ldb);
  std::unique_ptr<double[]> dequantized_b;
  if (reads && quantized_b) {
    dequantized_b = uninitialized_doubles(p.n * p.k);
    dequantize_matrix(p, call.quantized_b(), dequantized_b.get());
  }
  one.lda = std::max<std::int64_t>(stored_a(one).columns, 1);
  one.ldb = std::max<std::int64_t>(stored_b(one).columns, 1);
  const std::unique_ptr<double[]> sums = uninitialized_doubles(p.m * p.n);
  for (std::int64_t i = 0; i < p.batch; ++i) {
    if (one.beta != 0.0f) widen_rows(p.types.c, {p.m, p.n}, call.c_of(i), p.ldc, sums.get(), p.n);
    blas.dgemm(one, a.of(reads ? call.a_of(i) : nullptr),
               dequantized_b ? dequantized_b.get() : b.of(reads ? call.b_of(i) : nullptr),
               sums.get(), threads);
    store(call, i, sums.get());
  }
}

}  // namespace rooftile
