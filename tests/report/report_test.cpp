// Both reports contain the data of the database, and say which data is missing.
#include "report/report.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/runtime_view.h"
#include "tests/db/filled_store.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// The store's kernels are certified by version 1.0.
RuntimeView injected_view() {
  RuntimeView view = runtime_view();
  view.generator_version = "1.0";
  return view;
}

class ReportTest : public StoreTest {
 protected:
  ReportTest() : store_(file()), filled_(fill_store(store_)) {
    store_.put_certificate(filled_.device, filled_.slow.id, "1.0", true, "");
  }
  Report report() const { return make_report(store_, injected_view()); }
  nlohmann::json device_json() const {
    return nlohmann::json::parse(report_json(report())).at("devices").at(0);
  }
  Store store_;
  Filled filled_;
};

TEST_F(ReportTest, JsonHasTheFactsOfEachWinner) {
  const nlohmann::json problems = device_json().at("problems");
  for (const nlohmann::json& problem : problems) {
    const nlohmann::json& facts = problem.at("compiler_facts");
    if (problem.at("m") == 500) {
      EXPECT_TRUE(facts.is_null()) << "no compiler facts are stored";
      continue;
    }
    EXPECT_EQ(facts.at("registers"), 96);
    EXPECT_EQ(facts.at("spilled_registers"), 0);
    EXPECT_TRUE(facts.at("spill_stores").is_null());
    EXPECT_EQ(facts.at("shared_bytes"), 8192);
    EXPECT_EQ(facts.at("subgroups_per_unit"), 8);
  }
  EXPECT_EQ(problems.size(), 2u);
}

TEST_F(ReportTest, TextHasColumnsForTheFacts) {
  EXPECT_THAT(report_text(report()), AllOf(ContainsRegex("registers +spilled +subgroups\n"),
                                           ContainsRegex("37x129x65 .* 96 +0 +8\n"),
                                           ContainsRegex("500x3x7 .* - +- +-\n")));
}

TEST_F(ReportTest, TextOmitsFactsThatTheDeviceDoesNotReport) {
  Store empty(folder_ / "other.db");
  const RowId device = empty.device_id(filled_.profile), kernel = empty.candidate_id(filled_.slow);
  const Problem problem = packed_problem(37, 129, 65);
  const std::vector<WinnerRecord> ranked = {
      {.candidate = kernel, .problem = empty.problem_id(problem), .rank = 0, .kernel_ns = 10}};
  empty.put_winners(device, to_string(bucket_of(problem)), ranked);
  empty.put_certificate(device, kernel, "1.0", true, "");
  EXPECT_THAT(
      report_text(make_report(empty, injected_view())),
      AllOf(HasSubstr("37x129x65"), HasSubstr("not calibrated"), Not(HasSubstr("registers"))));
}

TEST_F(ReportTest, GainsAreOverTheKernelsOfTheRankedList) {
  const DeviceReport device = report().devices.at(0);
  const auto problem =
      std::ranges::find(device.problems, packed_problem(37, 129, 65), &ProblemReport::problem);
  ASSERT_NE(problem, device.problems.end());
  EXPECT_EQ(problem->total_ns(), 840);
  EXPECT_EQ(problem->default_ns(), 1010);
  EXPECT_EQ(problem->default_kernel, short_name(filled_.slow.variant));
  EXPECT_EQ(problem->naive_ns, 0) << "the naive kernel is not in the ranked list";
  ASSERT_THAT(problem->alternatives, SizeIs(1));
  EXPECT_EQ(problem->alternatives[0].kernel_ns, 1000);
  EXPECT_THAT(report_text(report()), ContainsRegex("37x129x65 .* 1\\.20x +97% +3 +- "));
}

