#include "runtime/tuned/quick_kernel.h"

#include <algorithm>
#include <iterator>

#include "generator/compiler_work.h"

namespace rooftile {
namespace {

// Compile time of one statement of compiler_work with warm caches (generator/compiler_work.h). A
// machine that takes twice or half as long chooses the same kernels, except where calls take as
// long as compiling.
constexpr double kStatementNs = 57e3;
// Least ratio of ready times that justifies compiling another kernel.
constexpr double kLeastGain = 2;

}  // namespace

std::optional<std::size_t> quick_kernel(std::span<const RankedChoice> ranked,
                                        std::span<const Progress> progress,
                                        const Signature& signature, double margin_ns) {
  const auto best = static_cast<std::size_t>(std::distance(
      progress.begin(),
      std::ranges::find_if(progress, [](Progress p) { return p != Progress::kFailed; })));
  if (best == ranked.size()) return std::nullopt;
  const auto ready_in_ns = [&](std::size_t i) {
    return progress[i] == Progress::kReady
               ? 0.0
               : kStatementNs * compiler_work(ranked[i].candidate->variant, signature);
  };
  const double best_ns = ready_in_ns(best);
  std::optional<std::size_t> quick;
  double first_result_ns = best_ns + ranked[best].expected_ns;
  for (std::size_t i = best + 1; i < ranked.size(); ++i) {
    if (progress[i] == Progress::kFailed) continue;
    if (ranked[i].expected_ns > ranked[best].expected_ns + margin_ns) continue;
    const double ready_ns = ready_in_ns(i);
    if (kLeastGain * ready_ns > best_ns || ready_ns + ranked[i].expected_ns >= first_result_ns)
      continue;
    quick = i;
    first_result_ns = ready_ns + ranked[i].expected_ns;
  }
  return quick;
}

}  // namespace rooftile
