// Cost of float64 sums: the same call in standard precision and in exact64, in turn, on the host's
// tiers, and with a database in exact64 on its device. Prints the median of each and the median of
// the ratios with its 95 % interval.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "bench/contests/program.h"
#include "core/clock.h"
#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "core/time_text.h"
#include "runtime/dispatch/context.h"
#include "runtime/verify/random_operand.h"

namespace rooftile::precision_bench {
namespace {

// Calls are repeated until a sample takes at least this long.
constexpr double kLeastSample_ns = 2e6;

struct Operands {
  std::vector<char> a, b, c;
};

double time_ns(Context& context, const GemmCall& call, int repetitions) {
  const double start = now_ns();
  for (int i = 0; i < repetitions; ++i) context.gemm(call);
  return (now_ns() - start) / repetitions;
}

void print(const std::vector<double>& times_ns, const std::vector<double>& of_ns) {
  std::vector<double> ratios(times_ns.size());
  std::ranges::transform(times_ns, of_ns, ratios.begin(), std::divides());
  const Interval interval = median_interval(ratios);
  fmt::print(" {:>10} {:>7.2f}  ({:.2f} to {:.2f})", time_text(median(times_ns)), median(ratios),
             interval.low, interval.high);
}

void compare(Context& context, const Problem& p, TierChoice tier, bool on_device, int rounds) {
  Random random(1);
  Operands x = {random_operand(p.types.a, span_a(p), random),
                random_operand(p.types.a, span_b(p), random),
                random_operand(p.types.c, span_c(p), random)};
  std::vector<GemmCall> calls(
      on_device ? 3 : 2,
      {.problem = p, .a = x.a.data(), .b = x.b.data(), .c = x.c.data(), .tier = tier});
  for (GemmCall& call : calls) call.guard.precision = Precision::kExact64;
  calls.front().guard.precision = Precision::kStandard;
  if (on_device) calls.back().tier = TierChoice::kDevice;
  std::vector<int> repetitions;
  for (const GemmCall& call : calls) {
    time_ns(context, call, 1);  // Opens everything that the first call opens.
    repetitions.push_back(1 + static_cast<int>(kLeastSample_ns / time_ns(context, call, 1)));
  }
  std::vector<std::vector<double>> sample_ns(calls.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < calls.size(); ++i)
      sample_ns[i].push_back(time_ns(context, calls[i], repetitions[i]));
  fmt::print("{:<28} {:<6} {:>10}", to_string(p), tier == TierChoice::kHost1 ? "host1" : "host",
             time_text(median(sample_ns[0])));
  for (std::size_t i = 1; i < calls.size(); ++i) print(sample_ns[i], sample_ns[i - 1]);
  fmt::print("\n");
  std::fflush(stdout);
}

Problem problem(std::int64_t m, std::int64_t n, std::int64_t k, const char* types = "f32") {
  return packed_problem(m, n, k, Transpose::kNo, Transpose::kNo, 1, parse_types(types));
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Calls in exact64 take turns with the same calls in standard precision. Each ratio is to the "
      "time before it in the line.");
  std::string database;
  app.add_option("--db", database,
                 "Database with kernels in f64: also exact64 on its device (default: none)");
  int rounds = 15;
  app.add_option("--rounds", rounds, "Rounds of each problem")->check(CLI::PositiveNumber);
  std::int64_t largest = 4096;
  app.add_option("--largest", largest, "Largest dimension of a problem")
      ->check(CLI::PositiveNumber);
  app.parse(argc, argv);
  Context context({.database = database.empty() ? "/nonexistent/rooftile.db" : database});
  fmt::print("{:<28} {:<6} {:>10} {:>10} {:>7}  {}", "problem", "tier", "standard", "exact64",
             "ratio", "95 % interval");
  fmt::print("{}\n", database.empty() ? "" : "  on the device, ratio");
  std::vector<Problem> problems = {problem(8, 8, 8),
                                   problem(32, 32, 32),
                                   problem(128, 128, 128),
                                   problem(512, 512, 512),
                                   problem(1024, 1024, 1024),
                                   problem(1, 4096, 4096),
                                   problem(64, 4096, 1024),
                                   problem(512, 512, 512, "f16_f16"),
                                   problem(512, 512, 512, "i8")};
  if (!database.empty()) problems.push_back(problem(2048, 2048, 2048));
  std::erase_if(problems, [&](const Problem& p) { return std::max({p.m, p.n, p.k}) > largest; });
  for (const TierChoice tier : {TierChoice::kHost, TierChoice::kHost1})
    for (const Problem& p : problems)
      compare(context, p, tier, !database.empty() && tier == TierChoice::kHost, rounds);
}

}  // namespace rooftile::precision_bench
