#include "tuner/time_shares.h"

#include <cmath>
#include <numeric>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

constexpr double kCompileS = 0.1;  // A candidate's shader and pipeline.
// Number of calls that a search makes with a candidate, untimed ones included.
constexpr double kProducts = 6;

}  // namespace

std::vector<double> slice_weights(std::span<const TuneProblem> problems, const Variant& typical,
                                  const DeviceRates& rates) {
  std::vector<double> weights;
  for (const TuneProblem& wanted : problems) {
    const double product_s =
        is_calibrated(rates) ? 1e-9 * analytical_ns(wanted.problem, typical, rates) : 0.0;
    weights.push_back(std::sqrt(kCompileS + kProducts * product_s));
  }
  return weights;
}

double slice_s(std::span<const double> weights, std::size_t i, double left_s) {
  const std::span<const double> open = weights.subspan(i);
  return left_s * open.front() / std::accumulate(open.begin(), open.end(), 0.0);
}

}  // namespace rooftile
