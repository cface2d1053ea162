#include "tuner/stored/kernel_comparison.h"

#include <algorithm>
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
  const PairedComparison paired =
      compare_in_pairs([&] { return total_ns(stored, of_stored); },
                       [&] { return total_ns(challenger, of_challenger); }, over);
  comparison.verdict = paired.verdict;
  comparison.pairs = paired.stored_ns.size();
  comparison.faster_pairs = paired.faster_pairs();
  if (comparison.verdict == PairedVerdict::kUndecided) return comparison;
  const auto set_medians = [](TimedKernel& kernel, const Times& times) {
    kernel.kernel_ns = median(times.kernel_ns);
    kernel.pack_ns = median(times.pack_ns);
  };
  set_medians(comparison.stored, of_stored);
  set_medians(comparison.challenger, of_challenger);
  return comparison;
}

void store_total(const TimedKernel& kernel, double level, WinnerRecord& record) {
  const double pack_share = record.pack_ns / std::max(record.kernel_ns + record.pack_ns, 1.0);
  record.pack_ns = level * pack_share * kernel.total_ns();
  record.kernel_ns = level * (1 - pack_share) * kernel.total_ns();
}

}  // namespace rooftile
