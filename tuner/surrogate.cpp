#include "tuner/surrogate.h"

#include <array>
#include <optional>

namespace rooftile {
namespace {

constexpr std::array kLengthScales = {0.35, 0.7, 1.4, 2.8};
constexpr std::array kSignalDeviations = {0.5, 1.0, 2.0};
constexpr std::array kNoiseDeviations = {0.03, 0.1, 0.3};
// Between no relation and times proportional to the trend.
constexpr double kSlope = 0.5;

}  // namespace

GaussianProcessPrior likeliest_prior(const Eigen::MatrixXd& features, const Eigen::MatrixXd& trends,
                                     const Eigen::VectorXd& y) {
  GaussianProcessPrior prior, best;
  prior.slopes = Eigen::VectorXd::Constant(trends.cols(), kSlope);
  std::optional<double> likelihood;
  for (const double length : kLengthScales) {
    for (const double signal : kSignalDeviations) {
      for (const double noise : kNoiseDeviations) {
        prior.length_scale = length;
        prior.signal_deviation = signal;
        prior.noise_deviation = noise;
        const double here = GaussianProcess(prior, features, trends, y).log_likelihood();
        if (likelihood && !(here > *likelihood)) continue;
        likelihood = here;
        best = prior;
      }
    }
  }
  return best;
}

}  // namespace rooftile
