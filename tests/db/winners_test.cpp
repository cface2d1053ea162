// Dispatch gets ranked kernels that this generator has certified and that are not black-listed.
// Further queries return the problems to tune next.
#include <gmock/gmock.h>

#include "db/sqlite/connection.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WinnersTest : public StoreTest {
 protected:
  WinnersTest() : store_(file()), device_(store_.device_id(example_device())) {
    for (const char* hash : {"h0", "h1", "h2"})
      candidates_.push_back(store_.candidate_id(example_candidate(hash)));
    problem_ = store_.problem_id(packed_problem(37, 129, 65));
  }

  std::vector<WinnerRecord> ranked(const std::vector<int>& order) const {
    std::vector<WinnerRecord> list;
    for (const int index : order)
      list.push_back({.candidate = candidates_.at(static_cast<std::size_t>(index)),
                      .problem = problem_,
                      .rank = static_cast<int>(list.size()),
                      .kernel_ns = 100.0 * (index + 1),
                      .pack_ns = 5});
    return list;
  }
  void certify(int index, const char* version = "1.0", bool passed = true) {
    store_.put_certificate(device_, candidates_.at(static_cast<std::size_t>(index)), version,
                           passed, "by test");
  }
  std::vector<std::string> dispatchable(const char* version = "1.0") const {
    std::vector<std::string> hashes;
    for (const TunedKernel& kernel : store_.tuned_kernels(device_, version))
      hashes.push_back(kernel.candidate.hash);
    return hashes;
  }

  Store store_;
  RowId device_;
  std::vector<RowId> candidates_;
  RowId problem_ = 0;
};

TEST_F(WinnersTest, OnlyCertifiedKernelsAreRead) {
  store_.put_winners(device_, "b", ranked({2, 0, 1}));
  EXPECT_THAT(dispatchable(), IsEmpty());
  certify(0);
  certify(1, "1.0", false);
  certify(2, "0.9");
  EXPECT_THAT(dispatchable(), ElementsAre("h0"));
  certify(2);
  EXPECT_THAT(dispatchable(), ElementsAre("h2", "h0"));
  EXPECT_THAT(dispatchable("0.9"), ElementsAre("h2"));

  const TunedKernel kernel = store_.tuned_kernels(device_, "1.0").at(1);
  EXPECT_EQ(kernel.bucket, "b");
  EXPECT_EQ(kernel.rank, 1);
  EXPECT_EQ(kernel.candidate.id, candidates_[0]);
  EXPECT_EQ(kernel.candidate.signature, "f32.nt");
  EXPECT_EQ(kernel.candidate.variant, example_variant());
  EXPECT_EQ(kernel.problem, packed_problem(37, 129, 65));
  EXPECT_EQ(kernel.kernel_ns, 100);
  EXPECT_EQ(kernel.pack_ns, 5);
}

TEST_F(WinnersTest, NewestCertificateOfAVersionCounts) {
  store_.put_winners(device_, "b", ranked({0}));
  EXPECT_EQ(store_.certificate(device_, candidates_[0], "1.0"), std::nullopt);
  certify(0);
  EXPECT_EQ(store_.certificate(device_, candidates_[0], "1.0"), true);
  EXPECT_EQ(store_.certificate(device_, candidates_[0], "1.1"), std::nullopt);
  EXPECT_EQ(store_.certificate(device_, candidates_[1], "1.0"), std::nullopt);
  certify(0, "1.0", false);
  EXPECT_EQ(store_.certificate(device_, candidates_[0], "1.0"), false);
  EXPECT_THAT(dispatchable(), IsEmpty());
  certify(0);
  EXPECT_THAT(dispatchable(), ElementsAre("h0"));
}

TEST_F(WinnersTest, RevokedAndBlockedKernelsAreSkippedOnTheirDeviceOnly) {
  DeviceProfile newer_driver = example_device();
  newer_driver.driver_version = 2;
  const RowId other = store_.device_id(newer_driver);
  for (const RowId device : {device_, other}) {
    store_.put_winners(device, "b", ranked({0, 1, 2}));
    for (const RowId candidate : candidates_)
      for (const char* version : {"1.0", "0.9"})
        store_.put_certificate(device, candidate, version, true, "");
  }
  store_.revoke_certificates(device_, "h1", "spot check failed");
  store_.revoke_certificates(device_, "no such hash", "x");
  store_.black_list(device_, candidates_[0], "hung");
  EXPECT_THAT(dispatchable("1.0"), ElementsAre("h2"));
  EXPECT_THAT(dispatchable("0.9"), ElementsAre("h2"));
  EXPECT_THAT(store_.tuned_kernels(other, "1.0"), SizeIs(3));

  certify(1);
  EXPECT_THAT(dispatchable("1.0"), ElementsAre("h1", "h2")) << "the kernels are certified again";
}

