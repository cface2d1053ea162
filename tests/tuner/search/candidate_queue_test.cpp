#include "tuner/search/candidate_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Candidates = std::vector<std::size_t>;

/// Proposes 0, 1, 2, ...; wants all; large candidates compile fastest.
struct Proposals {
  std::size_t next = 0, end = 100;
  std::vector<std::size_t> asked = {};  ///< How many were asked for, each time.

  CandidateQueue::Source source(std::function<bool(std::size_t)> wanted = [](std::size_t) {
    return true;
  }) {
    return {.propose =
                [this](std::size_t count) {
                  asked.push_back(count);
                  Candidates proposed(std::min(count, end - next));
                  std::iota(proposed.begin(), proposed.end(), next);
                  next += proposed.size();
                  return proposed;
                },
            .wanted = std::move(wanted),
            .work = [](std::size_t candidate) { return -static_cast<double>(candidate); }};
  }
};

TEST(FirstCandidates, AreInOrderAndEachOnce) {
  const std::vector<double> ns(20, 1.0);
  EXPECT_THAT(first_candidates({.untuned = 7,
                                .known = {3, 7},
                                .families = {7, 5, 3},
                                .winners = {9, 5},
                                .priors = {1, 9}},
                               ns),
              ElementsAre(7, 3, 5, 1, 9));
}

TEST(FirstCandidates, WinnersAndPriorsAlternateAndAreFewAndPlausible) {
  std::vector<double> ns(40, 1.0);
  ns[10] = ns[20] = 2;  // Times the fastest, by the model.
  EXPECT_THAT(first_candidates({.untuned = 0,
                                .known = {},
                                .families = {},
                                .winners = {10, 11, 12, 13, 14, 15, 16, 17},
                                .priors = {20, 21, 22, 23, 24}},
                               ns),
              ElementsAre(0, 21, 11, 22, 12, 23, 13, 24, 14, 15));
}

TEST(FirstCandidates, WhatIsKnownAndFamiliesAreNeverCut) {
  std::vector<double> ns(40, 9.0);
  ns[0] = 1;
  Candidates known(12), families(12);
  std::iota(known.begin(), known.end(), 1);
  std::iota(families.begin(), families.end(), 13);
  EXPECT_THAT(first_candidates({.untuned = 0, .known = known, .families = families}, ns),
              SizeIs(25));
}

TEST(CandidateQueue, ProposesWhenAllQueuedOnesAreTaken) {
  CandidateQueue queue({50, 60, 70});
  Proposals proposals;
  EXPECT_THAT(queue.take(2, proposals.source()), ElementsAre(60, 50)) << "fastest compiled first";
  EXPECT_THAT(queue.take(4, proposals.source()), ElementsAre(70, 2, 1, 0));
  EXPECT_THAT(proposals.asked, ElementsAre(3));
}

TEST(CandidateQueue, LeavesOutWhatIsNotWantedAndAsksForMore) {
  CandidateQueue queue;
  Proposals proposals;
  const auto odd = [](std::size_t candidate) { return candidate % 2 == 1; };
  EXPECT_THAT(queue.take(4, proposals.source(odd)), ElementsAre(7, 5, 3, 1));
}

TEST(CandidateQueue, TakesEachOnceWithinABatch) {
  CandidateQueue queue({1, 1, 2});
  Proposals proposals;
  proposals.end = 0;
  EXPECT_THAT(queue.take(4, proposals.source()), ElementsAre(2, 1));
  EXPECT_THAT(queue.take(4, proposals.source()), IsEmpty());
}

TEST(CandidateQueue, WhatIsPutBackComesFirst) {
  CandidateQueue queue({1, 2});
  Proposals proposals;
  EXPECT_THAT(queue.take(1, proposals.source()), ElementsAre(1));
  queue.put_back(Candidates{8, 9});
  EXPECT_THAT(queue.take(2, proposals.source()), ElementsAre(9, 8));
  EXPECT_THAT(queue.take(1, proposals.source()), ElementsAre(2));
}

}  // namespace
}  // namespace rooftile
