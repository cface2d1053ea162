#include "runtime/model/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A party's time as a function of its share, linear between the shares that were predicted.
class Curve {
 public:
  Curve(const Party& party, double slowdown) : ns_{0} {
    for (const double ns : party.share_ns) ns_.push_back(std::max(ns_.back(), slowdown * ns));
    // What no share avoids, such as a submission, is where the line through the first two ends.
    if (ns_.size() > 2 && std::isfinite(ns_[2]))
      ns_[0] = std::clamp(2 * ns_[1] - ns_[2], 0.0, ns_[1]);
  }

  double ns(double share) const {
    const double at = share * steps();
    const auto below =
        static_cast<std::size_t>(std::clamp(std::floor(at), 0.0, std::max(steps() - 1, 0.0)));
    const double beyond = at - static_cast<double>(below);
    if (beyond <= 0) return ns_[below];
    // Infinity times 0 is no number.
    return below + 1 < ns_.size() && std::isfinite(ns_[below + 1])
               ? std::lerp(ns_[below], ns_[below + 1], beyond)
               : kInfinity;
  }

  /// Largest share that is done in this time.
  double share_in(double ns) const {
    if (ns < ns_[0]) return 0;
    std::size_t last = 0;
    while (last + 1 < ns_.size() && ns_[last + 1] <= ns) ++last;
    if (last + 1 == ns_.size()) return 1;
    const double rise = ns_[last + 1] - ns_[last];
    const double part = std::isfinite(rise) && rise > 0 ? (ns - ns_[last]) / rise : 0;
    return (static_cast<double>(last) + part) / steps();
  }

 private:
  double steps() const { return static_cast<double>(ns_.size() - 1); }

  std::vector<double> ns_;  // Of 0, 1, 2, ... steps.
};

/// Shortest time in which the curves together do everything. It is exact, since a longer one gives
/// the first curve a grain too many.
double shortest_ns(std::span<const Curve> curves) {
  double below = 0, above = kInfinity;
  for (const Curve& curve : curves) above = std::min(above, curve.ns(1));
  if (!std::isfinite(above)) {  // No party can do all of it alone.
    above = 0;
    for (const Curve& curve : curves)
      for (int i = 1; i <= 64; ++i)
        if (const double ns = curve.ns(i / 64.0); std::isfinite(ns)) above = std::max(above, ns);
  }
  const auto done = [&](double ns) {
    return std::accumulate(curves.begin(), curves.end(), 0.0,
                           [&](double sum, const Curve& c) { return sum + c.share_in(ns); }) >= 1;
  };
  while (above - below > 1e-9 * above) {
    const double middle = (below + above) / 2;
    (done(middle) ? above : below) = middle;
  }
  return above;
}

/// The speed of each processor while so many are busy.
double speed(const SharedProcessors& shared, double busy) {
  if (shared.count <= 1) return 1;
  const double others = (std::clamp(busy, 1.0, shared.count) - 1) / (shared.count - 1);
  return 1 - (1 - shared.busy_speed) * others;
}

bool are_different(std::span<const Party> parties, std::span<const std::size_t> chosen) {
  for (std::size_t i = 0; i < chosen.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (parties[chosen[i]].resource == parties[chosen[j]].resource) return false;
  return true;
}

/// Indices of the parties that can take part, at most kMostParties, those first that are fastest
/// with the smallest share.
std::vector<std::size_t> contestants(std::span<const Party> parties) {
  std::vector<std::size_t> able;
  for (std::size_t i = 0; i < parties.size(); ++i)
    if (!parties[i].share_ns.empty() && std::isfinite(parties[i].share_ns.front()))
      able.push_back(i);
  if (able.size() > kMostParties) {
    std::ranges::stable_sort(able, {}, [&](std::size_t i) { return parties[i].share_ns.front(); });
    able.resize(kMostParties);
    std::ranges::sort(able);
  }
  return able;
}

double efficiency(const Problem& p, const Variant& kernel, double compute_units) {
  const Waves w = waves(p, kernel, compute_units);
  return w.wave_efficiency * w.tile_efficiency;
}

}  // namespace

