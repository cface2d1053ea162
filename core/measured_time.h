// How long a kernel took on a problem of its class, of which only the sizes are kept.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace rooftile {

struct MeasuredTime {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  double ns = 0;  // kernel plus packing, as a call pays it
  // The same from one half of the measurements and from the other. Who is named the fastest by one
  // of them is not flattered by the other. Nothing: not measured so.
  std::optional<std::array<double, 2>> half_ns = {};

  bool operator==(const MeasuredTime&) const = default;
};

inline bool same_sizes(const MeasuredTime& x, const MeasuredTime& y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.batch == y.batch;
}

}  // namespace rooftile
