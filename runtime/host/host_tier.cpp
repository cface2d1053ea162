#include "runtime/host/host_tier.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "runtime/call/slices.h"
#include "runtime/host/host_epilogue.h"
#include "runtime/host/host_integers.h"
#include "runtime/host/host_operands.h"
#include "runtime/model/predict.h"
#include "runtime/support/float_environment.h"
#include "runtime/support/parallel.h"

namespace rooftile {
namespace {

/// Whether BLAS itself computes the problem, with nothing to prepare or add.
bool is_plain(const Problem& p, Tier tier) {
  return !any(p.epilogue) &&
         (is_float64(p.types) || (is_float32(p.types) && tier != Tier::kHost64));
}

/// One operand of a product as Real, float or double: the caller's memory where it has that type,
/// else a widened copy without padding. A matrix that is asked for again is widened once.
template <typename Real>
class WideOperand {
 public:
  /// Takes memory for the operand of a problem, or of parts of it.
  WideOperand(Operand operand, const Problem& p, HostThreads threads)
      : operand_(operand), threads_(threads) {
    const Extent extent = stored(p);
    if (reads_operands(p) && !is_wide(operand_, p))
      copy_ = uninitialized<Real>(extent.rows * extent.columns);
  }
  /// Null where it is not read.
  const Real* of(const GemmCall& call, std::int64_t i) {
    const Problem& p = call.problem;
    if (!reads_operands(p)) return nullptr;
    const void* const matrix = operand_ == Operand::kA ? call.a_of(i) : call.b_of(i);
    if (is_wide(operand_, p)) return static_cast<const Real*>(matrix);
    if (matrix != widened_) widen(call, matrix);
    widened_ = matrix;
    return copy_.get();
  }
  /// Whether the operand needs no copy.
  static bool is_wide(Operand operand, const Problem& p) {
    return is_type<Real>(p.types.a) && !is_quantized(operand, p);
  }
  /// Elements between the rows of what of() returns; at least 1.
  std::int64_t ld(const Problem& p) const {
    return is_wide(operand_, p) ? (operand_ == Operand::kA ? p.lda : p.ldb)
                                : std::max<std::int64_t>(stored(p).columns, 1);
  }

 private:
  static bool is_quantized(Operand operand, const Problem& p) {
    return operand == Operand::kB && quantized(p.types);
  }
  Extent stored(const Problem& p) const {
    if (is_quantized(operand_, p)) return {p.n, p.k};
    return operand_ == Operand::kA ? stored_a(p) : stored_b(p);
  }
  void widen(const GemmCall& call, const void* matrix) {
    const Problem& p = call.problem;
    if (is_quantized(operand_, p)) return dequantize_matrix(p, call.quantized_b(), copy_.get());
    const Extent extent = stored(p);
    widen_rows(p.types.a, extent, matrix, operand_ == Operand::kA ? p.lda : p.ldb, copy_.get(),
               extent.columns, threads_);
  }

  Operand operand_;
  HostThreads threads_;
  const void* widened_ = nullptr;
  std::unique_ptr<Real[]> copy_;
};

/// How much of a product is computed at a time. Thin products, of few rows or few columns, take
/// less time than widening the large operand: its copies are made in parts that stay in a
/// processor's cache.
struct Parts {
  CutAlong along = CutAlong::kBatch;
  std::int64_t width = 1, count = 1;  // along C
  std::int64_t depth = 0;             // steps of k; 0: all of them
};

/// Products with sums, scalars and epilogue in Real, float or double.
template <typename Real>
class WideProduct {
 public:
  /// Takes memory for the call, or for others that are not larger. depth: of k at a time; 0: all.
  WideProduct(const GemmCall& call, std::int64_t depth, HostThreads threads)
      : depth_(depth),
        a_(Operand::kA, at_a_time(call.problem, depth), threads),
        b_(Operand::kB, at_a_time(call.problem, depth), threads) {
    const Problem& p = call.problem;
    if (is_apart(call)) sums_ = uninitialized<Real>(p.m * p.n);
  }

