#include "tuner/portfolio_problems.h"

#include <algorithm>
#include <cmath>

#include "core/halton.h"

namespace rooftile {
namespace {

// Up to the tuned sizes, but never less far: programs ask for what nobody thought of.
constexpr std::int64_t kLeastLargest = 2048;
constexpr double kMostBytes = 1 << 26;  // of the operands: filling them takes longer than measuring
// Less is one dispatch and nothing else, whichever kernel.
constexpr double kLeastFlops = 1 << 12;
constexpr std::int64_t kRound = 16;
// One in so many scattered problems. Prime to the sequence's bases 2, 3 and 5, or else a problem's
// kind would decide its sizes.
constexpr std::size_t kVectorEvery = 7, kBatchEvery = 11;
constexpr std::size_t kTurns = 13, kRoundTurns = 6;  // so many of so many
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
