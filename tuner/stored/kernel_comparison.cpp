#include "tuner/stored/kernel_comparison.h"

#include <vector>

#include "core/numbers/statistics.h"

namespace rooftile {

KernelComparison compare_kernels(CandidateRunner& runner, const Problem& problem,
                                 const Variant& stored, const Variant& challenger,
                                 const TimeOptions& options, const std::function<bool()>& over) {
  struct Times {
    std::vector<double> kernel_ns, pack_ns;  // One of each for every pair.
  };
  Times of_stored, of_challenger;
  const auto total_ns = [&](const Variant& variant, Times& times) -> std::optional<double> {
    const auto reply = runner.time(variant, problem, options);
    if (!reply) return std::nullopt;
    times.kernel_ns.push_back(median(reply->kernel_ns));
    times.pack_ns.push_back(reply->pack_ns);
    return times.kernel_ns.back() + times.pack_ns.back();
  };
  KernelComparison comparison = {.stored = {.variant = stored},
                                 .challenger = {.variant = challenger}};
  comparison.verdict = compare_in_pairs([&] { return total_ns(stored, of_stored); },
                                        [&] { return total_ns(challenger, of_challenger); }, over)
                           .verdict;
  if (comparison.verdict == PairedVerdict::kUndecided) return comparison;
  const auto set_medians = [](TimedKernel& kernel, const Times& times) {
    kernel.kernel_ns = median(times.kernel_ns);
    kernel.pack_ns = median(times.pack_ns);
  };
  set_medians(comparison.stored, of_stored);
  set_medians(comparison.challenger, of_challenger);
  return comparison;
}

}  // namespace rooftile