double part_kernel_ns(double whole_ns, const Problem& whole, const Problem& part,
                      const Variant& kernel, double compute_units) {
  return whole_ns * flops(part) / flops(whole) * efficiency(whole, kernel, compute_units) /
         efficiency(part, kernel, compute_units);
}

std::vector<double> slowdowns(std::span<const Party> parties, const SharedProcessors& shared) {
  double busy = 0;
  for (const Party& party : parties) busy += party.processors;
  const double count = std::max(shared.count, 1.0);
  std::vector<double> factors;
  for (const Party& party : parties) {
    const double alone = speed(shared, party.processors) / std::max(1.0, party.processors / count),
                 together = speed(shared, busy) / std::max(1.0, busy / count);
    const double slower = std::max(1.0, alone / together);
    factors.push_back(1 + (slower - 1) * std::clamp(party.processors, 0.0, 1.0));
  }
  return factors;
}

SplitPlan divide(std::span<const Party> parties, const SharedProcessors& shared, std::int64_t size,
                 std::int64_t grain) {
  if (parties.empty() || size <= 0 || grain <= 0) return {};
  const std::vector<double> slower = slowdowns(parties, shared);
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < parties.size(); ++i) {
    if (parties[i].share_ns.empty()) return {};
    curves.emplace_back(parties[i], slower[i]);
  }
  const double ns = shortest_ns(curves);
  const std::int64_t grains = (size + grain - 1) / grain;
  const auto ns_of = [&](std::size_t i, std::int64_t count) {
    return curves[i].ns(
        std::min(1.0, static_cast<double>(count * grain) / static_cast<double>(size)));
  };
  std::vector<std::int64_t> counts;
  std::int64_t left = grains;
  for (const Curve& curve : curves) {
    const double wanted =
        curve.share_in(ns) * static_cast<double>(size) / static_cast<double>(grain);
    counts.push_back(std::min(left, static_cast<std::int64_t>(wanted)));
    left -= counts.back();
  }
  // What rounding has left over goes, grain by grain, to whoever then ends first.
  for (; left > 0; --left) {
    std::size_t first = 0;
    for (std::size_t i = 1; i < curves.size(); ++i)
      if (ns_of(i, counts[i] + 1) < ns_of(first, counts[first] + 1)) first = i;
    if (!std::isfinite(ns_of(first, counts[first] + 1))) return {};
    ++counts[first];
  }
  SplitPlan plan = {.ns = 0};
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (counts[i] == 0) return {};
    const std::int64_t lines = std::min(counts[i] * grain, size - begin);
    plan.shares.push_back({.party = i, .begin = begin, .size = lines, .ns = ns_of(i, counts[i])});
    plan.ns = std::max(plan.ns, plan.shares.back().ns);
    begin += lines;
  }
  plan.ns += static_cast<double>(parties.size() - 1) * shared.thread_ns;
  return plan;
}

SplitPlan best_split(std::span<const Party> parties, const SharedProcessors& shared,
                     std::int64_t size, std::int64_t grain, std::size_t least) {
  const std::vector<std::size_t> able = contestants(parties);
  SplitPlan best;
  for (std::size_t members = 1; members < std::size_t{1} << able.size(); ++members) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < able.size(); ++i)
      if ((members >> i & 1) != 0) chosen.push_back(able[i]);
    if (chosen.size() < least || !are_different(parties, chosen)) continue;
    std::vector<Party> together;
    for (const std::size_t i : chosen) together.push_back(parties[i]);
    SplitPlan plan = divide(together, shared, size, grain);
    if (plan.shares.empty() || plan.ns >= best.ns) continue;
    for (PlannedShare& share : plan.shares) share.party = chosen[share.party];
    best = std::move(plan);
  }
  return best;
}

}  // namespace rooftile
