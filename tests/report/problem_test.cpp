// The report on one tuned problem.
#include "report/problem.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/runtime_view.h"
#include "tests/db/store_fixture.h"
#include "tests/report/simulated_machine.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ProblemTest : public StoreTest {
 protected:
  ProblemTest() : store_(file()) {
    simulate(store_, {.name = "First", .problems = 3, .samples = 5});
    simulate(store_, {.name = "Second", .uuid = "second", .problems = 1, .samples = 5});
    report_ = make_report(store_, runtime_view());
  }
  Store store_;
  Report report_;
};

TEST_F(ProblemTest, IsFoundOnEveryDeviceThatHasIt) {
  EXPECT_THAT(find_problem(report_, packed_problem(65, 129, 47)), SizeIs(2));
  const auto found =
      find_problem(report_, packed_problem(139, 235, 169, Transpose::kNo, Transpose::kYes));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].device->profile.name, "First");
}

TEST_F(ProblemTest, TextSaysWhatLimitsItAndWhatComesNext) {
  const auto found = find_problem(report_, packed_problem(102, 182, 108));
  const ProblemReport& p = *found.at(0).problem;
  const std::string text = problem_text(found);
  EXPECT_THAT(text, AllOf(HasSubstr("102x182x108 nn on First (driver 1)"), HasSubstr(p.kernel),
                          HasSubstr("limiter: " + p.limiter.name),
                          HasSubstr("next:    " + p.next_limiter()),
                          ContainsRegex("memory +[0-9]+ +[0-9.]+ +[0-9.]+"),
                          ContainsRegex("workgroups in [0-9]+ waves"),
                          ContainsRegex("\n  naive +[0-9.]+ us +[0-9.]+ x")));
  for (const RankedReport& other : p.alternatives) EXPECT_THAT(text, HasSubstr(other.kernel));
}

TEST_F(ProblemTest, JsonHasTheProblemOfEachDevice) {
  const auto found = find_problem(report_, packed_problem(65, 129, 47));
  const nlohmann::json json = nlohmann::json::parse(problem_json(report_, found));
  ASSERT_EQ(json.at("devices").size(), 2u);
  EXPECT_EQ(json["devices"][1]["name"], "Second");
  EXPECT_EQ(json["devices"][1]["problem"]["m"], 65);
}

TEST_F(ProblemTest, WhatIsNotTunedIsNamedWithWhatIs) {
  const Error sizes = error_of([&] { find_problem(report_, packed_problem(1, 2, 3)); });
  EXPECT_EQ(sizes.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(sizes.what(), AllOf(HasSubstr("1x2x3 nn is not tuned"), HasSubstr("65x129x47 nn"),
                                  HasSubstr("rooftile tune --m 1 --n 2 --k 3")));
  const Error transposed = error_of([&] { find_problem(report_, packed_problem(139, 235, 169)); });
  EXPECT_THAT(transposed.what(), HasSubstr("these sizes are tuned as 139x235x169 nt"));
}

}  // namespace
}  // namespace rooftile
