// Cost of float64 sums: the same call in standard precision and in exact64, in turn, on the host's
// tiers. Prints the median of each and the median of the ratios with its 95 % interval.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
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

void compare(Context& context, const Problem& p, TierChoice tier, int rounds) {
  Random random(1);
  Operands x = {random_operand(p.types.a, span_a(p), random),
                random_operand(p.types.a, span_b(p), random),
                random_operand(p.types.c, span_c(p), random)};
  std::array<GemmCall, 2> calls;
  calls.fill({.problem = p, .a = x.a.data(), .b = x.b.data(), .c = x.c.data(), .tier = tier});
  calls[0].guard.precision = Precision::kStandard;
  calls[1].guard.precision = Precision::kExact64;
  std::array<int, 2> repetitions;
  for (std::size_t i = 0; i < 2; ++i) {
    time_ns(context, calls[i], 1);  // Opens everything that the first call opens.
    repetitions[i] = 1 + static_cast<int>(kLeastSample_ns / time_ns(context, calls[i], 1));
  }
  std::array<std::vector<double>, 2> sample_ns;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < 2; ++i)
      sample_ns[i].push_back(time_ns(context, calls[i], repetitions[i]));
    ratios.push_back(sample_ns[1].back() / sample_ns[0].back());
  }
  const Interval interval = median_interval(ratios);
  fmt::print("{:<28} {:<6} {:>10} {:>10} {:>7.2f}  ({:.2f} to {:.2f})\n",
             fmt::format("{}{}", to_string(p), p.types == Types{} ? "" : " " + to_string(p.types)),
             tier == TierChoice::kHost1 ? "host1" : "host", time_text(median(sample_ns[0])),
             time_text(median(sample_ns[1])), median(ratios), interval.low, interval.high);
  std::fflush(stdout);
}

Problem problem(std::int64_t m, std::int64_t n, std::int64_t k, const char* types = "f32") {
  return packed_problem(m, n, k, Transpose::kNo, Transpose::kNo, 1, parse_types(types));
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer("Calls in exact64 take turns with the same calls in standard precision.");
  int rounds = 15;
  app.add_option("--rounds", rounds, "Rounds of each problem")->check(CLI::PositiveNumber);
  app.parse(argc, argv);
  Context context({.database = "/nonexistent/rooftile.db"});
  fmt::print("{:<28} {:<6} {:>10} {:>10} {:>7}  {}\n", "problem", "tier", "standard", "exact64",
             "ratio", "95 % interval");
  for (const TierChoice tier : {TierChoice::kHost, TierChoice::kHost1})
    for (const Problem& p :
         {problem(8, 8, 8), problem(32, 32, 32), problem(128, 128, 128), problem(512, 512, 512),
          problem(1024, 1024, 1024), problem(1, 4096, 4096), problem(64, 4096, 1024),
          problem(512, 512, 512, "f16_f16"), problem(512, 512, 512, "i8")})
      compare(context, p, tier, rounds);
}

}  // namespace rooftile::precision_bench
