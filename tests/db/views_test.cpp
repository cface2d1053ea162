// Views return the stored values with names and units, and the arithmetic between them is right.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "filled_store.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Rows = std::vector<std::vector<std::string>>;

class ViewsTest : public StoreTest {
 protected:
  ViewsTest() : store_(file()), filled_(fill_store(store_)) {}
  Rows rows(const std::string& sql) const { return store_.query(sql).rows; }
  Store store_;
  Filled filled_;
};

TEST_F(ViewsTest, BestKernelsAreTheFirstOfEachList) {
  const std::string fast = to_string(filled_.fast.variant), small = to_string(filled_.slow.variant);
  const double gflops = 2.0 * 37 * 129 * 65 / 800;
  EXPECT_EQ(rows("SELECT device, driver, bucket, m, n, k, kernel, kernel_ns, pack_ns, certified, "
                 "black_listed"
                 " FROM best_kernels ORDER BY bucket"),
            (Rows{{filled_.profile.name, "Mesa 22.3.6 (LLVM 15.0.6)", filled_.bucket, "37", "129",
                   "65", fast, "800.0", "40.0", "1", "0"},
                  {filled_.profile.name, "Mesa 22.3.6 (LLVM 15.0.6)", filled_.tall_bucket, "500",
                   "3", "7", small, "300.0", "0.0", "", "0"}}));
  EXPECT_DOUBLE_EQ(std::stod(rows("SELECT gflops FROM best_kernels ORDER BY bucket")[0][0]),
                   std::stod(fmt::format("{:.15g}", gflops)));
  store_.put_certificate(filled_.device, filled_.fast.id, "1.1", false, "");
  store_.black_list(filled_.device, filled_.fast.id, "x");
  EXPECT_EQ(rows("SELECT certified, black_listed FROM best_kernels ORDER BY bucket LIMIT 1"),
            (Rows{{"0", "1"}}));
}

TEST_F(ViewsTest, BestKernelsShowCompilerFacts) {
  EXPECT_EQ(rows("SELECT registers, spilled_registers, spill_stores, scratch_bytes, shared_bytes, "
                 "subgroups_per_unit FROM best_kernels ORDER BY bucket"),
            (Rows{{"96", "0", "", "", "8192", "8"}, {"", "", "", "", "", ""}}));
}

TEST_F(ViewsTest, DeviceReportHasTheNewestFiguresOfEveryDevice) {
  DeviceProfile fresh = example_device("never calibrated");
  fresh.driver_version = 9;
  store_.device_id(fresh);
  EXPECT_EQ(
      rows("SELECT device, kind, figure, value, unit, mad, measurements FROM device_report"),
      (Rows{{filled_.profile.name, "software", "device.fma.f32", "50.0", "gflops", "0.5", "9"},
            {filled_.profile.name, "software", "device.submit", "20000.0", "ns", "100.0", "30"},
            {"never calibrated", "software", "", "", "", "", ""}}));
}

TEST_F(ViewsTest, SlowestProblemsComeWithTheirSharesLowestFirst) {
  const Rows found = rows(
      "SELECT m, kernel, kernel_ns, kernels_tried, round(gflops, 6), round(share_of_best, 6), "
      "round(share_of_peak, 6)"
      " FROM slowest_problems");
  const double big = 2.0 * 37 * 129 * 65 / 800, tall = 2.0 * 500 * 3 * 7 / 300;
  ASSERT_GT(big, tall);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0][0], "500");
  EXPECT_EQ(found[0][1], to_string(filled_.slow.variant));
  EXPECT_EQ(found[1][0], "37");
  EXPECT_EQ(found[1][1], to_string(filled_.fast.variant));
  EXPECT_EQ(found[1][2], "800.0");
  EXPECT_EQ(found[1][3], "2") << "a kernel with wrong results is neither counted nor the fastest";
  EXPECT_NEAR(std::stod(found[0][4]), tall, 1e-6);
  EXPECT_NEAR(std::stod(found[0][5]), tall / big, 1e-6);
  EXPECT_NEAR(std::stod(found[0][6]), tall / 50, 1e-6);
  EXPECT_NEAR(std::stod(found[1][5]), 1, 1e-6);
}

