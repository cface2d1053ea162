#include "runtime/model/fit/plateaus.h"

#include <algorithm>
#include <cmath>

namespace rooftile {
namespace {

// Levels of one machine differ by a factor of 1.5 and more; medians of single points differ by 10
// to 20 % from run to run on a shared machine.
constexpr double kLeastStep = 1.4;
// Share of the best rate from which launch costs hardly matter. A higher share would let noise
// decide.
constexpr double kLaunched = 0.7;

struct Segment {
  std::size_t first, last;
  double level;  // Mean of log2 bandwidth.

  double points() const { return static_cast<double>(last - first + 1); }
};

Segment joined(const Segment& x, const Segment& y) {
  return {x.first, y.last,
          (x.level * x.points() + y.level * y.points()) / (x.points() + y.points())};
}

/// Returns the non-increasing step function nearest to the points (pool adjacent violators).
std::vector<Segment> falling(std::span<const BandwidthPoint> curve, std::size_t begin) {
  std::vector<Segment> segments;
  for (std::size_t i = begin; i < curve.size(); ++i) {
    segments.push_back({i, i, std::log2(curve[i].gbps)});
    while (segments.size() > 1 && segments.end()[-2].level <= segments.back().level) {
      const Segment last = segments.back();
      segments.pop_back();
      segments.back() = joined(segments.back(), last);
    }
  }
  return segments;
}

void merge_close(std::vector<Segment>& segments) {
  while (segments.size() > 1) {
    std::size_t closest = 0;
    const auto step = [&](std::size_t i) { return segments[i].level - segments[i + 1].level; };
    for (std::size_t i = 1; i + 1 < segments.size(); ++i)
      if (step(i) < step(closest)) closest = i;
    if (step(closest) >= std::log2(kLeastStep)) return;
    segments[closest] = joined(segments[closest], segments[closest + 1]);
    segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(closest) + 1);
  }
}

}  // namespace

std::vector<Plateau> find_plateaus(std::span<const BandwidthPoint> curve) {
  if (curve.empty()) return {};
  const double best = std::ranges::max(curve, {}, &BandwidthPoint::gbps).gbps;
  const auto launched = std::ranges::find_if(
      curve, [&](const BandwidthPoint& p) { return p.gbps >= kLaunched * best; });
  std::vector<Segment> segments =
      falling(curve, static_cast<std::size_t>(launched - curve.begin()));
  merge_close(segments);
  std::vector<Plateau> plateaus;
  for (const Segment& segment : segments) {
    const bool ends = segment.last + 1 == curve.size();
    if (segment.first < segment.last || ends) plateaus.push_back({segment.first, segment.last});
  }
  return plateaus;
}

}  // namespace rooftile
