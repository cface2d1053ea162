#include "tuner/host_yardstick.h"

#include <algorithm>
#include <vector>

#include "core/clock.h"
#include "core/statistics.h"
#include "runtime/host_tier.h"
#include "runtime/random_operand.h"
#include "tuner/processor_time.h"
#include "tuner/steady_samples.h"

namespace rooftile {
double measure_host_ns(const Problem& p, double share_s) {
  Random random(1);
  const std::vector<char> a = random_operand(p.types.a, span_a(p), random);
  const std::vector<char> b = random_b(p.types, span_b(p), random);
  const RandomQuantization quantization = random_quantization(p, random);
  std::vector<char> c(static_cast<std::size_t>(span_c(p) * bytes_of(p.types.c)));
  const std::vector<float> ones(static_cast<std::size_t>(std::max({p.m, p.n, span_c(p)})), 1.0f);
  const GemmCall call = {
      .problem = p,
      .a = a.data(),
      .b = b.data(),
      .c = c.data(),
      .epilogue = {ones.data(), ones.data(), ones.data(), ones.data(), p.ldc, p.stride_c},
      .scales = quantization.scales.data(),
      .zero_points = quantization.zero_points.data()};
  const auto multiply = [&] { run_on_host(HostBlas::get(), call, Tier::kHost); };
  multiply();
  std::vector<ProcessorTime> calls;
  double occupancy = 0;
  const double end = now_s() + share_s;
  do {
    const ProcessorTime before = processor_time_now();
    multiply();
    calls.push_back(processor_time_now() - before);
    occupancy = std::max(occupancy, calls.back().occupancy());
  } while (calls.size() < 15 && now_s() < end);
  std::vector<double> quiet_ns;  // at least the call with the highest occupancy is
  for (const ProcessorTime& timed : calls)
    if (busy_share(timed, occupancy) <= kBusyShare) quiet_ns.push_back(timed.wall_ns);
  return median(quiet_ns);
}

}  // namespace rooftile
