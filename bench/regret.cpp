// Checks the regret that the tuner claims for untuned problems: from the times of some problems it
// is estimated as the tuner does it, and measured on problems that were held out. No device is
// needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>

#include "bench/contests/program.h"
#include "bench/contests/untuned_times.h"
#include "core/error.h"
#include "core/numbers/random.h"
#include "core/numbers/statistics.h"
#include "runtime/model/calibration.h"
#include "runtime/model/portfolio.h"
#include "tuner/search/frozen_space.h"

namespace rooftile::regret_bench {
namespace {

struct Setting {
  std::string times, kernels, frozen;
  std::size_t splits = 40;
};

struct Split {
  Regret claimed, measured;
};

/// Portfolio, selector and claim come from the first `count` problems; the others are held out.
Split judge(const Problem& of_class, const DeviceRates& rates,
            const std::vector<MeasuredKernel>& kernels, const std::vector<MeasuredTime>& problems,
            std::size_t count) {
  const std::span<const MeasuredTime> all(problems);
  const std::vector<MeasuredKernel> known = only(kernels, all.first(count));
  std::vector<double> regrets =
      held_out(of_class, rates, kernels, all.first(count), all.subspan(count)).regrets;
  return {summarize_regret(cross_validate(of_class, rates, known).selector),
          summarize_regret(std::move(regrets))};
}

void print(const std::string& name, std::size_t count, const std::vector<Split>& splits) {
  const auto typical = [&](const auto& value) {
    std::vector<double> values;
    for (const Split& split : splits) values.push_back(value(split));
    return 100 * median(values);
  };
  const auto covered = std::ranges::count_if(splits, [](const Split& split) {
    return split.claimed.median_low <= split.measured.median &&
           split.measured.median <= split.claimed.median_high;
  });
  fmt::print(
      "{:<22}{:>3} known: mean {:5.1f} % claimed, {:5.1f} % measured; median {:4.1f} %, "
      "{:4.1f} %; worst decile {:5.1f} %, {:5.1f} %; median in the interval {:3.0f} %\n",
      name, count, typical([](const Split& s) { return s.claimed.mean; }),
      typical([](const Split& s) { return s.measured.mean; }),
      typical([](const Split& s) { return s.claimed.median; }),
      typical([](const Split& s) { return s.measured.median; }),
      typical([](const Split& s) { return s.claimed.worst_decile; }),
      typical([](const Split& s) { return s.measured.worst_decile; }),
      100.0 * static_cast<double>(covered) / static_cast<double>(splits.size()));
}

void run(const Setting& setting) {
  std::ifstream file(setting.frozen);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const FrozenSpace frozen = parse_frozen_space(text, setting.frozen);
  const DeviceRates rates = calibration_from_figures(frozen.figures).device;
  for (const auto& [name, kernels] : measured_kernels(setting.times, setting.kernels)) {
    const Problem of_class = problem_of_class(name);
    std::vector<MeasuredTime> problems = complete_table(kernels).problems;
    Random random(1);
    for (const std::size_t count : {6, 10, 16, 24, 36}) {
      std::vector<Split> splits;
      for (std::size_t i = 0; i < setting.splits && count < problems.size(); ++i) {
        for (std::size_t j = problems.size(); j > 1; --j)
          std::swap(problems[j - 1], problems[random.below(j)]);
        splits.push_back(judge(of_class, rates, kernels, problems, count));
      }
      if (!splits.empty()) print(name, count, splits);
    }
    const auto work = [](const MeasuredTime& t) {
      return static_cast<double>(t.m) * static_cast<double>(t.n) * static_cast<double>(t.k) *
             static_cast<double>(t.batch);
    };
    std::ranges::sort(problems, {}, work);
    const std::size_t most = problems.size() * 3 / 4;
    print(name + ", held: largest", most, {judge(of_class, rates, kernels, problems, most)});
    std::ranges::reverse(problems);
    print(name + ", held: smallest", most, {judge(of_class, rates, kernels, problems, most)});
  }
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Example: rooftile-bench regret bench/results/lavapipe-untuned.csv "
      "bench/results/lavapipe-untuned-kernels.csv --rates "
      "bench/results/lavapipe-untuned-rates.csv");
  Setting setting;
  app.add_option("times", setting.times, "Times: class, m, n, k, batch, kernel, ns")->required();
  app.add_option("kernels", setting.kernels, "Kernels: id, parameters")->required();
  app.add_option("--rates", setting.frozen, "A frozen space with the device's calibration")
      ->required();
  app.add_option("--splits", setting.splits, "Random splits of each size (40)")
      ->check(CLI::Range(1, 10'000));
  app.parse(argc, argv);
  run(setting);
}

}  // namespace rooftile::regret_bench
