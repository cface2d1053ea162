// Sampling of a calibration's figures in rounds: one sample of each figure, then the next of each.
// Where the machine's speed changes meanwhile, all figures change alike, and their ratios, which
// decide the order of kernels, stay.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/figure.h"

namespace rooftile {

/// One sample of a figure.
struct Turn {
  double value = 0;       ///< In the figure's unit.
  double busy_share = 0;  ///< As in a Reading (steady_samples.h).
};

struct SampledFigure {
  std::string name, unit;
  std::function<Turn()> take;
};

inline constexpr int kFewestRounds = 3, kRoundsThatTell = 5, kMostRounds = 15;

/// Samples at least kFewestRounds rounds, even after end_s. Then continues until the time is up,
/// every figure is steady (the 95 % interval of its median within 2 % of it, after at least
/// kRoundsThatTell), or kMostRounds is reached. A disturbed sample is repeated, once per round
/// and figure, while there is time. clock_s is as now_s in core/clock.h.
std::vector<Figure> sample_in_rounds(const std::vector<SampledFigure>& figures, double end_s,
                                     const std::function<double()>& clock_s = now_s);

}  // namespace rooftile
