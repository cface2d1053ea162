#include "runtime/host/host_tier.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "core/error.h"
#include "runtime/host/host_epilogue.h"
#include "runtime/host/host_float64.h"
#include "runtime/host/host_integers.h"
#include "runtime/host/host_operands.h"
#include "runtime/host/host_result.h"
#include "runtime/support/float_environment.h"

namespace rooftile {
namespace {

/// Whether BLAS itself computes the problem, with nothing to prepare or add.
bool is_sgemm(const Problem& p) { return p.types == Types{} && !any(p.epilogue); }

void run_float64(const HostBlas& blas, const GemmCall& call, HostThreads threads) {
  const Problem one = one_product(call.problem);
  for (std::int64_t i = 0; i < call.problem.batch; ++i)
    blas.dgemm(one, static_cast<const double*>(call.a_of(i)),
               static_cast<const double*>(call.b_of(i)), static_cast<double*>(call.c_of(i)),
               threads);
}

void run_floats(const HostBlas& blas, const GemmCall& call, HostThreads threads) {
  const Problem& p = call.problem;
  WideResult result(p);
  Problem one = one_product(p);
  one.types = {};
  one.ldc = result.ld();
  // The epilogue scales the sums before beta * C is added, so BLAS must not add C. A residual that
  // is C must not be overwritten.
  const bool apart =
      any(p.epilogue) && (p.beta != 0.0f || (p.epilogue.residual && residual_is_c(call)));
  std::vector<float> sums(apart ? static_cast<std::size_t>(p.m * p.n) : 0);
  if (any(p.epilogue)) one.beta = 0.0f;
  if (apart) one.ldc = p.n;
  // A and B must not be read where they do not affect the result.
  const bool reads = reads_operands(p);
  const Extent nothing = {0, 0};
  WideOperand<float> a(p.types.a, reads ? stored_a(p) : nothing, p.lda);
  WideOperand<float> b(p.types.a, reads && !quantized(p.types) ? stored_b(p) : nothing, p.ldb);
  if (reads) {
    one.lda = a.ld();
    one.ldb = b.ld();
  }
  std::unique_ptr<float[]> dequantized_b;
  if (quantized(p.types)) {
    one.ldb = std::max<std::int64_t>(p.k, 1);
    if (reads) {
      dequantized_b = uninitialized_floats(p.n * p.k);
      dequantize_matrix(p, call.quantized_b(), dequantized_b.get());
    }
  }
  Problem described = p;  // Problem that the epilogue's pass receives.
  described.ldc = result.ld();
  for (std::int64_t i = 0; i < p.batch; ++i) {
    float* const c = result.begin(call.c_of(i));
    float* const product = apart ? sums.data() : c;
    const float* const wide_a = a.of(call.a_of(i));
    const float* const wide_b = quantized(p.types) ? dequantized_b.get() : b.of(call.b_of(i));
    blas.sgemm(one, wide_a, wide_b, product, threads);
    if (any(p.epilogue)) apply_epilogue(described, call.epilogue, i, product, one.ldc, c);
    result.end(call.c_of(i));
  }
}

void run_integers(const HostBlas& blas, const GemmCall& call, HostThreads threads) {
  const Problem& p = call.problem;
  Problem one = one_product(p);
  if (p.alpha == 0.0f) one.k = 0;
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const std::vector<std::int32_t> sums =
        integer_product(blas, one, call.a_of(i), call.b_of(i), threads);
    if (p.types.c == DataType::kI32) {
      auto* const c = static_cast<std::int32_t*>(call.c_of(i));
      for (std::int64_t row = 0; row < p.m; ++row)
        for (std::int64_t j = 0; j < p.n; ++j) {
          // Unsigned arithmetic wraps around as the devices' sums do.
          auto& target = c[row * p.ldc + j];
          const auto old = static_cast<std::uint32_t>(p.beta != 0.0f ? target : 0);
          target = static_cast<std::int32_t>(
              old + static_cast<std::uint32_t>(sums[static_cast<std::size_t>(row * p.n + j)]));
        }
      continue;
    }
    std::vector<float> scaled(sums.size());
    std::transform(sums.begin(), sums.end(), scaled.begin(), [&](std::int32_t x) {
      return static_cast<float>(p.alpha) * static_cast<float>(x);
    });
    WideResult result(p);
    Problem described = p;
    described.ldc = result.ld();
    float* const c = result.begin(call.c_of(i));
    apply_epilogue(described, call.epilogue, i, scaled.data(), p.n, c);
    result.end(call.c_of(i));
  }
}

}  // namespace

void run_on_host(const HostBlas& blas, const GemmCall& call, Tier tier, HostThreads most) try {
  const HostThreads threads = tier == Tier::kHost1 ? HostThreads::kOne : most;
  const Types& types = call.problem.types;
  std::optional<CallersArithmetic> flags_of_blas;
  if (is_float64(types) || (tier != Tier::kHost64 && is_sgemm(call.problem)))
    flags_of_blas.emplace();
  if (is_float64(types))
    run_float64(blas, call, threads);
  else if (tier == Tier::kHost64 && types.c != DataType::kI32)
    run_in_float64(blas, call, threads);
  else if (is_sgemm(call.problem) && call.problem.batch == 1)
    blas.sgemm(call.problem, static_cast<const float*>(call.a_of(0)),
               static_cast<const float*>(call.b_of(0)), static_cast<float*>(call.c_of(0)), threads);
  else if (is_8_bit(types.a))
    run_integers(blas, call, threads);
  else
    run_floats(blas, call, threads);
} catch (const std::bad_alloc&) {
  fail(ErrorCode::kOutOfMemory, "the copies that {} needs do not fit into memory",
       to_string(call.problem));
}

}  // namespace rooftile
