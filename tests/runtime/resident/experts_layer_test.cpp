// A layer of experts as one list, and calls on the way there and back that are refused.
#include <cmath>
#include <limits>
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
  const rooftile_top_k_args right = top_k_args(4, 8, 2);
  const auto top_k = [&](auto member, auto value, const char* message) {
    rooftile_top_k_args args = right;
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
  const rooftile_top_k_args wide = top_k_args(0, 100, 65);
  refused(rooftile_list_top_k(list_, &wide, x, y, z), "chosen is 65");
  refused(rooftile_list_top_k(list_, &right, x, x, z), "experts overlaps x");
  refused(rooftile_list_top_k(list_, &right, x, y, {y.buffer, 7}), "weights overlaps experts");
  refused(rooftile_list_top_k(list_, &right, x, y, kNone), "weights has no buffer");
  refused(rooftile_list_top_k(list_, nullptr, x, y, z), "args is null");

  rooftile_group_tokens_args group = {.struct_size = sizeof group,
                                      .tokens = 4,
                                      .chosen = 2,
                                      .experts = 8,
                                      .ld_experts = 2,
                                      .ld_places = 2};
  const rooftile_place status = {z.buffer, 60}, sources = {z.buffer, 0}, places = {z.buffer, 8};
  const auto group_tokens = [&](const rooftile_place& sizes, const rooftile_place& to,
                                const rooftile_place& says) {
    return rooftile_list_group_tokens(list_, &group, x, sizes, sources, to, says);
  };
  refused(group_tokens(y, {z.buffer, 7}, status), "places overlaps sources");
  refused(group_tokens(y, places, {z.buffer, 64}), "status has 1 elements from element 64 on");
  refused(group_tokens(x, places, status), "sizes overlaps experts_of_tokens");
  group.experts = 0;
  refused(group_tokens(y, places, status), "experts is 0");
  group.experts = 65;
  refused(group_tokens(y, places, status), "sizes has 65 elements");
  group.experts = 8, group.chosen = 0;
  refused(group_tokens(y, places, status), "chosen is 0");
  group.chosen = std::int64_t{1} << 30, group.tokens = 2;
  EXPECT_EQ(group_tokens(y, places, status), ROOFTILE_UNSUPPORTED);
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

constexpr std::int64_t kLayerTokens = 13, kExperts = 6, kChosen = 3, kLayerWidth = 5;
constexpr std::int64_t kPairs = kLayerTokens * kChosen;

/// A layer of experts through the wrapper: x := x + the sum over a token's experts of weight * x *
/// b.
struct LayerOfExperts {
  explicit LayerOfExperts(const Session& session) : session_(session) {
    for (DeviceBuffer* const buffer : {&gathered, &products}) {
      const std::vector<float> nan(kPairs * kLayerWidth, std::numeric_limits<float>::quiet_NaN());
      buffer->upload(nan.data(), nan.size() * 4);  // what is not written must not be read
    }
  }
  template <typename T>
  DeviceBuffer filled(const std::vector<T>& values) const {
    DeviceBuffer buffer(session_, values.size() * sizeof(T));
    buffer.upload(values.data(), values.size() * sizeof(T));
    return buffer;
  }
  /// From the experts of the tokens on.
  void add(DeviceList& list) const {
    group_tokens(list,
                 {.tokens = kLayerTokens,
                  .chosen = kChosen,
                  .experts = kExperts,
                  .ld_experts = kChosen,
                  .ld_places = kChosen},
                 experts, sizes, sources, places, status);
    gather(list,
           {.rows = kPairs,
            .columns = kLayerWidth,
            .rows_x = kLayerTokens,
            .ld_x = kLayerWidth,
            .ld_y = kLayerWidth},
           of_x, sources, gathered, status.at(1));
    grouped_gemm(list,
                 {.m = kPairs,
                  .n = kLayerWidth,
                  .k = kLayerWidth,
                  .alpha = 1,
                  .lda = kLayerWidth,
                  .ldb = kLayerWidth,
                  .ldc = kLayerWidth,
                  .stride_b = kLayerWidth * kLayerWidth},
                 {.count = kExperts, .experts = kExperts},
                 {.a = gathered, .b = of_b, .c = products},
                 {.rows = sizes, .status = status.at(64)});
    combine(list,
            {.tokens = kLayerTokens,
             .columns = kLayerWidth,
             .chosen = kChosen,
             .rows_x = kPairs,
             .ld_x = kLayerWidth,
             .ld_residual = kLayerWidth,
             .ld_y = kLayerWidth,
             .ld_places = kChosen,
             .ld_weights = kChosen},
            products, places, weights, of_x, of_x, status.at(2));
  }
  std::vector<float> run(DeviceList& list) {
    of_x.upload(x.data(), x.size() * 4);
    list.run().wait();
    std::vector<float> y(x.size());
    of_x.download(y.data(), y.size() * 4);
    return y;
  }
  void expect_status(std::int32_t of_groups) const {
    std::vector<std::int32_t> states(65);
    status.download(states.data(), states.size() * 4);
    EXPECT_EQ(states[0], of_groups);
    EXPECT_EQ(states[1], ROOFTILE_ROWS_RIGHT);
    EXPECT_EQ(states[2], ROOFTILE_ROWS_RIGHT);
    EXPECT_EQ(states[64], ROOFTILE_GROUPS_RIGHT);
  }

 private:
  const Session& session_;

 public:
  const std::vector<float> x = random_values(kLayerTokens * kLayerWidth, 1),
                           b = random_values(kExperts * kLayerWidth * kLayerWidth, 2),
                           logits = random_values(kLayerTokens * kExperts, 3);
  DeviceBuffer of_x = filled(x), of_b = filled(b), of_logits = filled(logits),
               experts{session_, kPairs * 4}, weights{session_, kPairs * 4},
               sizes{session_, kExperts * 4}, sources{session_, kPairs * 4},
               places{session_, kPairs * 4}, gathered{session_, kPairs*kLayerWidth * 4},
               products{session_, kPairs*kLayerWidth * 4}, status{session_, 256 * 4};
};

void expect_layer(const LayerOfExperts& layer,
                  const std::vector<std::vector<ChosenColumn>>& choices,
                  const std::vector<float>& y) {
  for (std::size_t t = 0; t < kLayerTokens; ++t)
    for (std::size_t j = 0; j < kLayerWidth; ++j) {
      double expected = layer.x[t * kLayerWidth + j], bound = 0, size = std::abs(expected);
      for (const ChosenColumn& choice : choices[t]) {
        double product = 0, of_product = 0;
        for (std::size_t l = 0; l < kLayerWidth; ++l) {
          const auto row = static_cast<std::size_t>(choice.column) * kLayerWidth + l;
          const double term = double{layer.x[t * kLayerWidth + l]} * layer.b[row * kLayerWidth + j];
          product += term, of_product += std::abs(term);
        }
        expected += choice.weight * product;
        size += choice.weight * std::abs(product);
        bound += choice.weight * (kLayerWidth + 1) * 0x1p-24 * of_product +
                 choice.error * std::abs(product);
      }
      EXPECT_NEAR(y[t * kLayerWidth + j], expected, 1.01 * (bound + combine_bound(kChosen, size)));
    }
}

TEST_F(ExpertsLayerTest, ALayerOfExpertsIsOneList) {
  const std::string none = (folder_ / "none.db").string();
  const Session session(rooftile_options{.database_path = none.c_str()});
  LayerOfExperts layer(session);
  DeviceList list(session);
  rooftile::top_k(list,
                  {.rows = kLayerTokens,
                   .columns = kExperts,
                   .chosen = kChosen,
                   .ld_x = kExperts,
                   .ld_experts = kChosen,
                   .ld_weights = kChosen},
                  layer.of_logits, layer.experts, layer.weights);
  layer.add(list);
  std::vector<std::vector<ChosenColumn>> choices;
  for (std::size_t t = 0; t < kLayerTokens; ++t)
    choices.push_back(top_k_of(layer.logits.data() + t * kExperts, kExperts, kChosen));
  const std::vector<float> y = layer.run(list);
  expect_layer(layer, choices, y);
  layer.expect_status(ROOFTILE_GROUPS_RIGHT);
  EXPECT_EQ(layer.run(list), y) << "the same bits in every run";
  EXPECT_THROW(gather(list, {.rows = 1, .columns = 1, .rows_x = 1, .ld_y = 1}, layer.of_x,
                      layer.sources, layer.gathered),
               StatusError);
}

TEST_F(ExpertsLayerTest, ExpertsThatDoNotExistHaveNoEffect) {
  const std::string none = (folder_ / "none.db").string();
  const Session session(rooftile_options{.database_path = none.c_str()});
  LayerOfExperts layer(session);
  std::vector<std::int32_t> experts(kPairs);
  const std::vector<float> weights(kPairs, 0.25f);
  std::vector<std::vector<ChosenColumn>> choices(kLayerTokens);
  for (std::int32_t pair = 0; pair < kPairs; ++pair) {
    const std::int32_t expert = pair * 5 % 8 - 1;  // -1, 6 and, once, far away, do not exist
    experts[static_cast<std::size_t>(pair)] = pair == 7 ? 1 << 30 : expert;
    if (pair != 7 && expert >= 0 && expert < kExperts)
      choices[static_cast<std::size_t>(pair / kChosen)].push_back({expert, 0.25, 0});
  }
  layer.experts.upload(experts.data(), experts.size() * 4);
  layer.weights.upload(weights.data(), weights.size() * 4);
  DeviceList list(session);
  layer.add(list);
  expect_layer(layer, choices, layer.run(list));
  layer.expect_status(ROOFTILE_GROUPS_UNKNOWN_EXPERT);
}

}  // namespace
}  // namespace rooftile
