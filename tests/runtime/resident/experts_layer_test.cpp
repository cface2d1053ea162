// A layer of experts as one list, and calls on the way there and back that are refused.
#include <rooftile/experts.h>

#include <cmath>
#include <rooftile/rooftile.hpp>

#include "runtime/resident/expert_check.h"
#include "tests/support/row_list.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

constexpr rooftile_place kNone = {nullptr, 0};

class ExpertsLayerTest : public RowListTest {};

TEST_F(ExpertsLayerTest, RefusesWhatDoesNotFit) {
  const rooftile_place x = {create(64 * 4), 0}, y = {create(64 * 4), 0}, z = {create(64 * 4), 0};
  const auto refused = [](rooftile_status status, const char* message) {
    EXPECT_EQ(status, ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
  };
  const auto top_k = [&](auto member, auto value, const char* message) {
    rooftile_top_k_args args = {.struct_size = sizeof args,
                                .rows = 4,
                                .columns = 8,
                                .chosen = 2,
                                .ld_x = 8,
                                .ld_experts = 2,
                                .ld_weights = 2};
    args.*member = value;
    refused(rooftile_list_top_k(list_, &args, x, y, z), message);
  };
  using TopK = rooftile_top_k_args;
  top_k(&TopK::rows, -1, "rows is -1");
  top_k(&TopK::rows, 9, "x has 72 elements from element 0 on, but its buffer has 256 bytes");
  top_k(&TopK::columns, 0, "columns is 0");
  top_k(&TopK::chosen, 0, "chosen is 0");
  top_k(&TopK::chosen, 9, "at most the number of columns, 8");
  top_k(&TopK::ld_x, 7, "the leading dimension of x is 7");
  top_k(&TopK::ld_experts, 1, "the leading dimension of experts is 1");
  top_k(&TopK::ld_weights, 1, "the leading dimension of weights is 1");
  top_k(&TopK::struct_size, 8, "struct_size");
  rooftile_top_k_args wide = {.struct_size = sizeof wide,
                              .rows = 0,
                              .columns = 100,
                              .chosen = 65,
                              .ld_x = 100,
                              .ld_experts = 65,
                              .ld_weights = 65};
  refused(rooftile_list_top_k(list_, &wide, x, y, z), "chosen is 65");
  wide = {.struct_size = sizeof wide,
          .rows = 4,
          .columns = 8,
          .chosen = 2,
          .ld_x = 8,
          .ld_experts = 2,
          .ld_weights = 2};
  refused(rooftile_list_top_k(list_, &wide, x, x, z), "experts overlaps x");
  refused(rooftile_list_top_k(list_, &wide, x, y, {y.buffer, 7}), "weights overlaps experts");
  refused(rooftile_list_top_k(list_, &wide, x, y, kNone), "weights has no buffer");
  refused(rooftile_list_top_k(list_, nullptr, x, y, z), "args is null");

  rooftile_group_tokens_args group = {.struct_size = sizeof group,
                                      .tokens = 4,
                                      .chosen = 2,
                                      .experts = 8,
                                      .ld_experts = 2,
                                      .ld_places = 2};
  const rooftile_place status = {z.buffer, 60}, sources = {z.buffer, 0}, places = {z.buffer, 8};
  refused(rooftile_list_group_tokens(list_, &group, x, y, sources, {z.buffer, 7}, status),
          "places overlaps sources");
  refused(rooftile_list_group_tokens(list_, &group, x, y, sources, places, {z.buffer, 64}),
          "status has 1 elements from element 64 on");
  refused(rooftile_list_group_tokens(list_, &group, x, x, sources, places, status),
          "sizes overlaps experts_of_tokens");
  group.experts = 0;
  refused(rooftile_list_group_tokens(list_, &group, x, y, sources, places, status), "experts is 0");
  group.experts = 65;
  refused(rooftile_list_group_tokens(list_, &group, x, y, sources, places, status),
          "sizes has 65 elements");
  group.experts = 8, group.chosen = 0;
  refused(rooftile_list_group_tokens(list_, &group, x, y, sources, places, status), "chosen is 0");
  group.chosen = std::int64_t{1} << 30, group.tokens = 2;
  EXPECT_EQ(rooftile_list_group_tokens(list_, &group, x, y, sources, places, status),
            ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("fewer than 2^31 pairs"));

  rooftile_gather_args gather = {
      .struct_size = sizeof gather, .rows = 3, .columns = 8, .rows_x = 8, .ld_x = 8, .ld_y = 8};
  refused(rooftile_list_gather(list_, &gather, x, y, x, kNone), "y overlaps x");
  refused(rooftile_list_gather(list_, &gather, x, kNone, y, kNone), "sources has no buffer");
  gather.rows_x = -1;
  refused(rooftile_list_gather(list_, &gather, x, y, z, kNone), "rows_x is -1");
  gather.rows_x = 9;
  refused(rooftile_list_gather(list_, &gather, x, y, z, kNone), "x has 72 elements");

  rooftile_combine_args combine = {.struct_size = sizeof combine,
                                   .tokens = 3,
                                   .columns = 4,
                                   .chosen = 2,
                                   .rows_x = 8,
                                   .ld_x = 4,
                                   .ld_residual = 4,
                                   .ld_y = 4,
                                   .ld_places = 2,
                                   .ld_weights = 2};
  const rooftile_place weights = {y.buffer, 32};
  refused(rooftile_list_combine(list_, &combine, x, y, weights, {z.buffer, 1}, z, kNone),
          "the result overlaps an operand");
  refused(rooftile_list_combine(list_, &combine, x, y, weights, kNone, {x.buffer, 16}, kNone),
          "y overlaps x");
  combine.ld_residual = 3;
  refused(rooftile_list_combine(list_, &combine, x, y, weights, z, z, kNone),
          "the leading dimension of residual is 3");
  ok(rooftile_list_combine(list_, &combine, x, y, weights, kNone, z, kNone));
}

/// A layer of experts in one list, through the wrapper, against float64.
TEST_F(ExpertsLayerTest, ALayerOfExpertsIsOneList) {
  constexpr std::int64_t kTokens = 13, kExperts = 6, kChosen = 3, kWidth = 5, kPairs = 39;
  const std::string none = (folder_ / "none.db").string();
  const Session session(rooftile_options{.database_path = none.c_str()});
  const auto filled = [&](std::size_t count, float range) {
    const std::vector<float> values = random_values(count, range);
    DeviceBuffer buffer(session, count * 4);
    buffer.upload(values.data(), count * 4);
    return std::pair{values, std::move(buffer)};
  };
  auto [x, of_x] = filled(kTokens * kWidth, 1);
  const auto [logits, of_logits] = filled(kTokens * kExperts, 3);
  const auto [b, of_b] = filled(kExperts * kWidth * kWidth, 2);
  const DeviceBuffer experts(session, kPairs * 4), weights(session, kPairs * 4),
      sizes(session, kExperts * 4), sources(session, kPairs * 4), places(session, kPairs * 4),
      gathered(session, kPairs * kWidth * 4), products(session, kPairs * kWidth * 4),
      status(session, 256 * 4);
  DeviceList list(session);
  rooftile::top_k(list,
                  {.rows = kTokens,
                   .columns = kExperts,
                   .chosen = kChosen,
                   .ld_x = kExperts,
                   .ld_experts = kChosen,
                   .ld_weights = kChosen},
                  of_logits, experts, weights);
  group_tokens(list,
               {.tokens = kTokens,
                .chosen = kChosen,
                .experts = kExperts,
                .ld_experts = kChosen,
                .ld_places = kChosen},
               experts, sizes, sources, places, status);
  gather(list,
         {.rows = kPairs, .columns = kWidth, .rows_x = kTokens, .ld_x = kWidth, .ld_y = kWidth},
         of_x, sources, gathered, status.at(1));
  grouped_gemm(list,
               {.m = kPairs,
                .n = kWidth,
                .k = kWidth,
                .alpha = 1,
                .lda = kWidth,
                .ldb = kWidth,
                .ldc = kWidth,
                .stride_b = kWidth * kWidth},
               {.count = kExperts, .experts = kExperts}, {.a = gathered, .b = of_b, .c = products},
               {.rows = sizes, .status = status.at(64)});
  combine(list,
          {.tokens = kTokens,
           .columns = kWidth,
           .chosen = kChosen,
           .rows_x = kPairs,
           .ld_x = kWidth,
           .ld_residual = kWidth,
           .ld_y = kWidth,
           .ld_places = kChosen,
           .ld_weights = kChosen},
          products, places, weights, of_x, of_x, status.at(2));
  std::vector<float> y(x.size()), again(x.size());
  list.run().wait();
  of_x.download(y.data(), y.size() * 4);
  for (std::size_t t = 0; t < kTokens; ++t) {
    const float* const of_token = logits.data() + t * kExperts;
    const std::vector<std::int32_t> order = by_size(of_token, kExperts);
    double sum = 0;
    for (std::size_t i = 0; i < kChosen; ++i)
      sum += std::exp(double{of_token[order[i]]} - of_token[order[0]]);
    for (std::size_t j = 0; j < kWidth; ++j) {
      double expected = x[t * kWidth + j], bound = 0, size = std::abs(expected);
      for (std::size_t i = 0; i < kChosen; ++i) {
        const auto e = static_cast<std::size_t>(order[i]);
        const double distance = double{of_token[order[0]]} - of_token[e],
                     weight = std::exp(-distance) / sum;
        double product = 0, of_product = 0;
        for (std::size_t l = 0; l < kWidth; ++l) {
          const double term = double{x[t * kWidth + l]} * b[(e * kWidth + l) * kWidth + j];
          product += term, of_product += std::abs(term);
        }
        expected += weight * product;
        size += weight * std::abs(product);
        // Rounding of the product, and of the weight.
        bound += weight * (kWidth + 1) * 0x1p-24 * of_product +
                 weight_bound(distance, kChosen, weight) * std::abs(product);
      }
      EXPECT_NEAR(y[t * kWidth + j], expected, 1.01 * (bound + combine_bound(kChosen, size)));
    }
  }
  std::vector<std::int32_t> states(65);
  status.download(states.data(), states.size() * 4);
  EXPECT_EQ(states[0], ROOFTILE_GROUPS_RIGHT);
  EXPECT_EQ(states[1], ROOFTILE_ROWS_RIGHT);
  EXPECT_EQ(states[2], ROOFTILE_ROWS_RIGHT);
  EXPECT_EQ(states[64], ROOFTILE_GROUPS_RIGHT);
  // The same bits in the next run.
  of_x.upload(x.data(), x.size() * 4);
  list.run().wait();
  of_x.download(again.data(), again.size() * 4);
  EXPECT_EQ(y, again);
  EXPECT_THROW(
      gather(list, {.rows = 1, .columns = 1, .rows_x = 1, .ld_y = 1}, of_x, sources, gathered),
      StatusError);
}

}  // namespace
}  // namespace rooftile
