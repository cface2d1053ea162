// What the database holds of the compiler is in both reports, and a database without it says so.
#include "report/report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/db/filled_store.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportTest : public StoreTest {
 protected:
  ReportTest() : store_(file()), filled_(fill_store(store_)) {
    store_.put_certificate(filled_.device, filled_.slow.id, "1.0", true, "");
  }
  nlohmann::json problems() const {
    return nlohmann::json::parse(report_json(make_report(store_, "1.0")))
        .at("devices")
        .at(0)
        .at("problems");
  }
  Store store_;
  Filled filled_;
};

TEST_F(ReportTest, JsonHasTheFactsOfEachWinner) {
  for (const nlohmann::json& problem : problems()) {
    const nlohmann::json& facts = problem.at("compiler_facts");
    if (problem.at("m") == 500) {
      EXPECT_TRUE(facts.is_null()) << "nobody has asked the compiler";
      continue;
    }
    EXPECT_EQ(facts.at("registers"), 96);
    EXPECT_EQ(facts.at("spilled_registers"), 0);
    EXPECT_TRUE(facts.at("spill_stores").is_null());
    EXPECT_EQ(facts.at("shared_bytes"), 8192);
    EXPECT_EQ(facts.at("subgroups_per_unit"), 8);
  }
  EXPECT_EQ(problems().size(), 2u);
}

TEST_F(ReportTest, TextHasColumnsForThem) {
  EXPECT_THAT(
      report_text(make_report(store_, "1.0")),
      AllOf(ContainsRegex("registers +spilled +subgroups\n"),
            ContainsRegex("37x129x65 .* 96 +0 +8\n"), ContainsRegex("500x3x7 .* - +- +-\n")));
}

TEST_F(ReportTest, TextOfADeviceThatTellsNothingHasNoneOfThem) {
  Store empty(folder_ / "other.db");
  const RowId device = empty.device_id(filled_.profile), kernel = empty.candidate_id(filled_.slow);
  const Problem problem = packed_problem(37, 129, 65);
  const std::vector<WinnerRecord> ranked = {
      {.candidate = kernel, .problem = empty.problem_id(problem), .rank = 0, .kernel_ns = 10}};
  empty.put_winners(device, to_string(bucket_of(problem)), ranked);
  empty.put_certificate(device, kernel, "1.0", true, "");
  EXPECT_THAT(report_text(make_report(empty, "1.0")),
              AllOf(HasSubstr("37x129x65"), Not(HasSubstr("registers"))));
}

}  // namespace
}  // namespace rooftile
