#include "tuner/search/variant_features.h"

#include <cmath>
#include <vector>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

std::vector<double> features_of(const Variant& v, const Problem& problem) {
  std::vector<double> row;
  const auto size = [&](int x) { row.push_back(std::log2(1 + x)); };
  const auto choice = [&](auto chosen, int values) {
    // For two values one column suffices.
    for (int i = values == 2 ? 1 : 0; i < values; ++i)
      row.push_back(static_cast<int>(chosen) == i ? 1 : 0);
  };
  for (const int x : {v.tile_m,         v.tile_n,     v.tile_k,         v.reg_m,
                      v.reg_n,          v.subgroup_m, v.subgroup_n,     v.matrix_m,
                      v.matrix_n,       v.matrix_k,   v.vector_width_a, v.vector_width_b,
                      v.stages,         v.shared_pad, v.unroll_k,       v.dot,
                      v.split_k,        v.tile_batch, v.subgroup_size,  local_size(v),
                      v.reg_m * v.reg_n})
    size(x);
  choice(v.family, 7);
  choice(v.load_path_a, 3);
  choice(v.load_path_b, 3);
  choice(v.stage, 4);
  choice(v.raster, 5);
  choice(v.scope, 2);
  choice(v.reduction, 2);
  choice(v.packed_a, 2);
  choice(v.packed_b, 2);
  choice(v.edge, 2);
  choice(v.optimization, 2);
  choice(v.prefetch != Prefetch::kNone, 2);
  choice(v.prefetch == Prefetch::kPeeled, 2);
  choice(v.store_map, 2);
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
