#include "runtime/host/host_integers.h"

#include <algorithm>

#include "core/half.h"
#include "runtime/host/host_operands.h"

namespace rooftile {
namespace {

constexpr std::int64_t kExactSum = 1 << 24;  // float32 holds every integer up to this magnitude.

/// Steps [first, first + steps) along k of an operand as a matrix of its own, widened and without
/// padding.
class Run {
 public:
  Run(DataType type, Transpose trans, std::int64_t lines, std::int64_t ld, std::int64_t steps)
      : type_(type),
        along_(trans),
        lines_(lines),
        ld_(ld),
        values_(uninitialized<float>(lines * steps)) {}

  /// along_ is the direction of k: kNo means along a row (op(A) not transposed, op(B) transposed).
  const float* of(const void* matrix, std::int64_t first, std::int64_t steps) {
    const bool in_row = along_ == Transpose::kNo;
    const Extent extent = in_row ? Extent{lines_, steps} : Extent{steps, lines_};
    const void* begin = static_cast<const char*>(matrix) + first * (in_row ? 1 : ld_);
    widen_rows(type_, extent, begin, ld_, values_.get(), extent.columns);
    return values_.get();
  }

 private:
  DataType type_;  // An 8-bit type.
  Transpose along_;
  std::int64_t lines_, ld_;
  std::unique_ptr<float[]> values_;
};

Transpose other(Transpose t) { return t == Transpose::kYes ? Transpose::kNo : Transpose::kYes; }

}  // namespace

std::vector<std::int32_t> integer_product(const HostBlas& blas, const Problem& p, const void* a,
                                          const void* b, HostThreads threads) {
  std::vector<std::int32_t> sums(static_cast<std::size_t>(p.m * p.n), 0);
  const std::int64_t exact_steps = kExactSum / largest_product(p.types.a),
                     longest = std::min(p.k, exact_steps);
  Run run_a(p.types.a, p.trans_a, p.m, p.lda, longest),
      run_b(p.types.a, other(p.trans_b), p.n, p.ldb, longest);
  const std::unique_ptr<float[]> part = uninitialized<float>(p.m * p.n);
  for (std::int64_t first = 0; first < p.k; first += exact_steps) {
    const std::int64_t steps = std::min(p.k - first, exact_steps);
    const Problem one = packed_problem(p.m, p.n, steps, p.trans_a, p.trans_b);
    blas.sgemm(one, run_a.of(a, first, steps), run_b.of(b, first, steps), part.get(), threads);
    std::transform(part.get(), part.get() + sums.size(), sums.begin(), sums.begin(),
                   [](float x, std::int32_t sum) { return sum + static_cast<std::int32_t>(x); });
  }
  return sums;
}

}  // namespace rooftile
