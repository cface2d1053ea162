#include "runtime/resident/expert_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "generator/emit_rows.h"
#include "runtime/resident/expert_operation.h"
#include "runtime/resident/row_check.h"
#include "runtime/resident/row_check_tools.h"

namespace rooftile {
namespace {

using namespace row_check;

using Integers = std::vector<std::int32_t>;
constexpr std::int32_t kCanaryInteger = -77;

/// Integers behind kOffset unused ones.
RowMatrices integers(Device& device, const Integers& values, std::int64_t ld = 0) {
  auto memory = shared_memory(device, kOffset + static_cast<std::int64_t>(values.size()));
  auto* const to = static_cast<std::int32_t*>(memory->buffer.mapped());
  std::fill_n(to, memory->buffer.size_bytes() / sizeof *to, kCanaryInteger);
  std::copy(values.begin(), values.end(), to + kOffset);
  return {std::move(memory), kOffset, ld, 0};
}

RowMatrices unwritten(Device& device, std::int64_t count, std::int64_t ld = 0) {
  return integers(device, Integers(static_cast<std::size_t>(count), kCanaryInteger), ld);
}

/// The host's result of an integer that is expected exactly.
void put(Integers& expected, const RowMatrices& x, std::int64_t row, std::int64_t column,
         std::int64_t value) {
  expected[at(x, row, column)] = static_cast<std::int32_t>(value);
}

void expect_same(const Integers& expected, const RowMatrices& got, const char* what) {
  const Integers values = values_of<std::int32_t>(*got.memory);
  for (std::size_t i = 0; i < values.size(); ++i) expect(values[i], expected[i], 0, what);
}

}  // namespace

double weight_bound(double distance, std::int64_t terms, double y) {
  // The argument of exp is rounded once. In the sum, which is at least 1, a term exp(-d) has the
  // relative error a + b d, and d exp(-d) is at most 1/e. Vulkan allows a division 2.5 units.
  const double of_exp = 3 * kUlp + (2 * kUlp + kUnit) * distance,
               of_sum = 3 * kUlp +
                        static_cast<double>(terms) * ((2 * kUlp + kUnit) * std::exp(-1.0) + kUnit);
  return y * (of_exp + of_sum + 2.5 * kUlp) * 1.01 + kSmallestNormal;
}

double combine_bound(std::int64_t terms, double size) {
  // Each product and each addition is rounded; fused ones are rounded less often.
  const double roundings = static_cast<double>(terms + 1);
  return roundings * kUnit * 1.01 * size + roundings * kSmallestNormal;
}

namespace {

void check_top_k_of(Device& device, const ShaderCache& cache, bool weights_of_all) {
  constexpr std::int64_t kRows = 4, kColumns = 2 * kRowsLocalSize + 3, kChosen = 5, kLd = 7;
  Random random(3);
  const RowMatrices x = random_matrix(device, kRows, kColumns + 1, 8, random),
                    columns = unwritten(device, kRows * kLd, kLd),
                    weights = random_matrix(device, kRows, kLd, 1, random);
  auto* const values = static_cast<float*>(x.memory->buffer.mapped());
  // Ties across invocations, zeros of both signs, and NaN and infinity, which are chosen first.
  for (std::int64_t j = 0; j < kColumns; ++j) values[at(x, 1, j)] = static_cast<float>(j % 3);
  for (std::int64_t j = 0; j < kColumns; ++j) values[at(x, 2, j)] = j % 2 == 0 ? -0.0f : 0.0f;
  values[at(x, 3, 70)] = std::numeric_limits<float>::quiet_NaN();
  values[at(x, 3, 3)] = std::numeric_limits<float>::infinity();
  values[at(x, 0, 70)] = -std::numeric_limits<float>::infinity();
  const std::vector<float> in = values_of<float>(*x.memory);
  std::vector<float> outside = values_of<float>(*weights.memory);
  Integers expected = values_of<std::int32_t>(*columns.memory);
  run(device,
      TopKCall{.rows = kRows,
               .columns = kColumns,
               .chosen = kChosen,
               .weights_of_all = weights_of_all,
               .x = x,
               .chosen_columns = columns,
               .weights = weights},
      emit_top_k(), cache);
  const std::vector<float> out = values_of<float>(*weights.memory);
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<std::int64_t> order(kColumns);
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](std::int64_t j) { return double{in[at(x, row, j)]}; };
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return std::isnan(value(a)) ? !std::isnan(value(b)) : value(a) > value(b);
    });
    const std::int64_t terms = weights_of_all ? kColumns : kChosen;
    double sum = 0;
    for (std::int64_t i = 0; i < terms; ++i)
      sum += std::exp(value(order[static_cast<std::size_t>(i)]) - value(order[0]));
    for (std::int64_t i = 0; i < kChosen; ++i)
      put(expected, columns, row, i, order[static_cast<std::size_t>(i)]);
    for (std::int64_t i = 0; i < kChosen; ++i) {
      const double distance = value(order[0]) - value(order[static_cast<std::size_t>(i)]),
                   weight = std::exp(-distance) / sum;
      const std::size_t to = at(weights, row, i);
      expect(out[to], weight, weight_bound(distance, terms, weight), "top_k");
      outside[to] = out[to];
    }
  }
  expect_unchanged(outside, out, "top_k");
  expect_same(expected, columns, "top_k");
}

}  // namespace

