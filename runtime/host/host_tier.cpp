#include "runtime/host/host_tier.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "runtime/host/host_epilogue.h"
#include "runtime/host/host_integers.h"
#include "runtime/host/host_operands.h"
#include "runtime/support/float_environment.h"

namespace rooftile {
namespace {

/// Whether BLAS itself computes the problem, with nothing to prepare or add.
bool is_plain(const Problem& p, Tier tier) {
  return !any(p.epilogue) && (is_float64(p.types) || (p.types == Types{} && tier != Tier::kHost64));
}

/// Sums, scalars and epilogue in Real, float or double.
template <typename Real>
void run_in(const HostBlas& blas, const GemmCall& call, HostThreads threads) {
  const Problem& p = call.problem;
  const bool fuses = any(p.epilogue);
  Problem one = one_product(p);
  one.types = {};
  // The epilogue scales the sums before beta * C is added, so BLAS must not add C. A residual that
  // is C must not be overwritten.
  if (fuses) one.beta = 0;
  const bool apart = !is_type<Real>(p.types.c) || (fuses && p.beta != 0) || residual_is_c(call);
  const std::unique_ptr<Real[]> sums = apart ? uninitialized<Real>(p.m * p.n) : nullptr;
  if (apart) one.ldc = p.n;
  // A and B must not be read where they do not affect the result.
  const bool reads = reads_operands(p);
  if (!reads) one.k = 0;
  const Extent nothing = {0, 0};
  WideOperand<Real> a(p.types.a, reads ? stored_a(p) : nothing, p.lda);
  WideOperand<Real> b(p.types.a, reads && !quantized(p.types) ? stored_b(p) : nothing, p.ldb);
  one.lda = std::max(a.ld(), stored_a(one).columns);
  one.ldb =
      quantized(p.types) ? std::max<std::int64_t>(p.k, 1) : std::max(b.ld(), stored_b(one).columns);
  std::unique_ptr<Real[]> dequantized_b;
  if (reads && quantized(p.types)) {
    dequantized_b = uninitialized<Real>(p.n * p.k);
    dequantize_matrix(p, call.quantized_b(), dequantized_b.get());
  }
  for (std::int64_t i = 0; i < p.batch; ++i) {
    void* const c = call.c_of(i);
    Real* const product = apart ? sums.get() : static_cast<Real*>(c);
    if (apart && one.beta != 0) widen_rows(p.types.c, {p.m, p.n}, c, p.ldc, product, p.n);
    const Real* const of_a = a.of(reads ? call.a_of(i) : nullptr);
    const Real* const of_b =
        dequantized_b ? dequantized_b.get() : b.of(reads ? call.b_of(i) : nullptr);
    if constexpr (std::is_same_v<Real, double>)
      blas.dgemm(one, of_a, of_b, product, threads);
    else
      blas.sgemm(one, of_a, of_b, product, threads);
    if (fuses)
      apply_epilogue(p, call.epilogue, i, product, one.ldc, c);
    else if (apart)
      narrow_matrix(p.types.c, {p.m, p.n}, product, p.n, c, p.ldc);
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
    apply_epilogue(p, call.epilogue, i, scaled.data(), p.n, call.c_of(i));
  }
}

}  // namespace

void run_on_host(const HostBlas& blas, const GemmCall& call, Tier tier, HostThreads most) try {
  const HostThreads threads = tier == Tier::kHost1 ? HostThreads::kOne : most;
  const Types& types = call.problem.types;
  const bool plain = is_plain(call.problem, tier);
  std::optional<CallersArithmetic> flags_of_blas;
  if (plain) flags_of_blas.emplace();
  if (plain && call.problem.types == Types{} && call.problem.batch == 1)
    blas.sgemm(call.problem, static_cast<const float*>(call.a_of(0)),
               static_cast<const float*>(call.b_of(0)), static_cast<float*>(call.c_of(0)), threads);
  else if (is_float64(types) || (tier == Tier::kHost64 && types.c != DataType::kI32))
    run_in<double>(blas, call, threads);
  else if (is_8_bit(types.a))
    run_integers(blas, call, threads);
  else
    run_in<float>(blas, call, threads);
} catch (const std::bad_alloc&) {
  fail(ErrorCode::kOutOfMemory, "the copies that {} needs do not fit into memory",
       to_string(call.problem));
}

}  // namespace rooftile
