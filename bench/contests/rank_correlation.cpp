#include "bench/contests/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/error.h"

namespace rooftile {
namespace {

/// Subtracts the mean rank from each rank.
std::vector<double> centred_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  const double middle = static_cast<double>(values.size() - 1) / 2;
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double shared = static_cast<double>(begin + end - 1) / 2 - middle;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = shared;
  }
  return ranks;
}

double product(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

}  // namespace

double rank_correlation(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.size() < 2)
    fail(ErrorCode::kInvalidArgument, "{} and {} values cannot be correlated", x.size(), y.size());
  const std::vector<double> a = centred_ranks(x), b = centred_ranks(y);
  const double scale = std::sqrt(product(a, a) * product(b, b));
  return scale > 0 ? product(a, b) / scale : 0;
}

}  // namespace rooftile
