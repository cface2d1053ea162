// Grouped problems on their way through the tuner: to the worker, into ranked lists and from the
// log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/groups.h"
#include "generator/emit.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "runtime/tuned/kernel_ranking.h"
#include "tests/support/scratch.h"
#include "tuner/problems/logged_problems.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

using ::testing::SizeIs;

Problem of_experts(std::int64_t m, std::int64_t groups, double skew = 1, std::int64_t n = 96) {
  return typical_problem(packed_problem(m, n, 64), groups, 0, skew);
}

TEST(GroupedProtocol, ProblemsAndSignaturesArriveWithTheirGroups) {
  const Problem p = of_experts(500, 8, 4);
  EXPECT_EQ(problem_from_json(to_json(p)), p);
  EXPECT_EQ(signature_from_json(to_json(signature_of(p))), signature_of(p));
  // Written before there were groups.
  std::string old = to_json(packed_problem(5, 6, 7)).dump();
  old.replace(old.find(",\"experts\""), std::string::npos, "}");
  EXPECT_EQ(problem_from_json(Json::parse(old).value()), packed_problem(5, 6, 7));
}

class GroupedRanking : public ::testing::Test {
 protected:
  /// A kernel with this tile that took so long on the problem.
  void add(const Problem& p, int tile_m, double ns, int rank = 0) {
    const Variant v = parse_variant(
        fmt::format("family=register tile_m={} tile_n=16 reg_m=4 reg_n=4 unroll_k=4", tile_m));
    tuned_.push_back({.bucket = to_string(bucket_of(p)),
                      .rank = rank,
                      .candidate = {.id = static_cast<RowId>(tuned_.size() + 1),
                                    .hash = emit_gemm(v, signature_of(p)).hash,
                                    .signature = to_string(signature_of(p)),
                                    .variant = v},
                      .problem = p,
                      .kernel_ns = ns});
  }
  KernelRanking ranking() const { return {limits_, {}, tuned_}; }
  static std::vector<int> tiles(const std::vector<RankedChoice>& list) {
    std::vector<int> tiles;
    for (const RankedChoice& choice : list) tiles.push_back(choice.candidate->variant.tile_m);
    return tiles;
  }

  DeviceLimits limits_ = DeviceProfile().limits;
  std::vector<TunedKernel> tuned_;
};

TEST_F(GroupedRanking, TheBucketComesFirstAndThenTheNearestSizes) {
  add(of_experts(4096, 64), 32, 4e6);
  add(of_experts(4096, 64), 16, 5e6, 1);
  add(of_experts(512, 64), 8, 3e6);
  add(of_experts(4096, 64, 8), 64, 6e6);
  const KernelRanking ranking = this->ranking();
  // Other sizes in the same bucket: the order is its list's, and times follow the work.
  Problem p = of_experts(5000, 70);
  p.grouping.largest = 95;
  const std::vector<RankedChoice> list = ranking.ranked(staged_problem(p));
  EXPECT_EQ((std::vector<int>{32, 16}), std::vector<int>({tiles(list)[0], tiles(list)[1]}));
  EXPECT_DOUBLE_EQ(list[0].expected_ns, 4e6 * 5000 / 4096);
  EXPECT_EQ(tiles(ranking.ranked(staged_problem(of_experts(300, 64)))).front(), 8);
  EXPECT_EQ(tiles(ranking.ranked(staged_problem(of_experts(4096, 64, 16)))).front(), 64);
}

TEST_F(GroupedRanking, OnlyProblemsOfAboutTheirSizeAreTuned) {
  add(of_experts(4096, 64), 32, 4e6);
  const KernelRanking ranking = this->ranking();
  EXPECT_TRUE(ranking.has_class(of_experts(4096, 64)));
  EXPECT_TRUE(ranking.has_class(of_experts(2048, 64)));
  EXPECT_FALSE(ranking.has_class(of_experts(128, 64))) << "two rows in a group instead of 64";
  EXPECT_FALSE(ranking.has_class(of_experts(4096, 64, 1, 2000)));
  // Single products are another class, and nothing to certify kernels for them from.
  EXPECT_FALSE(ranking.has_class(packed_problem(64, 96, 64)));
  EXPECT_TRUE(ranking.classes().empty());
  EXPECT_FALSE(ranking.nearest(packed_problem(64, 96, 64)).has_value());
  EXPECT_TRUE(ranking.ranked(staged_problem(packed_problem(64, 96, 64))).empty());
}

TEST_F(GroupedRanking, ABucketDoesNotMakeAKernelLegal) {
  add(of_experts(4096, 64), 32, 4e6);
  tuned_.back().candidate.variant.vector_width_b = 4;
  Problem p = of_experts(4096, 64);
  p.ldb += 1;  // No vector divides the rows of B.
  p.stride_b = stored_b(p).rows * p.ldb;
  EXPECT_TRUE(ranking().ranked(p, own_buffers(p), limits_).empty());
}

TEST(GroupedModel, CountsGroupsOfMeanSizeAsABatch) {
  const Variant v = parse_variant("family=register tile_m=32 tile_n=32 reg_m=4 reg_n=4 unroll_k=4");
  // 80 rows take three tiles of 32 in each of 8 groups; 640 rows of one product take 20.
  EXPECT_EQ(waves(of_experts(640, 8), v, 1).workgroups, 8 * 3 * 3);
  EXPECT_EQ(waves(packed_problem(640, 96, 64), v, 1).workgroups, 20 * 3);
}

TEST(GroupedLog, HoldsGroupedProblemsBesideSingleOnesOfTheSameSizes) {
  const ScratchFolder folder;
  Store store(folder / "rooftile.db");
  const RowId device = store.device_id({.name = "a device"});
  const Problem grouped = of_experts(500, 8, 4);
  Problem single = grouped;
  single.grouping = {};
  store.log_untuned(device, grouped, 3);
  store.log_untuned(device, single, 1);
  store.log_untuned(device, of_experts(500, 8), 2);
  store.log_untuned(device, grouped, 4);
  const std::vector<UntunedProblem> logged = store.untuned_problems(device);
  ASSERT_THAT(logged, SizeIs(3));
  EXPECT_EQ(logged[0].problem, grouped);
  EXPECT_EQ(logged[0].calls, 7);
  EXPECT_THAT(logged_problems(store, device), SizeIs(3));
  const RowId grouped_id = store.problem_id(grouped), single_id = store.problem_id(single);
  EXPECT_NE(grouped_id, single_id);
  EXPECT_EQ(store.problem(grouped_id), grouped);
  EXPECT_EQ(store.problem(single_id), single);
}

}  // namespace
}  // namespace rooftile