TEST_F(WinnersTest, RevokingAddsNoCertificate) {
  certify(0, "1.0", false);
  store_.revoke_certificates(device_, "h0", "x");
  store_.revoke_certificates(device_, "h1", "x");
  EXPECT_EQ(store_.query("SELECT count(*) FROM certificates").rows[0][0], "1");
}

TEST_F(WinnersTest, BlackListKeepsTheNewestReason) {
  store_.black_list(device_, candidates_[0], "hung");
  store_.black_list(device_, candidates_[0], "lost the device");
  const std::vector<BlackListRecord> listed = store_.black_listed(device_);
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].candidate, candidates_[0]);
  EXPECT_EQ(listed[0].reason, "lost the device");
  EXPECT_THAT(listed[0].at, ::testing::EndsWith("Z"));
}

TEST_F(WinnersTest, ListOfABucketIsReplacedAndOthersStay) {
  for (int i = 0; i < 3; ++i) certify(i);
  store_.put_winners(device_, "b", ranked({0, 1, 2}));
  store_.put_winners(device_, "a", ranked({1}));
  EXPECT_THAT(dispatchable(), ElementsAre("h1", "h0", "h1", "h2")) << "sorted by bucket, then rank";
  store_.put_winners(device_, "b", ranked({2}));
  EXPECT_THAT(dispatchable(), ElementsAre("h1", "h2"));
  store_.put_winners(device_, "a", {});
  EXPECT_THAT(dispatchable(), ElementsAre("h2"));
}

TEST_F(WinnersTest, RefusedListLeavesTheOldOne) {
  certify(0);
  store_.put_winners(device_, "b", ranked({0}));
  std::vector<WinnerRecord> same_rank = ranked({1, 2});
  same_rank[1].rank = 0;
  EXPECT_EQ(error_of([&] { store_.put_winners(device_, "b", same_rank); }).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_THAT(dispatchable(), ElementsAre("h0"));
}

TEST_F(WinnersTest, AllEntriesAreListedWithTheirVerdicts) {
  store_.put_winners(device_, "b", ranked({0, 1, 2}));
  certify(0, "0.9");
  certify(1, "1.0", false);
  store_.black_list(device_, candidates_[1], "crashed");
  const std::vector<RankedKernel> entries = store_.winners(device_);
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries[0].verdict, Verdict::kPassed);
  EXPECT_EQ(entries[0].generator_version, "0.9");
  EXPECT_EQ(entries[0].black_list_reason, std::nullopt);
  EXPECT_EQ(entries[1].verdict, Verdict::kFailed);
  EXPECT_EQ(entries[1].verdict_detail, "by test");
  EXPECT_EQ(entries[1].black_list_reason, "crashed");
  EXPECT_EQ(entries[1].kernel.candidate.hash, "h1");
  EXPECT_EQ(entries[1].kernel.kernel_ns, 200);
  EXPECT_EQ(entries[2].verdict, Verdict::kNone);
  store_.revoke_certificates(device_, "h0", "wrong");
  EXPECT_EQ(store_.winners(device_).at(0).verdict, Verdict::kRevoked);
}

TEST_F(WinnersTest, VariantBeyondThisVersionIsLeftOutAndNamedByCheck) {
  certify(0);
  certify(1);
  store_.put_winners(device_, "b", ranked({0, 1}));
  Connection(file(), Access::kReadWrite, 1000)
      .database()
      .exec("UPDATE candidates SET variant = 'family=quantum qubits=4' WHERE hash = 'h0'");
  EXPECT_THAT(dispatchable(), ElementsAre("h1"));
  EXPECT_EQ(error_of([&] { store_.candidate(candidates_[0]); }).code(), ErrorCode::kDatabase);
  EXPECT_THAT(store_.check(), ElementsAre(::testing::HasSubstr("quantum")));
}

TEST_F(WinnersTest, AnOutcomeIsReplacedAndReadBack) {
  const RowId problem = store_.problem_id(packed_problem(5, 6, 7)),
              other = store_.problem_id(packed_problem(8, 6, 7));
  const RowId winner = store_.candidate_id(example_candidate("winner", 16)),
              untuned = store_.candidate_id(example_candidate("default", 32));
  EXPECT_EQ(store_.outcome(device_, problem), std::nullopt);
  const OutcomeRecord open = {
      .problem = problem, .candidate = winner, .confidence = 0.875, .tried = 5};
  store_.put_outcome(device_, open);
  EXPECT_EQ(store_.outcome(device_, problem), open);
  const OutcomeRecord faster = {.problem = problem,
                                .candidate = untuned,
                                .verdict = OutcomeVerdict::kFaster,
                                .confidence = 0.97,
                                .tried = 12,
                                .default_candidate = winner,
                                .default_ns = 1234.5};
  store_.put_outcome(device_, faster);
  EXPECT_EQ(store_.outcome(device_, problem), faster);
  EXPECT_EQ(store_.outcome(device_, other), std::nullopt);
}

