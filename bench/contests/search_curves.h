// Progress of searches of one space over many seeds, as CSV and as a plot.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/numbers/statistics.h"

namespace rooftile {

/// Share of the optimum after each number of candidates: median over the seeds and its 95 %
/// interval.
struct Level {
  double middle;
  Interval interval;
};

struct Curve {
  std::string space, label;
  std::vector<Level> levels;  // Levels after 1, 2, ... candidates.
};

/// shares[seed][candidates - 1]; all seeds have the same number of candidates.
Curve summarized(const std::string& space, const std::string& label,
                 const std::vector<std::vector<double>>& shares);

/// Writes space,strategy,candidates,median,low,high. Throws kIo.
void write_csv(const std::string& file, std::span<const Curve> curves);
/// Plots with gnuplot, as PNG if the name ends with .png, else as SVG: a panel for each space, a
/// line and its interval for each label. Throws kIo.
void plot(const std::string& file, std::span<const Curve> curves);

}  // namespace rooftile
