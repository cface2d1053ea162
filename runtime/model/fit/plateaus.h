// Memory levels in a curve of bandwidth over footprint. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rooftile {

struct BandwidthPoint {
  double footprint_bytes = 0;
  double gbps = 0;
};

/// Points [first, last] of a curve that have one bandwidth.
struct Plateau {
  std::size_t first = 0, last = 0;

  bool operator==(const Plateau&) const = default;
};

/// Finds the plateaus of a curve with rising footprints, fastest first. The last one is device
/// memory and ends with the curve; a single plateau means that no cache was seen. Needs points a
/// factor of about two apart; empty for no points.
/// - Neither the number of levels nor their sizes are assumed.
/// - The smallest footprints are left out, where the launch of a kernel dominates.
/// - A larger footprint is never faster, so points that rise by noise are pooled (isotonic
///   regression).
/// - Neighbours are merged, the closest first, until each is slower than the one before by more
///   than noise.
/// - A single point between two plateaus is a transition.
std::vector<Plateau> find_plateaus(std::span<const BandwidthPoint> curve);

}  // namespace rooftile
