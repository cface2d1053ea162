#include "tuner/problems/portfolio_problems.h"

#include <algorithm>
#include <cmath>

#include "core/numbers/halton.h"

namespace rooftile {
namespace {

// Largest sizes: the tuned sizes, but at least this, because programs may use larger problems than
// those that were tuned.
constexpr std::int64_t kLeastLargest = 2048;
// Limit of the operands' bytes, because filling them takes longer than measuring.
constexpr double kMostBytes = 1 << 26;
// A smaller problem is only a dispatch, whichever the kernel.
constexpr double kLeastFlops = 1 << 12;
constexpr std::int64_t kRound = 16;
// Every 7th scattered problem is a matrix-vector product, every 11th a batch. Both are prime to
// the sequence's bases 2, 3 and 5, because otherwise a problem's kind would determine its sizes.
constexpr std::size_t kVectorEvery = 7, kBatchEvery = 11;
// In every kTurns problems, kRoundTurns have sizes that are multiples of kRound.
constexpr std::size_t kTurns = 13, kRoundTurns = 6;
constexpr std::size_t kMostTries = 100'000;

double largest(std::span<const Problem> tuned, std::int64_t Problem::*size) {
  std::int64_t most = kLeastLargest;
  for (const Problem& p : tuned) most = std::max(most, p.*size);
  return static_cast<double>(most);
}

}  // namespace

std::vector<Problem> portfolio_problems(std::span<const Problem> tuned, double max_flops,
                                        std::size_t count) {
  const auto usable = [&](const Problem& p) {
    return flops(p) <= max_flops && minimum_bytes(p) <= kMostBytes;
  };
  std::vector<Problem> problems;
  const auto add = [&](const Problem& p) {
    if (problems.size() < count && std::ranges::find(problems, p) == problems.end())
      problems.push_back(p);
  };
  for (const Problem& p : tuned)
    if (usable(p)) add(p);
  const double m = largest(tuned, &Problem::m), n = largest(tuned, &Problem::n),
               k = largest(tuned, &Problem::k);
  std::vector<std::int64_t> batches;
  for (const Problem& p : tuned)
    if (p.batch > 1) batches.push_back(p.batch);
  const Problem& like = tuned.front();
  for (std::size_t i = 1; i < kMostTries && problems.size() < count; ++i) {
    const auto size = [&](double most, std::size_t base) {
      const std::int64_t x = std::llround(std::pow(most, radical_inverse(i, base)));
      return i % kTurns < kRoundTurns && x > kRound ? x / kRound * kRound : x;
    };
    std::int64_t rows = size(m, 2), columns = size(n, 3);
    if (i % kVectorEvery == 0) (i % (2 * kVectorEvery) == 0 ? rows : columns) = 1;
    const std::int64_t batch =
        !batches.empty() && i % kBatchEvery == 0 ? batches[i / kBatchEvery % batches.size()] : 1;
    Problem p =
        packed_problem(rows, columns, size(k, 5), like.trans_a, like.trans_b, batch, like.types);
    p.epilogue = like.epilogue;
    if (usable(p) && flops(p) >= kLeastFlops) add(p);
  }
  return problems;
}

}  // namespace rooftile
