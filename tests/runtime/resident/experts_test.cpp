// The way of tokens to their experts and back, as steps of a list.
#include <cmath>
#include <limits>

#include "runtime/resident/expert_check.h"
#include "tests/support/row_list.h"

namespace rooftile {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

using Integers = std::vector<std::int32_t>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t kUnwritten = -9;
constexpr rooftile_place kAbsent = {nullptr, 0};

class ExpertsTest : public RowListTest {
 protected:
  rooftile_place unwritten(std::int64_t count, std::int64_t offset = 0) {
    return put(Integers(static_cast<std::size_t>(count), kUnwritten), offset, 4);
  }
  Integers integers(const rooftile_place& place, std::int64_t count) {
    return download<std::int32_t>(place, static_cast<std::size_t>(count));
  }
  void top_k(const rooftile_top_k_args& args, const std::vector<float>& x) {
    experts_ = unwritten(args.rows * args.ld_experts, 3);
    weights_ = put(
        std::vector<float>(static_cast<std::size_t>(args.rows * args.ld_weights), -7.25f), 5, 4);
    ok(rooftile_list_top_k(list_, &args, put(x, 1, 4), experts_, weights_));
    run();
    start_new_list();
  }
  rooftile_place experts_ = {}, weights_ = {};
};

rooftile_top_k_args padded_top_k(std::int64_t rows, std::int64_t columns, std::int64_t chosen) {
  rooftile_top_k_args args = top_k_args(rows, columns, chosen);
  args.ld_x += 2, args.ld_experts += 1, args.ld_weights += 3;
  return args;
}

TEST_F(ExpertsTest, TopKChoosesTheLargestValuesAndTheirSoftmax) {
  int turn = 0;
  for (const auto& [columns, chosen] : {std::pair{1, 1},
                                        {3, 2},
                                        {3, 2},
                                        {3, 3},
                                        {63, 7},
                                        {64, 64},
                                        {65, 64},
                                        {65, 64},
                                        {128, 8},
                                        {259, 1},
                                        {259, 1}}) {
    const bool weights_of_all = turn++ % 2 == 1;
    SCOPED_TRACE(testing::Message()
                 << chosen << " of " << columns << ", weights of all: " << weights_of_all);
    rooftile_top_k_args args = padded_top_k(5, columns, chosen);
    args.weights_of_all = weights_of_all;
    std::vector<float> x = random_values(static_cast<std::size_t>(5 * args.ld_x), 20);
    // Equal values in one row; three values in another.
    for (std::int64_t j = 0; j < columns; ++j) {
      x[static_cast<std::size_t>(args.ld_x + j)] = 2.5f;
      x[static_cast<std::size_t>(3 * args.ld_x + j)] = static_cast<float>(j * 7 % 3) - 1;
    }
    top_k(args, x);
    const Integers experts = integers(experts_, 5 * args.ld_experts);
    const std::vector<float> weights =
        download(weights_, static_cast<std::size_t>(5 * args.ld_weights));
    for (std::int64_t row = 0; row < 5; ++row) {
      const float* const values = x.data() + row * args.ld_x;
      const std::vector<ChosenColumn> choice = top_k_of(values, columns, chosen, weights_of_all);
      for (int i = 0; i < chosen; ++i) {
        const auto& [column, weight, error] = choice[static_cast<std::size_t>(i)];
        EXPECT_EQ(experts[static_cast<std::size_t>(row * args.ld_experts + i)], column);
        EXPECT_NEAR(weights[static_cast<std::size_t>(row * args.ld_weights + i)], weight, error);
      }
      EXPECT_EQ(experts[static_cast<std::size_t>(row * args.ld_experts + chosen)], kUnwritten);
      for (int i = chosen; i < args.ld_weights; ++i)
        EXPECT_EQ(weights[static_cast<std::size_t>(row * args.ld_weights + i)], -7.25f);
    }
  }
}

// Lavapipe leaves the loops of an invocation after 65535 trips in all, without reporting it.
TEST_F(ExpertsTest, ManyOfManyColumnsAreChosenRightOrRefused) {
  for (const std::int64_t columns : {50'003, 128'256}) {
    const rooftile_top_k_args args = padded_top_k(1, columns, 64);
    const std::vector<float> x = random_values(static_cast<std::size_t>(args.ld_x), 20);
    if (device_.limits.max_loop_trips > 0 && columns > 65'535) {
      EXPECT_EQ(rooftile_list_top_k(list_, &args, put(x, 0, 4), unwritten(65), unwritten(67)),
                ROOFTILE_UNSUPPORTED);
      EXPECT_THAT(rooftile_last_error(), testing::HasSubstr("loop trips"));
      continue;
    }
    top_k(args, x);
    const std::vector<ChosenColumn> choice = top_k_of(x.data(), columns, 64);
    const Integers experts = integers(experts_, 64);
    for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(experts[i], choice[i].column) << i;
  }
}

TEST_F(ExpertsTest, TopKOfValuesThatAreNotFinite) {
  rooftile_top_k_args args = padded_top_k(5, 4, 3);
  const std::vector<float> x = {1,     kNan,  2,     3,     0, 0,  // NaN comes first
                                -kInf, -kInf, -kInf, -kInf, 0, 0,  //
                                kInf,  1,     -kNan, kInf,  0, 0,  //
                                -kInf, 5,     -kInf, 5,     0, 0,  // the finite ones share all
                                -0.0f, 0.0f,  -0.0f, 0.0f,  0, 0};
  for (const int weights_of_all : {0, 1}) {
    args.weights_of_all = weights_of_all;
    top_k(args, x);
    EXPECT_THAT(integers(experts_, 20), ElementsAre(1, 3, 2, kUnwritten,  //
                                                    0, 1, 2, kUnwritten,  //
                                                    2, 0, 3, kUnwritten,  //
                                                    1, 3, 0, kUnwritten,  //
                                                    0, 1, 2, kUnwritten));
    const std::vector<float> weights = download(weights_, 5 * 6);
    for (const std::size_t row : {0u, 1u, 2u})
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(weights[row * 6 + i])) << row;
    EXPECT_EQ(std::vector<float>(weights.begin() + 18, weights.begin() + 21),
              (std::vector<float>{0.5f, 0.5f, 0.0f}));
    const int terms = weights_of_all == 0 ? 3 : 4;
    for (std::size_t i = 24; i < 27; ++i)
      EXPECT_NEAR(weights[i], 1.0 / terms, weight_bound(0, terms, 1.0 / terms));
  }
}

