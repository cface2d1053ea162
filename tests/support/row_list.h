// A list of row operations on matrices of float32 or 32-bit integers.
#pragma once

#include <rooftile/experts.h>
#include <rooftile/rows.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/numbers/random.h"
#include "runtime/resident/expert_check.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {

inline std::vector<float> random_values(std::size_t count, float range) {
  Random random(count);
  std::vector<float> values(count);
  for (float& value : values) value = range * random.symmetric();
  return values;
}

/// Arguments of steps for matrices without padding, those of a batch one behind the other.
inline rooftile_softmax_args softmax_args(std::int64_t rows, std::int64_t columns, float scale = 1,
                                          std::int64_t batch = 1) {
  const std::int64_t stride = batch > 1 ? rows * columns : 0;
  return {.struct_size = sizeof(rooftile_softmax_args),
          .rows = rows,
          .columns = columns,
          .batch = batch,
          .ld_x = columns,
          .ld_y = columns,
          .stride_x = stride,
          .stride_y = stride,
          .scale = scale};
}
inline rooftile_multiply_args multiply_args(std::int64_t rows, std::int64_t columns,
                                            std::int64_t activation = 0) {
  return {.struct_size = sizeof(rooftile_multiply_args),
          .rows = rows,
          .columns = columns,
          .ld_x = columns,
          .ld_y = columns,
          .ld_z = columns,
          .activation = activation};
}
inline rooftile_top_k_args top_k_args(std::int64_t rows, std::int64_t columns,
                                      std::int64_t chosen) {
  return {.struct_size = sizeof(rooftile_top_k_args),
          .rows = rows,
          .columns = columns,
          .chosen = chosen,
          .ld_x = columns,
          .ld_experts = chosen,
          .ld_weights = chosen};
}

class RowListTest : public ResidentTest {
 protected:
  void SetUp() override {
    ResidentTest::SetUp();
    open({});
    ok(rooftile_list_create(context_, &list_));
  }
  void TearDown() override {
    ok(rooftile_list_release(list_));
    ResidentTest::TearDown();
  }
  void run() { ResidentTest::run(list_); }
  void start_new_list() {
    ok(rooftile_list_release(list_));
    ok(rooftile_list_create(context_, &list_));
  }
  template <typename T = float>
  std::vector<T> download(const rooftile_place& place, std::size_t count) {
    std::vector<T> values(count);
    ok(rooftile_buffer_download(place.buffer, static_cast<std::size_t>(place.offset) * 4,
                                values.data(), count * 4));
    return values;
  }
  rooftile_list* list_ = nullptr;
};

/// Columns of a row from the largest value on; of equal ones the lower column comes first.
inline std::vector<std::int32_t> by_size(const float* row, std::int64_t columns) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(columns));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) { return row[a] > row[b]; });
  return order;
}

/// A column that top_k chooses, and its weight: the softmax of the chosen values, or of the row.
struct ChosenColumn {
  std::int32_t column;
  double weight, error;  ///< error: weight_bound
};
inline std::vector<ChosenColumn> top_k_of(const float* row, std::int64_t columns,
                                          std::int64_t chosen, bool weights_of_all = false) {
  std::vector<std::int32_t> order = by_size(row, columns);
  const double largest = row[order.front()];
  if (!weights_of_all) order.resize(static_cast<std::size_t>(chosen));
  const auto terms = static_cast<std::int64_t>(order.size());
  double sum = 0;
  for (const std::int32_t column : order) sum += std::exp(row[column] - largest);
  order.resize(static_cast<std::size_t>(chosen));
  std::vector<ChosenColumn> choice;
  for (const std::int32_t column : order) {
    const double distance = largest - row[column], weight = std::exp(-distance) / sum;
    choice.push_back({column, weight, weight_bound(distance, terms, weight)});
  }
  return choice;
}

}  // namespace rooftile
