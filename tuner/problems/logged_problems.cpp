#include "tuner/problems/logged_problems.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/count_text.h"
#include "runtime/model/calibration.h"
#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Time for a few dozen candidates, the finals and the certificates.
constexpr double kLeastSliceS = 5;

struct Heat {
  Bucket bucket;
  Problem hottest;
  double of_hottest = 0, of_bucket = 0;
  std::int64_t calls = 0;
};

}  // namespace

std::vector<TuneProblem> logged_problems(const Store& store, RowId device) {
  const DeviceRates rates = calibration_from_figures(store.latest_calibration(device)).device;
  std::vector<Heat> buckets;
  for (const UntunedProblem& untuned : store.untuned_problems(device)) {
    const Problem& p = untuned.problem;
    const double heat = static_cast<double>(untuned.calls) *
                        (is_calibrated(rates) ? problem_bound_ns(p, rates) : flops(p));
    auto entry = std::ranges::find(buckets, bucket_of(p), &Heat::bucket);
    if (entry == buckets.end()) entry = buckets.insert(entry, {.bucket = bucket_of(p)});
    if (heat > entry->of_hottest) {
      entry->hottest = p;
      entry->of_hottest = heat;
    }
    entry->of_bucket += heat;
    entry->calls += untuned.calls;
  }
  std::ranges::stable_sort(buckets, std::ranges::greater(), &Heat::of_bucket);
  std::vector<TuneProblem> problems;
  for (const Heat& heat : buckets)
    if (heat.of_hottest > 0)
      problems.push_back({.problem = heat.hottest,
                          .note = count_text(heat.calls, "call") + " without a tuned kernel",
                          .weight = heat.of_bucket});
  return problems;
}

std::size_t problems_within(double budget_s) {
  return static_cast<std::size_t>(std::max(1.0, budget_s / kLeastSliceS));
}

}  // namespace rooftile