TEST_F(ViewsTest, SlowestProblemsIgnoreKernelsThatCannotBeUsed) {
  store_.revoke_certificates(filled_.device, filled_.fast.hash, "wrong");
  EXPECT_EQ(rows("SELECT kernel_ns FROM slowest_problems WHERE m = 37"), (Rows{{"1000.0"}}));
  store_.black_list(filled_.device, filled_.slow.id, "hung");
  EXPECT_THAT(rows("SELECT * FROM slowest_problems"), IsEmpty());
}

TEST_F(ViewsTest, TuningProgressRunsPerRunAndProblem) {
  EXPECT_EQ(rows("SELECT run_id, m, attempt, status, kernel_ns, best_ns FROM tuning_progress"),
            (Rows{{"1", "37", "1", "measured", "1000.0", "1000.0"},
                  {"1", "500", "1", "timed out", "", ""},
                  {"1", "37", "2", "measured", "800.0", "800.0"},
                  {"1", "37", "3", "wrong result", "", "800.0"},
                  {"1", "500", "2", "measured", "300.0", "300.0"},
                  {"2", "37", "1", "measured", "1200.0", "1200.0"},
                  {"2", "37", "2", "measured", "900.0", "900.0"},
                  {"2", "37", "3", "measured", "1100.0", "900.0"}}));
}

TEST_F(ViewsTest, RunNoiseListsTheDisturbancesOfARun) {
  EXPECT_EQ(rows("SELECT run_id, measurements, retaken, noisy, reference_readings, "
                 "first_reference_ns, round(slowest_level, 6), highest_c, throttle_events FROM "
                 "run_noise"),
            (Rows{{"1", "35", "3", "1", "3", "2000.0", "1.1", "71.5", "4"},
                  {"2", "21", "0", "0", "0", "", "", "", ""}}));
}

TEST_F(ViewsTest, RejectedKernelsComeWithTheirReasons) {
  EXPECT_EQ(rows("SELECT device, signature, kernel, cause, reason, generator_version FROM "
                 "rejected_kernels ORDER BY cause"),
            (Rows{{filled_.profile.name, "f32.nt", to_string(filled_.wrong.variant), "black list",
                   "hung for 2 s", ""},
                  {filled_.profile.name, "f32.nt", to_string(filled_.wrong.variant), "failed",
                   "NaN at (3, 5)", "1.0"}}));
  store_.put_certificate(filled_.device, filled_.wrong.id, "1.0", true, "mended");
  store_.revoke_certificates(filled_.device, filled_.fast.hash, "spot check");
  EXPECT_EQ(rows("SELECT cause, reason FROM rejected_kernels ORDER BY cause"),
            (Rows{{"black list", "hung for 2 s"}, {"revoked", "spot check"}}));
}

TEST_F(ViewsTest, DroppedKernelsAreRejectedUntilTheyAreMeasured) {
  const std::string sql = "SELECT kernel, reason FROM rejected_kernels WHERE cause = 'compiler'";
  EXPECT_THAT(rows(sql), IsEmpty());
  CompilerFactsRecord spilled = {.facts = {.spilled_registers = 12},
                                 .dropped_reason = "12 registers spilled"};
  store_.put_compiler_facts(filled_.device, filled_.slow.id, spilled);
  EXPECT_EQ(rows(sql), (Rows{{to_string(filled_.slow.variant), "12 registers spilled"}}));
  EXPECT_THAT(store_.black_listed(filled_.device), SizeIs(1))
      << "a dropped kernel is not black-listed";
  spilled.dropped_reason.reset();
  store_.put_compiler_facts(filled_.device, filled_.slow.id, spilled);
  EXPECT_THAT(rows(sql), IsEmpty());
}

TEST_F(ViewsTest, EmptyFileHasEmptyViews) {
  Store empty(folder_ / "empty.db");
  for (const auto& row : empty.query("SELECT name FROM sqlite_schema WHERE type = 'view'").rows)
    EXPECT_THAT(empty.query("SELECT * FROM " + row[0]).rows, IsEmpty()) << row[0];
}

}  // namespace
}  // namespace rooftile