struct Grouped {
  Integers sizes, sources, places;
};

/// What a stable sort makes of experts of tokens; places without padding.
Grouped sorted(const Integers& experts_of, std::int32_t chosen, std::int32_t experts) {
  Grouped made = {Integers(static_cast<std::size_t>(experts)), Integers(experts_of.size(), -1),
                  Integers(experts_of.size(), -1)};
  std::int32_t row = 0;
  for (std::int32_t expert = 0; expert < experts; ++expert)
    for (std::size_t pair = 0; pair < experts_of.size(); ++pair) {
      if (experts_of[pair] != expert) continue;
      made.sizes[static_cast<std::size_t>(expert)] += 1;
      made.sources[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(pair) / chosen;
      made.places[pair] = row++;
    }
  return made;
}

TEST_F(ExpertsTest, GroupTokensSortsPairsByExpert) {
  // One token; experts without tokens; more pairs and more experts than invocations.
  for (const auto& [tokens, chosen, experts] :
       {std::array{1, 1, 1}, {1, 2, 9}, {7, 3, 5}, {64, 1, 3}, {65, 4, 70}, {3, 8, 300}}) {
    SCOPED_TRACE(testing::Message() << tokens << " tokens, " << chosen << " of " << experts);
    const int pairs = tokens * chosen;
    Random random(static_cast<std::uint64_t>(pairs));
    Integers experts_of(static_cast<std::size_t>(pairs));
    // Every other expert has no tokens, and the first pair's has two of the same token.
    for (std::int32_t& expert : experts_of)
      expert = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(experts))) / 2 * 2;
    if (chosen > 1) experts_of[1] = experts_of[0];
    for (const std::int64_t unknown : {-1, pairs / 2}) {
      if (unknown >= 0) experts_of[static_cast<std::size_t>(unknown)] = experts + pairs % 2;
      const Grouped expected = sorted(experts_of, chosen, experts);
      const rooftile_group_tokens_args args = {.struct_size = sizeof args,
                                               .tokens = tokens,
                                               .chosen = chosen,
                                               .experts = experts,
                                               .ld_experts = chosen,
                                               .ld_places = chosen + 1};
      const rooftile_place sizes = unwritten(experts + 1), sources = unwritten(pairs + 1, 1),
                           places = unwritten(tokens * (chosen + 1), 2), status = unwritten(2);
      ok(rooftile_list_group_tokens(list_, &args, put(experts_of, 3, 4), sizes, sources, places,
                                    status));
      run();
      start_new_list();
      const auto with_end = [](Integers x) {
        x.push_back(kUnwritten);
        return x;
      };
      EXPECT_EQ(integers(sizes, experts + 1), with_end(expected.sizes));
      EXPECT_EQ(integers(sources, pairs + 1), with_end(expected.sources));
      Integers padded;
      for (int i = 0; i < pairs; ++i) {
        padded.push_back(expected.places[static_cast<std::size_t>(i)]);
        if (i % chosen == chosen - 1) padded.push_back(kUnwritten);
      }
      EXPECT_EQ(integers(places, tokens * (chosen + 1)), padded);
      EXPECT_THAT(integers(status, 2),
                  ElementsAre(unknown < 0 ? ROOFTILE_GROUPS_RIGHT : ROOFTILE_GROUPS_UNKNOWN_EXPERT,
                              kUnwritten));
    }
  }
}

