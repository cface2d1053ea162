// The time of a kernel on a problem of its class. Only the sizes of the problem are kept.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace rooftile {

struct MeasuredTime {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  double ns = 0;  // kernel plus packing, as a call pays it
  // The same time from each half of the measurements. A kernel that is chosen as the fastest by one
  // half is rated by the other, which the choice does not bias. Empty: not measured in halves.
  std::optional<std::array<double, 2>> half_ns = {};

  bool operator==(const MeasuredTime&) const = default;
};

inline bool same_sizes(const MeasuredTime& x, const MeasuredTime& y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.batch == y.batch;
}

}  // namespace rooftile
