#include "bench/baselines/baseline_turns.h"

#include "core/error.h"
#include "core/half.h"
#include "core/numbers/random.h"
#include "runtime/kernel/staging.h"
#include "runtime/verify/reference.h"

namespace rooftile {
namespace {

constexpr int kSpotChecks = 16;

/// Copies a batch into a layout with other ld and strides. Matrices that all GEMMs share are
/// copied once.
std::vector<char> staged(const void* source, Extent extent, DataType type, std::int64_t batch,
                         std::int64_t source_ld, std::int64_t source_stride, std::int64_t ld,
                         std::int64_t stride, std::int64_t span) {
  const std::int64_t bytes = bytes_of(type);
  std::vector<char> copy(static_cast<std::size_t>(span * bytes));
  for (std::int64_t i = 0; i < (stride == 0 ? 1 : batch); ++i)
    copy_matrix(extent, type, static_cast<const char*>(source) + i * source_stride * bytes,
                source_ld, copy.data() + i * stride * bytes, ld);
  return copy;
}

}  // namespace

BaselineRounds::BaselineRounds(Baseline& baseline, const Problem& p,
                               const std::vector<HostOperands>& sets)
    : baseline_(baseline), sets_(sets.size()) {
  baseline_.load(staged_problem(p), sets_);
  for (std::size_t i = 0; i < sets_; ++i) upload(p, sets[i], i);
  baseline_.run(sets_ - 1);
  check(p, sets.back(), sets_ - 1);
}

void BaselineRounds::upload(const Problem& p, const HostOperands& operands, std::size_t set) {
  const Problem to = staged_problem(p);
  const std::vector<char> a = staged(operands.a, stored_a(p), p.types.a, p.batch, p.lda, p.stride_a,
                                     to.lda, to.stride_a, span_a(to));
  // Blocks are never staged otherwise than they lie.
  if (has_block_format(p.types)) return baseline_.upload(set, a.data(), operands.b);
  const std::vector<char> b = staged(operands.b, stored_b(p), p.types.a, p.batch, p.ldb, p.stride_b,
                                     to.ldb, to.stride_b, span_b(to));
  baseline_.upload(set, a.data(), b.data());
}

void BaselineRounds::check(const Problem& p, const HostOperands& operands, std::size_t set) {
  const Problem to = staged_problem(p);
  const std::vector<char> c = baseline_.result(set);
  Random random(0xc0ffee);
  // The check starts with the last corner, where errors of edge handling show.
  for (int i = 0; i < kSpotChecks; ++i) {
    const auto pick = [&](std::int64_t size) {
      return i == 0 ? size - 1
                    : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size)));
    };
    const std::int64_t row = pick(p.m), column = pick(p.n), product = pick(p.batch);
    const auto behind = [&](const void* operand, std::int64_t stride) {
      return static_cast<const char*>(operand) + product * stride * bytes_of(p.types.a);
    };
    const ReferenceElement expected = reference_element(
        p, behind(operands.a, p.stride_a), behind(operands.b, p.stride_b), 0.0, row, column);
    const double got = element(p.types.c, c.data(), product * to.stride_c + row * to.ldc + column);
    if (!(error_ratio(p, expected, got) <= 1.0))
      fail(ErrorCode::kInternal,
           "{} computed {} wrongly: C[{}][{}] of batch member {} is {}, not {}", baseline_.name(),
           to_string(p), row, column, product, got, expected.value);
  }
}

double BaselineRounds::next_ns() {
  baseline_.run(++turn_ % sets_);
  return baseline_.run(++turn_ % sets_);
}

}  // namespace rooftile