  void run(const HostBlas& blas, const GemmCall& call, HostThreads threads) {
    const Problem& p = call.problem;
    const bool fuses = any(p.epilogue), apart = is_apart(call);
    for (std::int64_t i = 0; i < p.batch; ++i) {
      void* const c = call.c_of(i);
      Real* const product = apart ? sums_.get() : static_cast<Real*>(c);
      const std::int64_t ld = apart ? p.n : p.ldc;
      // The epilogue scales the sums before beta * C is added, so BLAS must not add C.
      double beta = fuses ? 0 : p.beta;
      if (apart && beta != 0) widen_rows(p.types.c, {p.m, p.n}, c, p.ldc, product, p.n);
      if (depth_ == 0) multiply(blas, call, i, beta, product, ld, threads);
      for (std::int64_t begin = 0; depth_ > 0 && begin < p.k; begin += depth_, beta = 1) {
        const std::int64_t size = std::min(depth_, p.k - begin);
        multiply(blas, range_of_k(call, begin, size), 0, beta, product, ld, threads);
      }
      if (fuses)
        apply_epilogue(p, call.epilogue, i, product, ld, c);
      else if (apart)
        narrow_matrix(p.types.c, {p.m, p.n}, product, p.n, c, p.ldc);
    }
  }

 private:
  /// Whether the sums need memory of their own. A residual that is C must not be overwritten.
  static bool is_apart(const GemmCall& call) {
    const Problem& p = call.problem;
    return !is_type<Real>(p.types.c) || (any(p.epilogue) && p.beta != 0) || residual_is_c(call);
  }
  static Problem at_a_time(Problem p, std::int64_t depth) {
    if (depth > 0) p.k = std::min(p.k, depth);
    return p;
  }
  void multiply(const HostBlas& blas, const GemmCall& call, std::int64_t i, double beta,
                Real* product, std::int64_t ld, HostThreads threads) {
    const Problem& p = call.problem;
    Problem one = one_product(p);
    one.types = {};
    one.beta = beta;
    one.ldc = ld;
    // A and B must not be read where they do not affect the result.
    if (!reads_operands(p)) one.k = 0;
    one.lda = std::max(a_.ld(p), stored_a(one).columns);
    one.ldb = std::max(b_.ld(p), stored_b(one).columns);
    const Real* const a = a_.of(call, i);
    const Real* const b = b_.of(call, i);
    if constexpr (std::is_same_v<Real, double>)
      blas.dgemm(one, a, b, product, threads);
    else
      blas.sgemm(one, a, b, product, threads);
  }

  std::int64_t depth_;
  WideOperand<Real> a_, b_;
  std::unique_ptr<Real[]> sums_;
};

/// The parts of a product that is_thin_for_host(), where its large operand is widened.
template <typename Real>
Parts parts_of(const Problem& p, std::int64_t threads) {
  // Elements of a part of the large operand, and its columns of op(B) or rows of op(A): enough to
  // read memory in sequence, and few enough for one thread to convert C's.
  constexpr std::int64_t kPart = 1 << 18, kLeastWidth = 128, kMostWidth = 1024;
  const bool of_b = p.m <= p.n;
  const bool is_wide = WideOperand<Real>::is_wide(of_b ? Operand::kB : Operand::kA, p);
  if (!reads_operands(p) || is_wide || !is_thin_for_host(p)) return {};
  Parts parts = {.along = of_b ? CutAlong::kColumns : CutAlong::kRows};
  const std::int64_t whole = length(p, parts.along);
  const bool whole_rows = of_b ? p.trans_b == Transpose::kYes : p.trans_a == Transpose::kNo;
  if (whole_rows) {
    parts.width = std::clamp<std::int64_t>(kPart / p.k, 1, kMostWidth);
  } else {
    parts.width = std::clamp(whole / threads, kLeastWidth, kMostWidth);
    parts.depth = kPart / parts.width;
  }
  parts.count = (whole + parts.width - 1) / parts.width;
  return parts.count < threads ? Parts() : parts;
}

template <typename Real>
void run_in(const HostBlas& blas, const GemmCall& call, HostThreads threads) {
  const std::int64_t workers = threads == HostThreads::kOne ? 1 : blas.threads();
  const Parts parts = parts_of<Real>(call.problem, workers);
  if (parts.along == CutAlong::kBatch)
    return WideProduct<Real>(call, 0, HostThreads::kAll).run(blas, call, threads);
  const auto part = [&](std::int64_t i) {
    const std::int64_t begin = i * parts.width;
    return range_of(call, parts.along, begin,
                    std::min(parts.width, length(call.problem, parts.along) - begin));
  };
  std::vector<WideProduct<Real>> products;
  for (std::int64_t i = 0; i < workers; ++i)
    products.emplace_back(part(0), parts.depth, HostThreads::kOne);
  parallel_tasks(parts.count, workers, [&](std::int64_t worker, std::int64_t i) {
    products[static_cast<std::size_t>(worker)].run(blas, part(i), HostThreads::kOne);
  });
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
  if (plain && is_float32(types) && call.problem.batch == 1)
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
