// The sizes of staged copies: apart from the copies themselves, which need a device.
#include <algorithm>
#include <bit>

#include "core/problem.h"
#include "runtime/kernel/staging.h"

namespace rooftile {
namespace {

// Widest loads: a vec4 of any type, and 16 bytes.
constexpr std::int64_t kVectorElements = 4, kLoadBytes = 16;

}  // namespace

std::int64_t staged_ld(std::int64_t columns, DataType type) {
  // Uses a shift, because each decision on a new problem calls this and a division takes 10 ns.
  const auto shift = std::countr_zero(static_cast<std::uint64_t>(bytes_of(type)));
  const std::int64_t step = std::max(kVectorElements, kLoadBytes >> shift);
  return std::max((columns + step - 1) & -step, step);
}

Problem staged_problem(const Problem& p) {
  Problem staged = p;
  staged.lda = staged_ld(stored_a(p).columns, p.types.a);
  if (!quantized(p.types)) staged.ldb = staged_ld(stored_b(p).columns, p.types.a);
  staged.ldc = staged_ld(p.n);
  if (p.batch > 1) {
    // A matrix that the whole batch shares is staged once.
    if (p.stride_a != 0) staged.stride_a = stored_a(p).rows * staged.lda;
    if (p.stride_b != 0) staged.stride_b = stored_b(p).rows * staged.ldb;
    staged.stride_c = p.m * staged.ldc;
  }
  // Experts of a quantised B lie one behind the other, as the caller stores them.
  if (is_grouped(p) && p.stride_b != 0 && !quantized(p.types))
    staged.stride_b = stored_b(p).rows * staged.ldb;
  return staged;
}

Problem kernel_problem(const Problem& p) {
  Problem staged = staged_problem(p);
  if (p.alpha == 0.0f) staged.k = 0;
  return staged;
}

}  // namespace rooftile