void check_top_k(std::shared_ptr<Device> device, const ShaderCache& cache) {
  for (const bool weights_of_all : {false, true}) check_top_k_of(*device, cache, weights_of_all);
}

void check_group_tokens(std::shared_ptr<Device> device, const ShaderCache& cache) {
  // More pairs than invocations; expert 2 has none; two pairs have no expert.
  constexpr std::int64_t kTokens = 33, kChosen = 3, kExperts = 7, kLdExperts = 4, kLdPlaces = 5;
  constexpr std::int64_t kPairs = kTokens * kChosen;
  Random random(4);
  Integers chosen(kTokens * kLdExperts);
  for (std::int32_t& expert : chosen) {
    expert = static_cast<std::int32_t>(random.below(kExperts));
    if (expert == 2) expert = 6;
  }
  chosen[5 * kLdExperts + 1] = -1;
  chosen[9 * kLdExperts] = kExperts;
  const RowMatrices experts = integers(*device, chosen, kLdExperts),
                    sizes = unwritten(*device, kExperts), sources = unwritten(*device, kPairs),
                    places = unwritten(*device, kTokens * kLdPlaces, kLdPlaces),
                    status = unwritten(*device, 1);
  Integers expected_sizes = values_of<std::int32_t>(*sizes.memory),
           expected_sources = values_of<std::int32_t>(*sources.memory),
           expected_places = values_of<std::int32_t>(*places.memory),
           expected_status = values_of<std::int32_t>(*status.memory);
  std::int64_t row = 0;
  for (std::int64_t expert = 0; expert <= kExperts; ++expert) {
    const std::int64_t first = row;
    for (std::int64_t pair = 0; pair < kPairs; ++pair) {
      const std::int64_t token = pair / kChosen, i = pair % kChosen,
                         own = chosen[static_cast<std::size_t>(token * kLdExperts + i)];
      const bool exists = own >= 0 && own < kExperts;
      if ((exists ? own : kExperts) != expert) continue;
      put(expected_sources, sources, 0, row, exists ? token : -1);
      put(expected_places, places, token, i, exists ? row : -1);
      ++row;
    }
    if (expert < kExperts) put(expected_sizes, sizes, 0, expert, row - first);
  }
  put(expected_status, status, 0, 0, 1);
  run(*device,
      GroupTokensCall{.tokens = kTokens,
                      .chosen = kChosen,
                      .experts = kExperts,
                      .experts_of_tokens = experts,
                      .sizes = sizes,
                      .sources = sources,
                      .places = places,
                      .status = status},
      emit_group_tokens(), cache);
  expect_same(expected_sizes, sizes, "group_tokens");
  expect_same(expected_sources, sources, "group_tokens");
  expect_same(expected_places, places, "group_tokens");
  expect_same(expected_status, status, "group_tokens");
}

