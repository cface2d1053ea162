#include "tuner/search/surrogate_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "core/numbers/statistics.h"
#include "tuner/search/surrogate.h"
#include "tuner/search/variant_features.h"

namespace rooftile {
namespace {

constexpr std::size_t kMostObservations =
    256;  // of a regression: the fastest, time grows cubically
// Candidates that are looked at, the first ones by the analytical model: half of the square of how
// many are measured, so that a search of a space of 650 is free after 36, whatever the model
// thinks. lavapipe, 14 frozen spaces, 16 candidates, 2026-11-22: that has 98.4 % of the optimum, no
// limit 96.7 % (geometric means; bench/notes/2026-11-22-search.md).
constexpr std::size_t kFewest = 16;
std::size_t widened(std::size_t measured) { return std::max(kFewest, measured * measured / 2); }
// Times above this multiple of the best count as this multiple, because they teach nothing about
// the best.
constexpr double kFloor = 16;

Eigen::Index index(std::size_t i) { return static_cast<Eigen::Index>(i); }

/// Returns the given rows of a matrix.
Eigen::MatrixXd rows(const Eigen::MatrixXd& all, std::span<const std::size_t> which) {
  Eigen::MatrixXd result(index(which.size()), all.cols());
  for (std::size_t i = 0; i < which.size(); ++i) result.row(index(i)) = all.row(index(which[i]));
  return result;
}

double expected_improvement(double best, double mean, double deviation) {
  if (deviation <= 0) return std::max(0.0, best - mean);
  const double z = (best - mean) / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return (best - mean) * below + deviation * density;
}

}  // namespace

SurrogateSearch::SurrogateSearch(const SearchSpace& space, Knowledge knowledge)
    : space_(space),
      knowledge_(knowledge),
      pool_(space.variants.size()),
      features_(variant_features(space.variants, space.problem)) {
  const std::size_t size = space.variants.size();
  std::vector<double> analytical, transferred;
  for (std::size_t i = 0; i < size; ++i) {
    analytical.push_back(std::log2(space.analytical_ns[i]));
    if (std::isfinite(space.transferred[i])) transferred.push_back(space.transferred[i]);
  }
  const bool transfers = knowledge == Knowledge::kEverything && !transferred.empty();
  trends_ = Eigen::MatrixXd::Zero(index(size), transfers ? 2 : 1);
  if (size == 0) return;
  const double middle = median(analytical);
  for (std::size_t i = 0; i < size; ++i) trends_(index(i), 0) = analytical[i] - middle;
  if (transfers) {
    // Candidates without measurements elsewhere count as average.
    const double average = median(transferred);
    for (std::size_t i = 0; i < size; ++i)
      if (std::isfinite(space.transferred[i]))
        trends_(index(i), 1) = space.transferred[i] - average;
  }
  by_model_ = ascending(space.analytical_ns);
  plan_first();
}

void SurrogateSearch::plan_first() {
  if (knowledge_ == Knowledge::kEverything)
    std::ranges::copy(space_.starts, std::back_inserter(first_));
  for (const std::size_t candidate : by_model_) {
    if (first_.size() >= kSearchBatch) break;
    if (std::ranges::find(first_, candidate) == first_.end()) first_.push_back(candidate);
  }
}

std::vector<std::size_t> SurrogateSearch::eligible(std::size_t measured) const {
  std::vector<std::size_t> candidates;
  const std::size_t considered = std::min(by_model_.size(), widened(measured));
  for (const std::size_t candidate : std::span(by_model_).first(considered))
    if (pool_.has(candidate)) candidates.push_back(candidate);
  return candidates.empty() ? pool_.rest() : candidates;
}

std::vector<std::size_t> SurrogateSearch::propose(std::span<const Observation> history,
                                                  std::size_t count) {
  pool_.take(history);
  expected_gain_.reset();
  std::vector<std::size_t> batch;
  while (batch.size() < count && !first_.empty()) {
    const std::size_t candidate = first_.front();
    first_.pop_front();
    if (pool_.take(candidate)) batch.push_back(candidate);
  }
  if (batch.size() < count && !pool_.empty())
    for (const std::size_t candidate : by_expected_improvement(history, count - batch.size()))
      batch.push_back(candidate);
  return batch;
}

std::vector<std::size_t> SurrogateSearch::by_expected_improvement(
    std::span<const Observation> history, std::size_t count) {
  std::vector<Observation> known(history.begin(), history.end());
  std::ranges::stable_sort(known, {}, &Observation::ns);
  known.resize(std::min(known.size(), kMostObservations));
  std::vector<std::size_t> batch;
  if (known.empty() || !std::isfinite(known.front().ns)) {
    for (const std::size_t candidate : by_model_) {
      if (batch.size() == count) break;
      if (pool_.take(candidate)) batch.push_back(candidate);
    }
    return batch;
  }
  const double floor_ns = kFloor * known.front().ns;
  std::vector<std::size_t> measured;
  std::vector<double> y;
  for (const Observation& o : known) {
    measured.push_back(o.candidate);
    y.push_back(std::log2(std::min(o.ns, floor_ns)));
  }
  const double best = y.front();
  const auto values = [&] { return Eigen::Map<const Eigen::VectorXd>(y.data(), index(y.size())); };
  const GaussianProcessPrior prior =
      likeliest_prior(rows(features_, measured), rows(trends_, measured), values());
  while (batch.size() < count && !pool_.empty()) {
    const std::vector<std::size_t> rest = eligible(history.size());
    const GaussianProcess::Prediction predicted =
        GaussianProcess(prior, rows(features_, measured), rows(trends_, measured), values())
            .predict(rows(features_, rest), rows(trends_, rest));
    std::size_t next = 0;
    double most = -1;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const double gain =
          expected_improvement(best, predicted.mean[index(i)], predicted.deviation[index(i)]);
      if (gain > most) {
        most = gain;
        next = i;
      }
    }
    if (batch.empty()) expected_gain_ = most;
    batch.push_back(rest[next]);
    pool_.take(rest[next]);
    measured.push_back(rest[next]);
    y.push_back(predicted.mean[index(next)]);
  }
  return batch;
}

}  // namespace rooftile
