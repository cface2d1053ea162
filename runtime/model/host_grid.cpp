#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/numbers/halton.h"
#include "runtime/model/calibration.h"

namespace rooftile {
namespace {

// Scattered sizes predict better than a lattice of powers of two: on OpenBLAS 0.3.21 (SkylakeX
// kernels, two threads) 200 of them predict unseen problems with a median error of 12 %, a lattice
// of 321 with 17 %, because powers of two never include the edges of the library's blocks. A coarse
// lattice adds the corners, which scattered points leave out.
constexpr std::size_t kScattered = 232;
constexpr double kLargest = 16384;
// Corners of all products, and of those with more than one row and column, which have a model of
// their own.
constexpr std::int64_t kLattice[][3] = {{1, 128, 16384}, {2, 128, 16384}};
// Matrix-vector products larger than every cache, with the long sides in each order; scattered
// sizes are too small to cover these.
constexpr std::int64_t kStreaming[][3] = {{1, 4096, 8192}, {1, 8192, 4096}, {4096, 1, 8192},
                                          {8192, 1, 4096}, {4096, 8192, 1}, {8192, 4096, 1}};
// Scattered matrix-vector products, of which there are too few among scattered sizes.
constexpr std::size_t kVectors = 24;
// A call takes at most some tens of milliseconds on a slow core, and its operands at most 64 MiB
// together.
constexpr double kMaxFlops = 2.2e9;
constexpr double kMaxBytes = 1 << 26;

std::int64_t log_uniform(double u) { return std::llround(std::pow(kLargest, u)); }

bool cheap(const Problem& p) { return flops(p) <= kMaxFlops && minimum_bytes(p) <= kMaxBytes; }

}  // namespace

std::vector<Problem> host_calibration_problems() {
  std::vector<Problem> problems;
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const Problem p = packed_problem(m, n, k);
    if (cheap(p) && std::ranges::find(problems, p) == problems.end()) problems.push_back(p);
  };
  for (const auto& sides : kLattice)
    for (std::int64_t m : sides)
      for (std::int64_t n : sides)
        for (std::int64_t k : kLattice[0]) add(m, n, k);
  for (const auto& [m, n, k] : kStreaming) problems.push_back(packed_problem(m, n, k));
  std::size_t wanted = problems.size() + kScattered;
  for (std::size_t i = 1; problems.size() < wanted; ++i)
    add(log_uniform(radical_inverse(i, 2)), log_uniform(radical_inverse(i, 3)),
        log_uniform(radical_inverse(i, 5)));
  wanted += kVectors;
  for (std::size_t i = 1; problems.size() < wanted; ++i) {
    const std::int64_t side = log_uniform(radical_inverse(i, 3));
    add(i % 2 == 0 ? 1 : side, i % 2 == 0 ? side : 1, log_uniform(radical_inverse(i, 5)));
  }
  std::ranges::stable_sort(problems, {}, [](const Problem& p) { return flops(p); });
  return problems;
}

}  // namespace rooftile
