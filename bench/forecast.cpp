// Do the program's forecasts hold? Intervals and probabilities are stated from known problems and
// compared with what held-out ones came to (bench/results/explanations.md). No device is needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "bench/contests/calibration_curves.h"
#include "bench/contests/program.h"
#include "bench/contests/replay.h"
#include "bench/contests/untuned_times.h"
#include "core/error.h"
#include "core/numbers/random.h"

namespace rooftile::forecast_bench {
namespace {

struct Setting {
  std::string times, kernels, frozen, csv;
  std::vector<std::string> spaces, dispatch;
  std::size_t splits = 100, known = 36, seeds = 5;
};

/// Leaves each known problem out in turn, and returns the errors and regrets that this gives.
/// Intervals are stated from them.
HeldOut left_out(const Problem& of_class, const DeviceRates& rates,
                 const std::vector<MeasuredKernel>& kernels, std::span<const MeasuredTime> known) {
  HeldOut found;
  for (std::size_t i = 0; i < known.size(); ++i) {
    std::vector<MeasuredTime> others(known.begin(), known.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const HeldOut one = held_out(of_class, rates, kernels, others, known.subspan(i, 1));
    found.errors.push_back(one.errors.front());
    found.regrets.push_back(one.regrets.front());
  }
  return found;
}

void untuned_problems(const Setting& setting, Curves& curves) {
  std::ifstream file(setting.frozen);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const DeviceRates rates =
      calibration_from_figures(parse_frozen_space(text, setting.frozen).figures).device;
  for (const auto& [name, kernels] : measured_kernels(setting.times, setting.kernels)) {
    const Problem of_class = problem_of_class(name);
    std::vector<MeasuredTime> problems = complete_table(kernels).problems;
    if (problems.size() <= setting.known)
      fail(ErrorCode::kInvalidArgument,
           "{} has {} problems, so that none of more than {} is held out", name, problems.size(),
           setting.known);
    Random random(1);
    for (std::size_t split = 0; split < setting.splits; ++split) {
      for (std::size_t i = problems.size(); i > 1; --i)
        std::swap(problems[i - 1], problems[random.below(i)]);
      const std::span<const MeasuredTime> all(problems);
      const HeldOut known = left_out(of_class, rates, kernels, all.first(setting.known));
      const HeldOut held =
          held_out(of_class, rates, kernels, all.first(setting.known), all.subspan(setting.known));
      for (const double error : held.errors)
        curves["time of a call's kernel"].add(CalibrationCurve::Shape::kMiddle, known.errors,
                                              error);
      for (const double regret : held.regrets)
        curves["regret of an untuned problem"].add(CalibrationCurve::Shape::kLow, known.regrets,
                                                   regret);
    }
  }
}

constexpr std::size_t kBudgets[] = {4, 8, 16, 32};  // Candidates, each of which is doubled.

/// Returns log2 of how much faster the kernel found is with twice the budget: a row for each seed,
/// a column for each budget.
std::vector<std::vector<double>> gains(const Replay& replay, std::size_t seeds) {
  const std::size_t most = 2 * kBudgets[std::size(kBudgets) - 1];
  std::vector<std::vector<double>> found;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Trace trace = search(replay, replay.space, "auto", seed, most);
    const std::vector<double> share = shares(replay, trace, seed, most);
    auto& row = found.emplace_back();
    for (const std::size_t budget : kBudgets)
      row.push_back(std::log2(share.at(2 * budget - 1) / share.at(budget - 1)));
  }
  return found;
}

/// The gain in one space is stated from the gains in the spaces of all other problems.
void gain_of_a_budget(const Setting& setting, Curves& curves) {
  std::vector<Replay> replays;
  std::vector<std::vector<std::vector<double>>> of_space;
  for (const std::string& space : setting.spaces) {
    replays.push_back(load_replay(space));
    of_space.push_back(gains(replays.back(), setting.seeds));
  }
  for (std::size_t budget = 0; budget < std::size(kBudgets); ++budget)
    for (std::size_t held = 0; held < replays.size(); ++held) {
      std::vector<double> known;
      for (std::size_t i = 0; i < replays.size(); ++i)
        if (replays[i].frozen.problem != replays[held].frozen.problem)
          for (const auto& row : of_space[i]) known.push_back(row[budget]);
      for (const auto& row : of_space[held])
        curves["gain of twice the candidates"].add(CalibrationCurve::Shape::kLow, known,
                                                   row[budget]);
    }
}

/// A call of rooftile-bench dispatch: how long the device and the host on one thread took, and
/// would take.
struct Call {
  double device, host, predicted_device, predicted_host;

