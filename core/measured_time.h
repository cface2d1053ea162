// How long a kernel took on a problem of its class, of which only the sizes are kept.
#pragma once

#include <cstdint>

namespace rooftile {

struct MeasuredTime {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  double ns = 0;  // kernel plus packing, as a call pays it

  bool operator==(const MeasuredTime&) const = default;
};

inline bool same_sizes(const MeasuredTime& x, const MeasuredTime& y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.batch == y.batch;
}

}  // namespace rooftile
