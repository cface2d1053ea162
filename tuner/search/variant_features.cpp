#include "tuner/search/variant_features.h"

#include <cmath>
#include <vector>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

std::vector<double> features_of(const Variant& v, const Problem& problem) {
  std::vector<double> row;
  const auto size = [&](int x) { row.push_back(std::log2(1 + x)); };
  for (const auto& [value, words] : parameter_numbers(v)) {
    if (words == 0) size(value);
    // For two words one column suffices.
    for (int word = words == 2 ? 1 : 0; word < words; ++word) row.push_back(value == word ? 1 : 0);
  }
  size(local_size(v));
  size(v.reg_m * v.reg_n);
  const Waves w = waves(problem, v, 1);
  row.push_back(std::log2(1 + w.workgroups));
  row.push_back(std::log2(w.tile_efficiency));
  return row;
}

}  // namespace

Eigen::MatrixXd variant_features(std::span<const Variant> variants, const Problem& problem) {
  if (variants.empty()) return {};
  std::vector<std::vector<double>> rows;
  for (const Variant& v : variants) rows.push_back(features_of(v, problem));
  std::vector<Eigen::VectorXd> columns;
  for (std::size_t c = 0; c < rows.front().size(); ++c) {
    Eigen::VectorXd column(static_cast<Eigen::Index>(rows.size()));
    for (std::size_t r = 0; r < rows.size(); ++r) column[static_cast<Eigen::Index>(r)] = rows[r][c];
    column.array() -= column.mean();
    const double deviation = std::sqrt(column.squaredNorm() / static_cast<double>(rows.size()));
    if (deviation > 1e-9) columns.push_back(column / deviation);
  }
  Eigen::MatrixXd result(static_cast<Eigen::Index>(rows.size()),
                         static_cast<Eigen::Index>(columns.size()));
  for (std::size_t c = 0; c < columns.size(); ++c)
    result.col(static_cast<Eigen::Index>(c)) = columns[c];
  // On average the squared distance of two rows is twice the sum of the columns' variances.
  return columns.empty() ? result : result / std::sqrt(2.0 * static_cast<double>(columns.size()));
}

}  // namespace rooftile
