#include "tuner/search/elimination.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/numbers/statistics.h"

namespace rooftile {
namespace {

constexpr int kPolishSweeps = 8;  // It converges in two or three.
// Samples of one round are close in time, so a low clock, or a program that takes half the machine,
// affects them all. Only an arm that is slower by more than this ratio is dropped in the first
// rounds.
constexpr int kLeastRounds = 3;
constexpr double kHopelessRatio = 2;

std::size_t count_alive(const std::vector<Arm>& arms) {
  return static_cast<std::size_t>(
      std::count_if(arms.begin(), arms.end(), [](const Arm& arm) { return arm.alive; }));
}

void drop_beaten(std::vector<Arm>& arms, const std::vector<Arm>& polished, int rounds_done,
                 const EliminationOptions& options) {
  const std::vector<std::size_t> order = ranking(polished);
  if (order.size() <= options.keep) return;
  const std::vector<double>& last_kept = polished[order[options.keep - 1]].samples_ns;
  const double threshold = median_interval(last_kept).high;
  const double hopeless = kHopelessRatio * median(last_kept);
  for (std::size_t i = options.keep; i < order.size(); ++i) {
    const std::vector<double>& samples = polished[order[i]].samples_ns;
    const bool certain = rounds_done >= kLeastRounds || median(samples) > hopeless;
    if (certain && median_interval(samples).low > threshold) arms[order[i]].alive = false;
  }
}

}  // namespace

std::vector<std::size_t> ranking(const std::vector<Arm>& arms) {
  std::vector<std::size_t> order;
  std::vector<double> medians(arms.size());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (arms[i].failed || arms[i].samples_ns.empty()) continue;
    medians[i] = median(arms[i].samples_ns);
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return medians[x] < medians[y]; });
  return order;
}

std::vector<Arm> without_round_factors(std::vector<Arm> arms) {
  int rounds = 0;
  for (const Arm& arm : arms)
    if (!arm.rounds.empty()) rounds = std::max(rounds, arm.rounds.back() + 1);
  if (rounds < 2) return arms;
  std::vector<double> arm_log(arms.size()), round_log(static_cast<std::size_t>(rounds));
  const auto of_round = [&](int round) -> double& {
    return round_log[static_cast<std::size_t>(round)];
  };
  std::vector<double> logs;
  for (int sweep = 0; sweep < kPolishSweeps; ++sweep) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      if (arms[i].samples_ns.empty()) continue;
      logs.clear();
      for (std::size_t s = 0; s < arms[i].samples_ns.size(); ++s)
        logs.push_back(std::log(arms[i].samples_ns[s]) - of_round(arms[i].rounds[s]));
      arm_log[i] = median(logs);
    }
    for (int round = 0; round < rounds; ++round) {
      std::vector<double> of_arms;  // Each arm has one vote, whatever its number of samples.
      for (std::size_t i = 0; i < arms.size(); ++i) {
        logs.clear();
        for (std::size_t s = 0; s < arms[i].samples_ns.size(); ++s)
          if (arms[i].rounds[s] == round)
            logs.push_back(std::log(arms[i].samples_ns[s]) - arm_log[i]);
        if (!logs.empty()) of_arms.push_back(median(logs));
      }
      of_round(round) = of_arms.empty() ? 0 : median(of_arms);
    }
    const double typical = median(round_log);
    for (double& factor : round_log) factor -= typical;
  }
  for (Arm& arm : arms)
    for (std::size_t s = 0; s < arm.samples_ns.size(); ++s)
      arm.samples_ns[s] /= std::exp(of_round(arm.rounds[s]));
  return arms;
}

std::vector<Arm> eliminate(
    std::size_t count,
    const std::function<std::optional<std::vector<double>>(std::size_t, int)>& measure,
    const std::function<bool()>& stop, const EliminationOptions& options) {
  std::vector<Arm> arms(count);
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!arms[i].alive) continue;
      if (stop()) return without_round_factors(std::move(arms));
      const auto samples = measure(i, options.samples_per_round);
      if (!samples || samples->empty()) {
        arms[i].alive = false;
        arms[i].failed = true;
        continue;
      }
      arms[i].samples_ns.insert(arms[i].samples_ns.end(), samples->begin(), samples->end());
      arms[i].rounds.resize(arms[i].samples_ns.size(), round);
    }
    drop_beaten(arms, without_round_factors(arms), round + 1, options);
    if (count_alive(arms) <= options.keep) break;
  }
  return without_round_factors(std::move(arms));
}

}  // namespace rooftile
