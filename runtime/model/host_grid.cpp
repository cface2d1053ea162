#include <algorithm>

#include "runtime/model/calibration.h"

namespace rooftile {
namespace {

// Four octaves between neighbours at the small end, where the rate changes slowly in every
// direction, two where threads and cache blocking set in.
constexpr std::int64_t kSizes[] = {1, 4, 16, 64, 256, 1024, 4096};
// Bounds one call to some tens of milliseconds on one slow core, and an operand to 64 MiB.
constexpr double kMaxFlops = 2.2e9;
constexpr double kMaxBytes = 1 << 27;

}  // namespace

std::vector<Problem> host_calibration_problems() {
  std::vector<Problem> problems;
  for (std::int64_t m : kSizes)
    for (std::int64_t n : kSizes)
      for (std::int64_t k : kSizes) {
        const Problem p = packed_problem(m, n, k);
        if (flops(p) <= kMaxFlops && minimum_bytes(p) <= kMaxBytes) problems.push_back(p);
      }
  std::ranges::stable_sort(problems, {}, [](const Problem& p) { return flops(p); });
  return problems;
}

}  // namespace rooftile