  double device_error() const { return std::log(device / predicted_device); }
  double host_error() const { return std::log(host / predicted_host); }
  double ratio_error() const { return device_error() - host_error(); }
};

std::vector<Call> calls_of(const std::string& file) {
  std::vector<Call> calls;
  for (const std::vector<std::string>& row : csv_rows(file)) {
    if (row.at(5).empty() || row.at(7).empty()) continue;
    const Call call = {std::stod(row.at(5)), std::stod(row.at(7)), std::stod(row.at(8)),
                       std::stod(row.at(10))};
    if (std::isfinite(call.predicted_device)) calls.push_back(call);
  }
  return calls;
}

/// Holds out each run of rooftile-bench dispatch in turn. The times of its calls, and which tier is
/// faster, are stated from the errors that the predictions had in the other runs.
void tiers(const Setting& setting, Curves& curves, Probabilities& device_faster) {
  if (setting.dispatch.size() < 2)
    fail(ErrorCode::kInvalidArgument,
         "--dispatch takes two files or more; each is held out in turn");
  std::vector<std::vector<Call>> runs;
  for (const std::string& file : setting.dispatch) runs.push_back(calls_of(file));
  for (std::size_t held = 0; held < runs.size(); ++held) {
    std::vector<double> device, host, ratio;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (i == held) continue;
      for (const Call& call : runs[i]) {
        device.push_back(call.device_error());
        host.push_back(call.host_error());
        ratio.push_back(call.ratio_error());
      }
    }
    if (ratio.empty())
      fail(ErrorCode::kInvalidArgument, "the other files than {} have no call with all times",
           setting.dispatch[held]);
    for (const Call& call : runs[held]) {
      curves["time of a call on the device"].add(CalibrationCurve::Shape::kMiddle, device,
                                                 call.device_error());
      curves["time of a call on the host"].add(CalibrationCurve::Shape::kMiddle, host,
                                               call.host_error());
      const double wins = std::log(call.predicted_host / call.predicted_device);
      const auto below = std::ranges::count_if(ratio, [&](double error) { return error < wins; });
      device_faster.add(
          (static_cast<double>(below) + 0.5) / (static_cast<double>(ratio.size()) + 1),
          call.device < call.host);
    }
  }
}

void run(const Setting& setting) {
  Curves curves;
  Probabilities device_faster;
  if (!setting.times.empty()) untuned_problems(setting, curves);
  if (!setting.spaces.empty()) gain_of_a_budget(setting, curves);
  if (!setting.dispatch.empty()) tiers(setting, curves, device_faster);
  print(curves);
  const std::string event = "the device is faster than the host on one thread";
  print(event, device_faster);
  if (!setting.csv.empty()) write_csv(setting.csv, curves, event, device_faster);
}

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "Example: rooftile-bench forecast --times bench/results/lavapipe-untuned.csv --kernels "
      "bench/results/lavapipe-untuned-kernels.csv --rates bench/results/lavapipe-untuned-rates.csv "
      "--spaces bench/replay/*-22.csv --dispatch dispatch-1.csv dispatch-2.csv");
  Setting setting;
  CLI::Option* const times =
      app.add_option("--times", setting.times, "As of rooftile-bench regret");
  CLI::Option* const kernels =
      app.add_option("--kernels", setting.kernels, "As of rooftile-bench regret");
  CLI::Option* const rates =
      app.add_option("--rates", setting.frozen, "As of rooftile-bench regret");
  times->needs(kernels, rates);
  app.add_option("--spaces", setting.spaces, "Frozen spaces, as of rooftile-bench search");
  app.add_option("--dispatch", setting.dispatch,
                 "Results of rooftile-bench dispatch --csv, of two runs or more");
  app.add_option("--splits", setting.splits, "Random splits of known and held-out problems (100)")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--known", setting.known, "Known problems of a class (36)")
      ->check(CLI::Range(6, 10'000));
  app.add_option("--seeds", setting.seeds, "Searches of each space (5)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--csv", setting.csv, "Write the curves to this file");
  app.parse(argc, argv);
  run(setting);
}

}  // namespace rooftile::forecast_bench
