#include "tuner/host_comparison.h"

#include <algorithm>
#include <vector>

#include "core/clock.h"
#include "core/numbers/statistics.h"
#include "runtime/host/grouped_host.h"
#include "runtime/host/host_blas.h"
#include "runtime/host/host_tier.h"
#include "runtime/model/dispatch.h"
#include "runtime/verify/random_operand.h"
#include "tuner/measure/processor_wait.h"
#include "tuner/measure/steady_samples.h"

namespace rooftile {
namespace {

constexpr double kTimesPredicted = 2;  // More than the error of the host's model.
constexpr double kRoundNs = 2e6;       // Duration of a round's host calls, if one call takes less.

double median_of(std::span<const HostRound> rounds, double (*value)(const HostRound&)) {
  std::vector<double> values;
  for (const HostRound& round : rounds) values.push_back(value(round));
  return median(values);
}

}  // namespace

HostComparison host_comparison(std::span<const HostRound> rounds,
                               std::optional<double> predicted_host_ns) {
  if (rounds.empty()) return {};
  std::vector<HostRound> quiet;
  for (const HostRound& round : rounds)
    if (round.wait_share <= kBusyShare) quiet.push_back(round);
  const bool loaded = 2 * quiet.size() < rounds.size();
  const std::span<const HostRound> counted = loaded ? rounds : quiet;
  const double host_ns = median_of(counted, [](const HostRound& r) { return r.host_ns; });
  const bool slow = predicted_host_ns && host_ns > kTimesPredicted * *predicted_host_ns;
  return {.ratio = median_of(counted, [](const HostRound& r) { return r.host_ns / r.kernel_ns; }),
          .contended = loaded || slow};
}

HostComparison compare_with_host(const Problem& p, std::optional<double> predicted_host_ns,
                                 const std::function<std::optional<double>()>& time_kernel,
                                 const std::function<bool()>& over) {
  if (over()) return {};
  Random random(1);
  const std::vector<char> a = repeated_operand(p.types.a, span_a(p), random);
  const std::vector<char> b = repeated_b(p.types, span_b(p), random);
  const RandomQuantization quantization = random_quantization(p, random);
  std::vector<char> c(static_cast<std::size_t>(span_c(p) * bytes_of(p.types.c)));
  const std::vector<char> vectors =
      ones(epilogue_type(p.types), std::max({p.m, matrices_b(p) * p.n, span_c(p)}));
  const GemmCall call = {.problem = p,
                         .a = a.data(),
                         .b = b.data(),
                         .c = c.data(),
                         .epilogue = {vectors.data(), vectors.data(), vectors.data(),
                                      vectors.data(), p.ldc, p.stride_c, is_grouped(p) ? p.n : 0},
                         .scales = quantization.scales.data(),
                         .zero_points = quantization.zero_points.data()};
  const GroupedCall grouped = {call, is_grouped(p) ? typical_groups(p) : std::vector<Group>()};
  Tier tier = Tier::kHost;
  const auto multiply = [&] {
    if (is_grouped(p))
      run_grouped_on_host(HostBlas::get(), grouped, tier, HostThreads::kAll);
    else
      run_on_host(HostBlas::get(), call, tier);
  };
  const auto ns_of = [&](Tier of, int calls) {
    tier = of;
    const double start_ns = now_ns();
    for (int i = 0; i < calls; ++i) multiply();
    return (now_ns() - start_ns) / calls;
  };
  const double first_ns = ns_of(Tier::kHost, 1);
  const int calls = static_cast<int>(std::clamp(kRoundNs / std::max(first_ns, 1.0), 1.0, 1000.0));
  // Only short calls may be faster on one thread.
  if (calls > 1) {
    const double all_ns = ns_of(Tier::kHost, calls), one_ns = ns_of(Tier::kHost1, calls);
    tier = faster_host(all_ns, one_ns);
  }
  std::vector<HostRound> rounds;
  while (static_cast<int>(rounds.size()) < kMostHostRounds && !over()) {
    multiply();  // Not timed, because the kernel's operands are in the caches.
    const ProcessorWait before = processor_wait_now();
    const double start_ns = now_ns();
    for (int i = 0; i < calls; ++i) multiply();
    const double host_ns = (now_ns() - start_ns) / calls;
    const double wait_share = (processor_wait_now() - before).share();
    const std::optional<double> kernel_ns = time_kernel();
    if (!kernel_ns) break;
    rounds.push_back({.host_ns = host_ns, .kernel_ns = *kernel_ns, .wait_share = wait_share});
  }
  return host_comparison(rounds, predicted_host_ns);
}

}  // namespace rooftile
