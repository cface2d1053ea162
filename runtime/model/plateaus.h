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

/// Points [first, last] of a curve that keep one bandwidth.
struct Plateau {
  std::size_t first = 0, last = 0;

  bool operator==(const Plateau&) const = default;
};

/// Fastest first; footprints rise. The last one is device memory and ends with the curve; one
/// plateau: no cache was seen. Nothing is assumed of how many there are or where. What the launch
/// of a kernel costs the smallest footprints is left out. A larger footprint is never faster, so
/// points that rise by noise are pooled (isotonic regression); neighbours are merged, the closest
/// first, until each is slower than the one before by more than noise; a single point between two
/// plateaus is a transition. Needs points a factor of about two apart. Empty for no points.
std::vector<Plateau> find_plateaus(std::span<const BandwidthPoint> curve);

}  // namespace rooftile
