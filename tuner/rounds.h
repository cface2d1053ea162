// Figures of a calibration are sampled in turns: one sample of each, then the next of each. Where
// the machine's speed changes meanwhile, all figures change alike, and their ratios, which the
// order of kernels rests on, stay as they are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/figure.h"

namespace rooftile {

/// One sample of a figure.
struct Turn {
  double value = 0;       // in the figure's unit
  double busy_share = 0;  // as of a Reading (steady_samples.h)
};

struct SampledFigure {
  std::string name, unit;
  std::function<Turn()> take;
};

inline constexpr int kFewestRounds = 3, kRoundsThatTell = 5, kMostRounds = 15;

/// At least kFewestRounds, however late it is; then until time is up, every figure is steady (the
/// 95 % interval of its median within 2 % of it, of kRoundsThatTell at least), or there were
/// kMostRounds. A turn that somebody else spoilt is taken again, once a round and figure, while
/// there is time. now_s as core/clock.h has it.
std::vector<Figure> sample_in_rounds(const std::vector<SampledFigure>& figures, double end_s,
                                     const std::function<double()>& clock_s = now_s);

}  // namespace rooftile
