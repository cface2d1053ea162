#include "tuner/elimination.h"

#include <algorithm>
#include <numeric>

#include "core/statistics.h"

namespace rooftile {
namespace {

std::size_t count_alive(const std::vector<Arm>& arms) {
  return static_cast<std::size_t>(
      std::count_if(arms.begin(), arms.end(), [](const Arm& arm) { return arm.alive; }));
}

void drop_beaten(std::vector<Arm>& arms, std::size_t keep) {
  const std::vector<std::size_t> order = ranking(arms);
  if (order.size() <= keep) return;
  const double threshold = median_interval(arms[order[keep - 1]].samples_ns).high;
  for (std::size_t i = keep; i < order.size(); ++i) {
    Arm& arm = arms[order[i]];
    if (median_interval(arm.samples_ns).low > threshold) arm.alive = false;
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

std::vector<Arm> eliminate(
    std::size_t count,
    const std::function<std::optional<std::vector<double>>(std::size_t, int)>& measure,
    const std::function<bool()>& stop, const EliminationOptions& options) {
  std::vector<Arm> arms(count);
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!arms[i].alive) continue;
      if (stop()) return arms;
      const auto samples = measure(i, options.samples_per_round);
      if (!samples || samples->empty()) {
        arms[i].alive = false;
        arms[i].failed = true;
        continue;
      }
      arms[i].samples_ns.insert(arms[i].samples_ns.end(), samples->begin(), samples->end());
    }
    drop_beaten(arms, options.keep);
    if (count_alive(arms) <= options.keep) break;
  }
  return arms;
}

}  // namespace rooftile