TEST_F(ExpertsTest, GroupTokensRefusesNegativeExpertsAndNeedsNoStatus) {
  const rooftile_group_tokens_args args = {.struct_size = sizeof args,
                                           .tokens = 2,
                                           .chosen = 2,
                                           .experts = 3,
                                           .ld_experts = 2,
                                           .ld_places = 2};
  const Integers experts_of = {-1, 2, std::numeric_limits<std::int32_t>::min(), 0};
  const rooftile_place sizes = unwritten(3), sources = unwritten(4), places = unwritten(4);
  ok(rooftile_list_group_tokens(list_, &args, put(experts_of, 0, 4), sizes, sources, places,
                                kAbsent));
  run();
  EXPECT_THAT(integers(sizes, 3), ElementsAre(1, 0, 1));
  EXPECT_THAT(integers(sources, 4), ElementsAre(1, 0, -1, -1));
  EXPECT_THAT(integers(places, 4), ElementsAre(-1, 1, -1, 0));
}

TEST_F(ExpertsTest, GatherCopiesRowsAndReportsThoseThatAreNotThere) {
  for (const std::int64_t columns : {1, 63, 64, 131})
    for (const std::int32_t outside : {-1, 3, -2, std::numeric_limits<std::int32_t>::max()}) {
      const rooftile_gather_args args = {.struct_size = sizeof args,
                                         .rows = 67,
                                         .columns = columns,
                                         .rows_x = 3,
                                         .ld_x = columns + 1,
                                         .ld_y = columns + 2};
      Integers x(static_cast<std::size_t>(3 * args.ld_x)), sources(67);
      Random random(static_cast<std::uint64_t>(columns));
      for (std::int32_t& value : x) value = static_cast<std::int32_t>(random.next());  // any bits
      for (std::int32_t& source : sources) source = static_cast<std::int32_t>(random.below(3));
      sources[66] = outside;
      Integers expected(static_cast<std::size_t>(67 * args.ld_y), kUnwritten);
      for (std::int64_t i = 0; i < 66; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          expected[static_cast<std::size_t>(i * args.ld_y + j)] =
              x[static_cast<std::size_t>(sources[static_cast<std::size_t>(i)] * args.ld_x + j)];
      const rooftile_place y = unwritten(67 * args.ld_y, 1), status = unwritten(1, 7);
      const rooftile_place from = put(sources, 2, 4), of_x = put(x, 3, 4);
      ok(rooftile_list_gather(list_, &args, of_x, from, y, status));
      ok(rooftile_list_gather(list_, &args, of_x, from, y, kAbsent));
      run();
      start_new_list();
      EXPECT_EQ(integers(y, 67 * args.ld_y), expected);
      EXPECT_THAT(integers(status, 1),
                  ElementsAre(outside == -1 ? ROOFTILE_ROWS_RIGHT : ROOFTILE_ROWS_OUTSIDE));
    }
}

TEST_F(ExpertsTest, CombineAddsWeightedRowsToTheResidual) {
  for (const auto& [tokens, chosen, columns] :
       {std::array{1, 1, 1}, {1, 4, 65}, {5, 3, 64}, {40, 2, 130}})
    for (const char* const residual : {"none", "apart", "in place"})
      for (const std::int32_t outside : {-1, 9, -7}) {
        SCOPED_TRACE(testing::Message() << tokens << " " << residual << " " << outside);
        const std::int64_t rows = 9;
        const rooftile_combine_args args = {.struct_size = sizeof args,
                                            .tokens = tokens,
                                            .columns = columns,
                                            .chosen = chosen,
                                            .rows_x = rows,
                                            .ld_x = columns + 1,
                                            .ld_residual = columns + 2,
                                            .ld_y = columns + 2,
                                            .ld_places = chosen + 1,
                                            .ld_weights = chosen + 2};
        const std::vector<float> x = random_values(static_cast<std::size_t>(rows * args.ld_x), 3),
                                 weights = random_values(
                                     static_cast<std::size_t>(tokens * args.ld_weights), 1),
                                 before =
                                     random_values(static_cast<std::size_t>(tokens * args.ld_y), 8);
        Integers places(static_cast<std::size_t>(tokens * args.ld_places));
        Random random(7);
        for (std::int32_t& place : places) place = static_cast<std::int32_t>(random.below(9));
        places[0] = outside;
        const bool adds = residual != std::string("none");
        const rooftile_place y = put(before, 3, 4), status = unwritten(1);
        const rooftile_place other = residual == std::string("apart") ? put(before, 1, 4) : y;
        ok(rooftile_list_combine(list_, &args, put(x, 2, 4), put(places, 1, 4), put(weights, 3, 4),
                                 adds ? other : kAbsent, y, status));
        run();
        start_new_list();
        const std::vector<float> got = download(y, before.size());
        std::vector<float> outside_of_y = before;
        for (std::int64_t t = 0; t < tokens; ++t)
          for (std::int64_t j = 0; j < columns; ++j) {
            const auto at = static_cast<std::size_t>(t * args.ld_y + j);
            double sum = adds ? before[at] : 0, size = std::abs(sum);
            for (std::int64_t i = 0; i < chosen; ++i) {
              const std::int32_t place = places[static_cast<std::size_t>(t * args.ld_places + i)];
              if (place < 0 || place >= rows) continue;
              const double term =
                  double{weights[static_cast<std::size_t>(t * args.ld_weights + i)]} *
                  x[static_cast<std::size_t>(place * args.ld_x + j)];
              sum += term, size += std::abs(term);
            }
            ASSERT_NEAR(got[at], sum, combine_bound(chosen, size)) << t << ", " << j;
            outside_of_y[at] = got[at];
          }
        EXPECT_EQ(outside_of_y, got);
        EXPECT_THAT(integers(status, 1),
                    ElementsAre(outside == -1 ? ROOFTILE_ROWS_RIGHT : ROOFTILE_ROWS_OUTSIDE));
      }
}

TEST_F(ExpertsTest, WithoutTokensSizesAndStatusAreZero) {
  const rooftile_group_tokens_args group = {
      .struct_size = sizeof group, .chosen = 2, .experts = 70, .ld_experts = 2, .ld_places = 2};
  const rooftile_place sizes = unwritten(70), status = unwritten(3), nothing = {create(16), 0};
  const auto status_at = [&](std::int64_t i) { return rooftile_place{status.buffer, i}; };
  ok(rooftile_list_group_tokens(list_, &group, nothing, sizes, nothing, nothing, status_at(0)));
  const rooftile_top_k_args top_k = padded_top_k(0, 3, 2);
  ok(rooftile_list_top_k(list_, &top_k, nothing, nothing, nothing));
  const rooftile_gather_args gather = {
      .struct_size = sizeof gather, .columns = 3, .rows_x = 1, .ld_x = 3, .ld_y = 3};
  ok(rooftile_list_gather(list_, &gather, nothing, nothing, nothing, status_at(1)));
  ok(rooftile_list_gather(list_, &gather, nothing, nothing, nothing, kAbsent));
  const rooftile_combine_args combine = {.struct_size = sizeof combine,
                                         .columns = 3,
                                         .chosen = 2,
                                         .ld_x = 3,
                                         .ld_y = 3,
                                         .ld_places = 2,
                                         .ld_weights = 2};
  ok(rooftile_list_combine(list_, &combine, nothing, nothing, nothing, kAbsent, nothing,
                           status_at(2)));
  run();
  EXPECT_THAT(integers(sizes, 70), Each(0));
  EXPECT_THAT(integers(status, 3), Each(0));
}

}  // namespace
}  // namespace rooftile