void check_gather(std::shared_ptr<Device> device, const ShaderCache& cache) {
  constexpr std::int64_t kRows = 6, kRowsOfX = 4, kColumns = kRowsLocalSize + 5;
  constexpr std::int64_t kLdX = kColumns + 1, kLdY = kColumns + 2;
  const Integers from = {3, 0, -1, 0, kRowsOfX, 2};
  Random random(5);
  const RowMatrices x = random_matrix(*device, kRowsOfX, kLdX, 4, random),
                    y = random_matrix(*device, kRows, kLdY, 4, random),
                    sources = integers(*device, from), status = unwritten(*device, 1);
  const std::vector<float> in = values_of<float>(*x.memory);
  std::vector<float> expected = values_of<float>(*y.memory);
  Integers expected_status = values_of<std::int32_t>(*status.memory);
  for (std::int64_t row = 0; row < kRows; ++row)
    if (const std::int64_t source = from[static_cast<std::size_t>(row)];
        source >= 0 && source < kRowsOfX)
      for (std::int64_t j = 0; j < kColumns; ++j) expected[at(y, row, j)] = in[at(x, source, j)];
  put(expected_status, status, 0, 0, 1);
  run(*device,
      GatherCall{.rows = kRows,
                 .columns = kColumns,
                 .rows_x = kRowsOfX,
                 .x = x,
                 .sources = sources,
                 .y = y,
                 .status = status},
      emit_gather(), cache);
  const std::vector<float> out = values_of<float>(*y.memory);
  for (std::size_t i = 0; i < out.size(); ++i) expect(out[i], expected[i], 0, "gather");
  expect_same(expected_status, status, "gather");
}

void check_combine(std::shared_ptr<Device> device, const ShaderCache& cache) {
  constexpr std::int64_t kTokens = 3, kChosen = 4, kRowsOfX = 9, kColumns = kRowsLocalSize + 5;
  constexpr std::int64_t kLdX = kRowsLocalSize + 8, kLdY = kColumns + 2, kLd = 5;
  Random random(6);
  Integers from(kTokens * kLd);
  for (std::int32_t& place : from) place = static_cast<std::int32_t>(random.below(kRowsOfX));
  from[1] = -1;
  from[kLd] = kRowsOfX;
  // Beyond the matrix drivers read 0; this one's address would wrap around to row 0.
  static_assert(kLdX % 4 == 0);
  from[kLd + 2] = 1 << 30;
  const RowMatrices x = random_matrix(*device, kRowsOfX, kLdX, 4, random),
                    y = random_matrix(*device, kTokens, kLdY, 4, random),
                    places = integers(*device, from, kLd),
                    weights = random_matrix(*device, kTokens, kLd, 1, random),
                    status = unwritten(*device, 1);
  const std::vector<float> in = values_of<float>(*x.memory), by = values_of<float>(*weights.memory);
  std::vector<float> outside = values_of<float>(*y.memory);
  Integers expected_status = values_of<std::int32_t>(*status.memory);
  put(expected_status, status, 0, 0, 1);
  run(*device,
      CombineCall{.tokens = kTokens,
                  .columns = kColumns,
                  .chosen = kChosen,
                  .rows_x = kRowsOfX,
                  .x = x,
                  .places = places,
                  .weights = weights,
                  .residual = y,
                  .y = y,
                  .status = status},
      emit_combine(), cache);
  const std::vector<float> out = values_of<float>(*y.memory);
  for (std::int64_t token = 0; token < kTokens; ++token)
    for (std::int64_t j = 0; j < kColumns; ++j) {
      double sum = outside[at(y, token, j)], size = std::abs(sum);
      for (std::int64_t i = 0; i < kChosen; ++i) {
        const std::int64_t place = from[static_cast<std::size_t>(token * kLd + i)];
        if (place < 0 || place >= kRowsOfX) continue;
        const double term = double{by[at(weights, token, i)]} * in[at(x, place, j)];
        sum += term;
        size += std::abs(term);
      }
      expect(out[at(y, token, j)], sum, combine_bound(kChosen, size), "combine");
      outside[at(y, token, j)] = out[at(y, token, j)];
    }
  expect_unchanged(outside, out, "combine");
  expect_same(expected_status, status, "combine");
}

}  // namespace rooftile
