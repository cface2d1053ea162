// Portfolios and their expected regret are read back as they were stored. Dispatch receives only
// kernels that may run.
#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "db/sqlite/connection.h"
#include "filled_store.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PortfolioTest : public StoreTest {
 protected:
  PortfolioTest() {
    for (const char* hash : {"first", "second", "spare"}) {
      CandidateRecord candidate = example_candidate(hash, 16);
      candidate.id = store_.candidate_id(candidate);
      store_.put_certificate(device_, candidate.id, "1.0", true, "");
      candidates_.push_back(candidate);
    }
  }
  std::vector<PortfolioRecord> records() const {
    return {{.candidate = candidates_[1].id, .place = 1, .times = {times_[0]}},
            {.candidate = candidates_[0].id, .place = 0, .times = times_},
            {.candidate = candidates_[2].id, .times = times_}};
  }
  std::vector<std::string> hashes() const {
    std::vector<std::string> found;
    for (const PortfolioKernel& kernel : store_.portfolio(device_, "1.0"))
      found.push_back(kernel.candidate.hash);
    return found;
  }

  std::vector<std::vector<std::string>> regrets() const {
    return store_
        .query(
            "SELECT signature, problems, median, median_low, median_high, mean, worst_decile,"
            " worst, nearest_median, nearest_mean, nearest_worst_decile FROM selector_regrets")
        .rows;
  }

  Store store_{file()};
  RowId device_ = store_.device_id(example_device());
  std::vector<CandidateRecord> candidates_;
  const std::vector<MeasuredTime> times_ = {
      {.m = 1, .n = 4096, .k = 77, .batch = 32, .ns = 1234.5},
      {.m = 9, .n = 8, .k = 7, .batch = 1, .ns = std::numeric_limits<double>::infinity()},
      {.m = 5, .n = 6, .k = 7, .batch = 1, .ns = 20, .half_ns = std::array<double, 2>{20, 21.5}}};
  const RegretRecord regret_ = {.signature = "f32.nt",
                                .problems = 23,
                                .median = 0.004,
                                .median_low = -0.001,
                                .median_high = 0.0125,
                                .mean = 0.021,
                                .worst_decile = 0.08,
                                .worst = 0.3,
                                .nearest_median = 0.1,
                                .nearest_mean = 0.25,
                                .nearest_worst_decile = 0.7};
};

TEST_F(PortfolioTest, IsReadInRankOrderWithItsTimes) {
  store_.put_portfolio(device_, "f32.nt", records(), regret_);
  const auto kernels = store_.portfolio(device_, "1.0");
  ASSERT_THAT(hashes(), ElementsAre("first", "second"));
  EXPECT_EQ(kernels[0].place, 0);
  EXPECT_EQ(kernels[0].candidate.variant, candidates_[0].variant);
  EXPECT_EQ(kernels[0].candidate.signature, "f32.nt");
  EXPECT_EQ(kernels[0].times, times_);
  const auto all = store_.measured_portfolio(device_, "f32.nt");
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[2].candidate.hash, "spare");
  EXPECT_EQ(all[2].place, std::nullopt);
  EXPECT_THAT(regrets(), ElementsAre(ElementsAre("f32.nt", "23", "0.004", "-0.001", "0.0125",
                                                 "0.021", "0.08", "0.3", "0.1", "0.25", "0.7")));
  EXPECT_THAT(store_.check(), IsEmpty());
}

TEST_F(PortfolioTest, OnlyCertifiedKernelsAreRead) {
  store_.put_portfolio(device_, "f32.nt", records(), regret_);
  EXPECT_THAT(store_.portfolio(device_, "1.1"), IsEmpty());
  store_.black_list(device_, candidates_[0].id, "hung");
  EXPECT_THAT(hashes(), ElementsAre("second"));
  store_.revoke_certificates(device_, "second", "wrong");
  EXPECT_THAT(hashes(), IsEmpty());
  EXPECT_THAT(store_.measured_portfolio(device_, "f32.nt"), SizeIs(3));
}

TEST_F(PortfolioTest, ReplacesThePortfolioOfItsClassOnly) {
  CandidateRecord other = example_candidate("other", 16);
  other.signature = "f32.nn";
  other.id = store_.candidate_id(other);
  store_.put_certificate(device_, other.id, "1.0", true, "");
  store_.put_portfolio(device_, "f32.nt", records(), regret_);
  const std::vector<PortfolioRecord> of_other = {
      {.candidate = other.id, .place = 0, .times = times_}};
  store_.put_portfolio(device_, "f32.nn", of_other, std::nullopt);
  EXPECT_THAT(hashes(), ElementsAre("other", "first", "second"));
  EXPECT_THAT(regrets(), SizeIs(1));
  store_.put_portfolio(device_, "f32.nt", {}, std::nullopt);
  EXPECT_THAT(hashes(), ElementsAre("other"));
  EXPECT_THAT(regrets(), IsEmpty());
}

TEST_F(PortfolioTest, InvalidTimesAreIgnored) {
  store_.put_portfolio(device_, "f32.nt", records(), regret_);
  Connection(file(), Access::kReadWrite, 1000)
      .database()
      .exec(
          "UPDATE portfolio SET times = "
          "'[[1,2,3,1,50], [1,2,3], \"x\", [1,2,3,1,-5], [0,2,3,1,5], [1,2,3,1,\"y\"]]'");
  const auto kernels = store_.portfolio(device_, "1.0");
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_THAT(kernels[0].times,
              ElementsAre(MeasuredTime{.m = 1, .n = 2, .k = 3, .batch = 1, .ns = 50}));
}

TEST_F(PortfolioTest, TheExpectedRegretIsReported) {
  store_.put_portfolio(device_, "f32.nt", records(), regret_);
  EXPECT_EQ(
      store_
          .query("SELECT device, signature, kernels, problems, mean_percent, "
                 "worst_decile_percent, nearest_mean_percent, median_percent, "
                 "median_low_percent, median_high_percent, nearest_median_percent "
                 "FROM untuned_regret")
          .rows,
      (std::vector<std::vector<std::string>>{{example_device().name, "f32.nt", "2", "23", "2.1",
                                              "8.0", "25.0", "0.4", "-0.1", "1.25", "10.0"}}));
}

TEST_F(PortfolioTest, FewProblemsHaveNoEstimate) {
  RegretRecord few = regret_;
  few.problems = 5;
  few.median = few.median_low = few.median_high = few.nearest_median = std::nullopt;
  store_.put_portfolio(device_, "f32.nt", records(), few);
  EXPECT_EQ(store_
                .query("SELECT problems, median_percent, median_low_percent, "
                       "nearest_median_percent, worst_decile_percent FROM untuned_regret")
                .rows,
            (std::vector<std::vector<std::string>>{{"5", "", "", "", ""}}));
}

TEST_F(PortfolioTest, RegretsBelowZeroAreKept) {
  RegretRecord noise = regret_;
  noise.mean = noise.worst_decile = -0.01;
  noise.median_low = -0.01;
  store_.put_portfolio(device_, "f32.nt", records(), noise);
  EXPECT_THAT(regrets(), ElementsAre(ElementsAre("f32.nt", "23", "0.004", "-0.01", "0.0125",
                                                 "-0.01", "-0.01", "0.3", "0.1", "0.25", "0.7")));
}

}  // namespace
}  // namespace rooftile
