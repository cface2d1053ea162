#include "tuner/search/transfer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/model/roofline.h"
#include "tuner/search/surrogate.h"
#include "tuner/search/variant_features.h"

namespace rooftile {
namespace {

// In size_distance(): two octaves in one dimension.
constexpr double kFar = 4;
// Weights of a source with other types or transposes.
constexpr double kOtherTypes = 0.25, kOtherTranspose = 0.5;
// Times above this multiple of the best count as this multiple, because they say nothing about the
// best.
constexpr double kTransferFloor = 16;
constexpr std::size_t kMostOthers = 6, kMostOfOthers = 700;  // Sources, and samples of each.
constexpr std::size_t kMostMeasured = 128;                   // The fastest of a source.

double problem_weight(const TransferSource& source, const Problem& problem) {
  double weight = source.nearness * std::exp(-size_distance(source.problem, problem) / kFar);
  if (source.problem.types != problem.types) weight *= kOtherTypes;
  if (source.problem.trans_a != problem.trans_a || source.problem.trans_b != problem.trans_b)
    weight *= kOtherTranspose;
  return weight;
}

/// Returns log2 of each kernel's time over the fastest, by the analytical model.
Eigen::VectorXd analytical(const Problem& problem, std::span<const Variant> variants,
                           const DeviceRates& rates) {
  constexpr double kLeastNs = 1;  // Without a calibration all times are equal.
  Eigen::VectorXd result(static_cast<Eigen::Index>(variants.size()));
  for (std::size_t i = 0; i < variants.size(); ++i)
    result[static_cast<Eigen::Index>(i)] =
        std::log2(std::max(kLeastNs, analytical_ns(problem, variants[i], rates)));
  return (result.array() - result.minCoeff()).min(std::log2(kTransferFloor));
}

/// Returns log2 of each candidate's time over the best, as predicted from a source.
Eigen::VectorXd predicted(const TransferSource& source, const SearchSpace& space) {
  std::vector<MeasuredVariant> measured = source.measured;
  std::ranges::stable_sort(measured, {}, &MeasuredVariant::ns);
  measured.resize(std::min(measured.size(), kMostMeasured));
  std::vector<Variant> variants;
  Eigen::VectorXd y(static_cast<Eigen::Index>(measured.size()));
  for (std::size_t i = 0; i < measured.size(); ++i) {
    variants.push_back(measured[i].variant);
    y[static_cast<Eigen::Index>(i)] =
        std::log2(std::min(measured[i].ns / measured.front().ns, kTransferFloor));
  }
  variants.insert(variants.end(), space.variants.begin(), space.variants.end());
  const Eigen::MatrixXd features = variant_features(variants, source.problem);
  const Eigen::MatrixXd trend = analytical(source.problem, variants, space.rates);
  const Eigen::MatrixXd here = features.topRows(y.size()), trend_here = trend.topRows(y.size());
  const Eigen::Index left = features.rows() - y.size();
  const GaussianProcess process(likeliest_prior(here, trend_here, y), here, trend_here, y);
  return process.predict(features.bottomRows(left), trend.bottomRows(left)).mean;
}

}  // namespace

double weight_of(Nearness nearness) {
  switch (nearness) {
    case Nearness::kSame:
      return 1;
    case Nearness::kSameDevice:
    case Nearness::kSameProduct:
      return 0.8;
    case Nearness::kSameDriver:
      return 0.5;
    case Nearness::kSameKind:
      return 0.25;
  }
  return 0;
}

std::vector<TransferSource> sources_of_others(const Store& store, RowId device,
                                              const Problem& problem) {
  std::vector<TransferSource> sources;
  RowId last = 0;
  // The samples of a device and problem are consecutive.
  for (const TransferSample& sample :
       store.transfer_samples(device, problem, kMostOthers * kMostOfOthers)) {
    if (sources.empty() || sample.from.device != last || sample.problem != sources.back().problem) {
      if (sources.size() == kMostOthers) break;
      sources.push_back(
          {.problem = sample.problem, .measured = {}, .nearness = weight_of(sample.from.nearness)});
      last = sample.from.device;
    }
    sources.back().measured.push_back({sample.variant, sample.ns});
  }
  return sources;
}

std::vector<double> transferred(const SearchSpace& space, std::span<const TransferSource> sources) {
  const std::size_t size = space.variants.size();
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(size));
  double weights = 0;
  for (const TransferSource& source : sources) {
    if (source.measured.size() < 2) continue;
    const double weight = problem_weight(source, space.problem);
    sum += weight * predicted(source, space);
    weights += weight;
  }
  if (weights == 0) return std::vector<double>(size, std::numeric_limits<double>::quiet_NaN());
  sum /= weights;
  return {sum.begin(), sum.end()};
}

}  // namespace rooftile
