#include "tuner/search/surrogate.h"

#include <array>
#include <optional>
#include <utility>

namespace rooftile {
namespace {

constexpr std::array kLengthScales = {0.35, 0.7, 1.4, 2.8};
constexpr std::array kSignalDeviations = {0.5, 1.0, 2.0};
constexpr std::array kNoiseDeviations = {0.03, 0.1, 0.3};
// Prior slope, and its deviation, of a trend that counts: halfway between no relation and times
// proportional to the trend.
constexpr double kSlope = 0.5;

struct Fit {
  GaussianProcessPrior prior;
  std::optional<double> log_likelihood;
};

/// Returns the likeliest fit in which only the first `counting` trends count.
Fit likeliest_fit(Eigen::Index counting, const Eigen::MatrixXd& features,
                  const Eigen::MatrixXd& trends, const Eigen::VectorXd& y) {
  GaussianProcessPrior prior;
  prior.slopes = Eigen::VectorXd::Zero(trends.cols());
  prior.slopes.head(counting).setConstant(kSlope);
  prior.slope_deviations = prior.slopes;
  Fit best;
  for (const double length : kLengthScales) {
    for (const double signal : kSignalDeviations) {
      for (const double noise : kNoiseDeviations) {
        prior.length_scale = length;
        prior.signal_deviation = signal;
        prior.noise_deviation = noise;
        const double here = GaussianProcess(prior, features, trends, y).log_likelihood();
        if (!best.log_likelihood || here > *best.log_likelihood) best = {prior, here};
      }
    }
  }
  return best;
}

}  // namespace

GaussianProcessPrior likeliest_prior(const Eigen::MatrixXd& features, const Eigen::MatrixXd& trends,
                                     const Eigen::VectorXd& y) {
  Fit all = likeliest_fit(trends.cols(), features, trends, y);
  if (trends.cols() < 2) return std::move(all.prior);
  Fit first = likeliest_fit(1, features, trends, y);
  return std::move(first.log_likelihood > all.log_likelihood ? first.prior : all.prior);
}

}  // namespace rooftile