TEST_F(ReportTest, WhatIsUncertainIsShownAsSuch) {
  const nlohmann::json device = device_json();
  const auto problem = [&](std::int64_t m) {
    for (const nlohmann::json& p : device.at("problems"))
      if (p.at("m") == m) return p;
    return nlohmann::json();
  };
  EXPECT_EQ(problem(37).at("verdict"), "faster");
  EXPECT_EQ(problem(37).at("confidence"), 0.97);
  EXPECT_EQ(problem(37).at("tried"), 3);
  EXPECT_EQ(problem(500).at("verdict"), "open");
  EXPECT_EQ(problem(500).at("confidence"), nullptr);
  EXPECT_EQ(problem(500).at("default_ns"), nullptr);
  EXPECT_THAT(report_text(report()), ContainsRegex("500x3x7 .* - +open +1 "));
}

TEST_F(ReportTest, AnOutcomeOfAnotherWinnerIsNotShown) {
  const RowId problem = store_.problem_id(packed_problem(37, 129, 65));
  store_.put_outcome(filled_.device, {.problem = problem, .candidate = filled_.slow.id});
  const DeviceReport device = report().devices.at(0);
  const auto found =
      std::ranges::find(device.problems, packed_problem(37, 129, 65), &ProblemReport::problem);
  ASSERT_NE(found, device.problems.end());
  EXPECT_EQ(found->outcome, std::nullopt);
  EXPECT_EQ(found->default_ns(), 0);
}

TEST_F(ReportTest, DriftIsAgainstTheCalibrationBefore) {
  const DeviceReport device = report().devices.at(0);
  ASSERT_THAT(device.figures, SizeIs(2));
  EXPECT_EQ(device.figures[0].drift(), 4) << "10 before, 50 now";
  EXPECT_TRUE(device.figures[0].drifted());
  EXPECT_EQ(device.figures[1].drift(), std::nullopt) << "the earlier calibration lacks this rate";
  EXPECT_FALSE(device.figures[1].drifted());
  EXPECT_THAT(report_text(report(), CalibrationDetail::kFigures),
              ContainsRegex("device.fma.f32 .* \\+400.0 % +\\*\n"));

  const std::vector<Figure> same = {
      {.name = "device.fma.f32", .unit = "gflops", .value = 51, .mad = 0.5, .count = 9}};
  store_.add_calibration(filled_.device, same);
  const FigureReport within = report().devices.at(0).figures.at(0);
  EXPECT_NEAR(within.drift().value(), 0.02, 1e-12);
  EXPECT_FALSE(within.drifted()) << "both spreads together explain a difference of 1 in 50";
}

TEST_F(ReportTest, ListsWithoutAKernelThatMayRunAreNamedWithTheReason) {
  EXPECT_THAT(report().devices.at(0).stale, IsEmpty());
  RuntimeView newer = injected_view();
  newer.generator_version = "2.0";
  const DeviceReport device = make_report(store_, newer).devices.at(0);
  EXPECT_THAT(device.problems, IsEmpty());
  ASSERT_THAT(device.stale, SizeIs(2));
  EXPECT_THAT(device.stale[0].reason, AllOf(HasSubstr("version 1.0"), HasSubstr("version 2.0")));
  store_.black_list(filled_.device, filled_.slow.id, "hung for 3 s");
  store_.revoke_certificates(filled_.device, "fast", "wrong at (1, 2)");
  const std::string text = report_text(report());
  EXPECT_THAT(text, AllOf(HasSubstr("black-listed: hung for 3 s"), HasSubstr("wrong at (1, 2)"),
                          HasSubstr("rooftile tune --refresh")));
}

TEST_F(ReportTest, KernelsOfAnotherVersionAreReported) {
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE candidates SET variant = 'family=quantum'");
  const DeviceReport device = report().devices.at(0);
  EXPECT_THAT(device.problems, IsEmpty());
  ASSERT_THAT(device.stale, SizeIs(3));
  EXPECT_EQ(device.stale[0].kernel, "family=quantum");
  ASSERT_THAT(device.rejected, SizeIs(1));
  EXPECT_EQ(device.rejected[0].kernel, "unknown kernel");
  EXPECT_EQ(device.rejected[0].reason, "hung for 2 s");
  EXPECT_THAT(report_text(report()), HasSubstr("family=quantum"));
}

}  // namespace
}  // namespace rooftile
