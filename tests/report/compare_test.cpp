// Compares two databases.
#include "report/compare.h"

#include <gmock/gmock.h>

#include "cli/runtime_view.h"
#include "tests/db/store_fixture.h"
#include "tests/report/simulated_machine.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CompareTest : public StoreTest {
 protected:
  Report report(const std::string& name, const std::vector<Simulation>& machines) {
    Store store(folder_ / name);
    for (const Simulation& machine : machines) simulate(store, machine);
    return make_report(store, runtime_view());
  }
};

TEST_F(CompareTest, RatiosAreTheOtherDatabaseOverThisOne) {
  const Report here = report("here.db", {{.problems = 3, .samples = 5}});
  const Report there =
      report("there.db", {{.driver_version = 2, .speed = 4, .problems = 5, .samples = 5}});
  const Comparison comparison = compare(here, there);
  ASSERT_THAT(comparison.devices, SizeIs(1));
  const DeviceComparison& pair = comparison.devices[0];
  const auto fma = std::ranges::find(pair.figures, "device.fma.f32", &FigureComparison::name);
  ASSERT_NE(fma, pair.figures.end());
  EXPECT_NEAR(*fma->there / *fma->here, 4, 0.5);
  EXPECT_THAT(pair.problems, SizeIs(3));
  for (const ProblemComparison& p : pair.problems) EXPECT_GT(p.ratio(), 1) << to_string(p.problem);
  EXPECT_THAT(pair.only_here, IsEmpty());
  EXPECT_THAT(pair.only_there, SizeIs(2));
  EXPECT_EQ(pair.host_points, 12u);
  EXPECT_NEAR(pair.host_ratio, 1, 0.1);
  EXPECT_THAT(comparison_text(comparison),
              AllOf(ContainsRegex("device.fma.f32 .*gflops +[34]\\.[0-9]+x"),
                    HasSubstr("only there: "), HasSubstr("host.gemm.*")));
}

TEST_F(CompareTest, DevicesArePairedByIdentityWhateverTheirDriver) {
  const Report here = report("here.db", {{.problems = 1, .samples = 3}});
  const Report there =
      report("there.db", {{.name = "Another", .uuid = "another", .problems = 2, .samples = 3},
                          {.name = "Renamed", .driver_version = 9, .problems = 1, .samples = 3}});
  const Comparison comparison = compare(here, there);
  ASSERT_THAT(comparison.devices, SizeIs(1));
  EXPECT_EQ(comparison.devices[0].there.name, "Renamed");
  EXPECT_THAT(comparison.without_partner, ElementsAre("Another (driver 1)"));
}

TEST_F(CompareTest, TwoDriversInOneFile) {
  const Report both = report("both.db", {{.problems = 1, .samples = 3},
                                         {.driver_version = 2, .problems = 1, .samples = 3}});
  const Comparison comparison = compare(both, both);
  ASSERT_THAT(comparison.devices, SizeIs(2));
  EXPECT_EQ(comparison.devices[0].here.driver_info, "driver 1");
  EXPECT_EQ(comparison.devices[0].there.driver_info, "driver 2");
}

TEST_F(CompareTest, EntriesOfOneDatabaseOnlyAreListed) {
  const Report here = report("here.db", {{.problems = 2, .samples = 3, .calibrations = 0}});
  const Report there = report("there.db", {{.problems = 0, .samples = 3}});
  const DeviceComparison pair = compare(here, there).devices.at(0);
  EXPECT_THAT(pair.only_here, SizeIs(2));
  ASSERT_FALSE(pair.figures.empty());
  for (const FigureComparison& f : pair.figures) EXPECT_FALSE(f.here.has_value()) << f.name;
  EXPECT_THAT(comparison_text(compare(here, there)), HasSubstr("no problem is tuned on both"));
}

TEST_F(CompareTest, NothingToCompareIsAnError) {
  const Report one = report("one.db", {{.problems = 1, .samples = 3}});
  const Report empty = report("empty.db", {});
  for (const auto& [here, there] :
       {std::pair(one, empty), std::pair(empty, one), std::pair(one, one)}) {
    const Error error = error_of([&first = here, &second = there] { compare(first, second); });
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("nothing to compare"));
  }
}

}  // namespace
}  // namespace rooftile
