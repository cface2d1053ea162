#include "tuner/stored/kernel_comparison.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/numbers/statistics.h"

namespace rooftile {
namespace {

void set_medians(const std::vector<PairTime>& times, TimedKernel& kernel) {
  const auto median_of = [&](double PairTime::*part) {
    std::vector<double> values;
    for (const PairTime& time : times) values.push_back(time.*part);
    return median(values);
  };
  kernel.kernel_ns = median_of(&PairTime::kernel_ns);
  kernel.pack_ns = median_of(&PairTime::pack_ns);
}

}  // namespace

KernelComparison compare_kernels(CandidateRunner& runner, const Problem& problem,
                                 const Variant& stored, const Variant& challenger,
                                 const PairOptions& options, const UsualTimes& usual) {
  double last_s = 0, before_s = 0;  // When the last two measurements began, which are a pair's.
  const auto timed = [&](const Variant& variant, double usual_ns) -> std::optional<PairTime> {
    before_s = std::exchange(last_s, now_s());
    const auto reply =
        runner.time(variant, problem, {.samples = options.samples, .purpose = options.purpose});
    if (!reply) return std::nullopt;
    return PairTime{.kernel_ns = median(reply->kernel_ns),
                    .pack_ns = reply->pack_ns,
                    .disturbed = 2 * reply->noisy >= std::ssize(reply->kernel_ns),
                    .usual_ns = usual_ns};
  };
  const PairedComparison paired = compare_in_pairs(
      [&] { return timed(stored, usual.stored_ns); },
      [&] { return timed(challenger, usual.challenger_ns); }, options.over,
      [&] { return options.wait != nullptr && options.wait->wait(now_s() - before_s); });
  KernelComparison comparison = {.verdict = paired.verdict,
                                 .stored = {.variant = stored},
                                 .challenger = {.variant = challenger},
                                 .pairs = paired.stored.size(),
                                 .faster_pairs = paired.faster_pairs()};
  if (comparison.verdict == PairedVerdict::kUndecided) return comparison;
  set_medians(paired.stored, comparison.stored);
  set_medians(paired.challenger, comparison.challenger);
  return comparison;
}

void store_total(const TimedKernel& kernel, double level, WinnerRecord& record) {
  const double pack_share = record.pack_ns / std::max(record.kernel_ns + record.pack_ns, 1.0);
  record.pack_ns = level * pack_share * kernel.total_ns();
  record.kernel_ns = level * (1 - pack_share) * kernel.total_ns();
}

}  // namespace rooftile