TEST_F(WinnersTest, AnOutcomeWithValuesBeyondTheirRangeIsRefused) {
  const RowId problem = store_.problem_id(packed_problem(5, 6, 7));
  const RowId winner = store_.candidate_id(example_candidate("winner", 16));
  for (const OutcomeRecord& wrong :
       {OutcomeRecord{.problem = problem, .candidate = winner, .confidence = 1.5},
        OutcomeRecord{.problem = problem, .candidate = winner, .default_ns = 0.0},
        OutcomeRecord{.problem = problem + 100, .candidate = winner}})
    EXPECT_EQ(error_of([&] { store_.put_outcome(device_, wrong); }).code(),
              ErrorCode::kInvalidArgument);
  EXPECT_EQ(store_.outcome(device_, problem), std::nullopt);
}

TEST(Certainty, IsOneWordForTables) {
  EXPECT_EQ(certainty_text(OutcomeVerdict::kFaster, 0.97), "97%");
  EXPECT_EQ(certainty_text(OutcomeVerdict::kFaster, {}), "-");
  EXPECT_EQ(certainty_text(OutcomeVerdict::kDefault, {}), "default");
  EXPECT_EQ(certainty_text(OutcomeVerdict::kOpen, {}), "open");
  EXPECT_EQ(certainty_text(OutcomeVerdict::kOpen, 0.875), "open 88%");
}

TEST_F(WinnersTest, UntunedProblemsAreListedMostCalledFirst) {
  const Problem cold = packed_problem(3, 5, 7), hot = packed_problem(300, 5, 7, Transpose::kYes);
  store_.log_untuned(device_, cold);
  store_.log_untuned(device_, hot, 10);
  store_.log_untuned(device_, cold, 2);
  const std::vector<UntunedProblem> untuned = store_.untuned_problems(device_);
  ASSERT_THAT(untuned, SizeIs(2));
  EXPECT_EQ(untuned[0].problem, hot);
  EXPECT_EQ(untuned[0].calls, 10);
  EXPECT_EQ(untuned[1].problem, cold);
  EXPECT_EQ(untuned[1].calls, 3);
  EXPECT_LE(untuned[1].created_at, untuned[1].seen_at);
  EXPECT_EQ(error_of([&] { store_.log_untuned(device_, cold, 0); }).code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(WinnersTest, AlphaAndBetaDoNotMakeAnotherUntunedProblem) {
  Problem problem = packed_problem(3, 5, 7);
  for (const float alpha : {1.0f, -2.5f, 1e-20f}) {
    problem.alpha = alpha;
    problem.beta = alpha;
    store_.log_untuned(device_, problem);
  }
  problem.beta = 0;
  store_.log_untuned(device_, problem);
  EXPECT_THAT(store_.untuned_problems(device_), SizeIs(2))
      << "calls that read C are a problem of their own";
}

TEST_F(WinnersTest, TunedBucketIsNoLongerUntuned) {
  const Problem problem = packed_problem(37, 129, 65), other = packed_problem(3, 5, 7);
  store_.log_untuned(device_, problem);
  store_.log_untuned(device_, other);
  store_.put_winners(device_, to_string(bucket_of(problem)), {});
  EXPECT_THAT(store_.untuned_problems(device_), SizeIs(2));
  store_.put_winners(device_, to_string(bucket_of(problem)), ranked({0}));
  const std::vector<UntunedProblem> untuned = store_.untuned_problems(device_);
  ASSERT_THAT(untuned, SizeIs(1));
  EXPECT_EQ(untuned[0].problem, other);
}

TEST_F(WinnersTest, UntunedProblemsAreBoundedAndTheLeastSeenGoes) {
  constexpr int kMaxRows = 4096;
  {
    Store::Transaction transaction(store_);
    for (int m = 1; m <= kMaxRows; ++m)
      store_.log_untuned(device_, packed_problem(m, 3, 5), m == 7 ? 2 : 3);
    transaction.commit();
  }
  const auto has = [&](std::int64_t m) {
    const std::vector<UntunedProblem> untuned = store_.untuned_problems(device_);
    EXPECT_THAT(untuned, SizeIs(kMaxRows));
    return std::ranges::any_of(untuned, [m](const UntunedProblem& u) { return u.problem.m == m; });
  };
  store_.log_untuned(device_, packed_problem(kMaxRows + 1, 3, 5));
  EXPECT_FALSE(has(7));
  EXPECT_TRUE(has(kMaxRows + 1)) << "a full table must accept new problems";
  store_.log_untuned(device_, packed_problem(kMaxRows + 2, 3, 5));
  EXPECT_FALSE(has(kMaxRows + 1));
  EXPECT_TRUE(has(kMaxRows + 2));
}

}  // namespace
}  // namespace rooftile
