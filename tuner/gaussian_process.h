// Regression with its uncertainty: a Gaussian process with a Matérn 5/2 kernel over features and a
// linear part over a few trends. Rasmussen and Williams, Gaussian Processes for Machine Learning
// (2006), chapters 2, 4.2 and 5.4.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace rooftile {

/// What is known before any observation. Values are in the units of y.
struct GaussianProcessPrior {
  double constant_deviation = 10;         // of the level of y
  Eigen::VectorXd slopes = {};            // of y over each trend, expected
  Eigen::VectorXd slope_deviations = {};  // around them; with a slope of 0: the trend is left out
  double signal_deviation = 1;            // of what features explain beyond the trends
  double noise_deviation = 0.1;           // of an observation
  double length_scale = 1;                // distance of features at which values are strangers
};

class GaussianProcess {
 public:
  /// One row an observation; features and trends as the caller scales them.
  GaussianProcess(GaussianProcessPrior prior, Eigen::MatrixXd features, Eigen::MatrixXd trends,
                  const Eigen::VectorXd& y);

  /// Logarithm of the density of y under the prior: the larger, the better the prior fits.
  double log_likelihood() const { return log_likelihood_; }

  struct Prediction {
    Eigen::VectorXd mean, deviation;  // of the value without noise
  };
  Prediction predict(const Eigen::MatrixXd& features, const Eigen::MatrixXd& trends) const;

 private:
  Eigen::MatrixXd covariance(const Eigen::MatrixXd& features, const Eigen::MatrixXd& trends) const;

  GaussianProcessPrior prior_;
  Eigen::MatrixXd features_, trends_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  Eigen::VectorXd weights_;
  double log_likelihood_ = 0;
};

}  // namespace rooftile
