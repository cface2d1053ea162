#include "tuner/measure/rounds.h"

#include <algorithm>
#include <cmath>

#include "core/numbers/statistics.h"
#include "tuner/measure/probe.h"
#include "tuner/measure/steady_samples.h"

namespace rooftile {
namespace {

constexpr double kSteady = 0.02;  // Of the median, to either side.

/// Takes a disturbed sample again, once, while there is time.
Turn undisturbed_turn(const std::function<Turn()>& take, const std::function<bool()>& late) {
  const Turn turn = take();
  if (turn.busy_share <= kBusyShare || late()) return turn;
  const Turn again = take();
  return again.busy_share < turn.busy_share ? again : turn;
}

bool steady(const std::vector<double>& sample) {
  const Interval interval = median_interval(sample);
  const double middle = median(sample), allowed = kSteady * std::abs(middle);
  return interval.high - middle <= allowed && middle - interval.low <= allowed;
}

}  // namespace

std::vector<Figure> sample_in_rounds(const std::vector<SampledFigure>& figures, double end_s,
                                     const std::function<double()>& clock_s) {
  std::vector<std::vector<double>> samples(figures.size());
  const auto late = [&] { return clock_s() >= end_s; };
  for (int round = 0; round < kMostRounds; ++round) {
    if (round >= kFewestRounds && late()) break;
    if (round >= kRoundsThatTell && std::ranges::all_of(samples, steady)) break;
    for (std::size_t i = 0; i < figures.size(); ++i)
      samples[i].push_back(undisturbed_turn(figures[i].take, late).value);
  }
  std::vector<Figure> result;
  for (std::size_t i = 0; i < figures.size(); ++i)
    result.push_back(figure_of(figures[i].name, figures[i].unit, samples[i]));
  return result;
}

}  // namespace rooftile
