// Queries of the report about the past: progress of searches, the calibration before the latest,
// and kernels of other versions.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include "filled_store.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

auto step(std::size_t sample, double ns) {
  return ::testing::AllOf(Field(&SearchStep::sample, sample), Field(&SearchStep::ns, ns));
}

TEST_F(StoreTest, SearchCurvesAreTheFastestSoFarOfEachProblemAndRun) {
  Store store(file());
  const Filled filled = fill_store(store);
  const std::vector<SearchCurve> curves = store.search_curves(filled.device);
  ASSERT_THAT(curves, SizeIs(3));
  EXPECT_EQ(curves[0].problem, store.find_problem(packed_problem(37, 129, 65)));
  EXPECT_EQ(curves[0].run, 1);
  EXPECT_EQ(curves[0].samples, 3u);
  EXPECT_EQ(curves[0].failed, 1u);
  EXPECT_THAT(curves[0].steps, ElementsAre(step(1, 1040), step(2, 840))) << "times include packing";
  EXPECT_EQ(curves[1].run, 2);
  EXPECT_THAT(curves[1].steps, ElementsAre(step(1, 1240), step(2, 940)));
  EXPECT_EQ(curves[2].problem, store.find_problem(packed_problem(500, 3, 7)));
  EXPECT_THAT(curves[2].steps, ElementsAre(step(2, 340))) << "the first candidate failed";
}

TEST_F(StoreTest, SearchCurvesExcludeSamplesOfOtherPurposes) {
  Store store(file());
  const Filled filled = fill_store(store);
  for (const SamplePurpose purpose : {SamplePurpose::kPortfolio, SamplePurpose::kRefresh}) {
    SampleRecord later =
        measured(2, filled.fast.id, *store.find_problem(packed_problem(37, 129, 65)), 5);
    later.purpose = purpose;
    store.add_sample(later);
  }
  EXPECT_THAT(store.search_curves(filled.device).at(1).steps,
              ElementsAre(step(1, 1240), step(2, 940)));
}

TEST_F(StoreTest, SearchCurvesHaveSecondsSinceTheirFirstSample) {
  Store store(file());
  const Filled filled = fill_store(store);
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE samples SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ',"
          " '2026-02-28T23:59:58.000Z', '+' || (id * 0.5) || ' seconds')");
  const SearchCurve curve = store.search_curves(filled.device).at(0);  // samples 1, 3 and 4
  EXPECT_EQ(curve.began, "2026-02-28T23:59:58.500Z");
  EXPECT_EQ(curve.steps.at(0).s, 0);
  EXPECT_NEAR(curve.steps.at(1).s, 1, 1e-3);
  EXPECT_NEAR(curve.seconds, 1.5, 1e-3);
}

TEST_F(StoreTest, ImportedSearchesAreNotLocal) {
  Store store(file());
  const Filled filled = fill_store(store);
  store.export_to(folder_ / "export.db", std::vector<RowId>{filled.device});
  Store other(folder_ / "other.db");
  other.import_from(folder_ / "export.db");
  EXPECT_THAT(other.search_curves(1), IsEmpty());
}

TEST_F(StoreTest, ThePreviousCalibrationIsOfTheSameOrigin) {
  Store store(file());
  const Filled filled = fill_store(store);
  const auto calibrations = [](const Store& from, RowId device) {
    return from.calibrations(device, Provenance::kAny, 3);
  };
  ASSERT_THAT(calibrations(store, filled.device), SizeIs(2));
  const CalibrationRecord before = calibrations(store, filled.device)[1];
  ASSERT_THAT(before.figures, SizeIs(1));
  EXPECT_EQ(before.figures[0].value, 10);
  EXPECT_FALSE(before.at.empty());

  store.export_to(folder_ / "export.db", std::vector<RowId>{filled.device});
  Store other(folder_ / "other.db");
  const RowId device = other.device_id(filled.profile);
  EXPECT_THAT(calibrations(other, device), IsEmpty());
  other.import_from(folder_ / "export.db");
  EXPECT_THAT(calibrations(other, device), SizeIs(2)) << "both calibrations are imported";
  other.add_calibration(device, before.figures);
  EXPECT_THAT(calibrations(other, device), SizeIs(1))
      << "its own first calibration has no predecessor";
}

TEST_F(StoreTest, WinnersThatThisVersionCannotReadAreListed) {
  Store store(file());
  const Filled filled = fill_store(store);
  std::vector<UnknownWinner> unknown;
  store.winners(filled.device, &unknown);
  EXPECT_THAT(unknown, IsEmpty());
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE candidates SET variant = 'family=quantum' WHERE hash = 'fast'");
  EXPECT_THAT(store.winners(filled.device, &unknown), SizeIs(2))
      << "winners of this version remain readable";
  ASSERT_THAT(unknown, SizeIs(1));
  EXPECT_EQ(unknown[0].bucket, filled.bucket);
  EXPECT_EQ(unknown[0].variant, "family=quantum");
}

}  // namespace
}  // namespace rooftile
