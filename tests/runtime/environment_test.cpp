// Reading of environment variables, and the handling of wrong values.
#include "runtime/dispatch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rooftile/rooftile.h>

#include "core/error.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/first_device.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

TEST(Environment, UnknownValuesAreRefusedWhenAContextIsOpened) {
  for (const char* variable :
       {"ROOFTILE_TIER", "ROOFTILE_DEVICES", "ROOFTILE_PRECISION", "ROOFTILE_DETERMINISTIC",
        "ROOFTILE_MEASURE_CALLS", "ROOFTILE_LOG_UNTUNED", "ROOFTILE_VALIDATION"}) {
    const ScopedEnvironment wrong(variable, "moon");
    rooftile_context* context = nullptr;
    EXPECT_EQ(rooftile_open(nullptr, &context), ROOFTILE_INVALID_ARGUMENT) << variable;
    EXPECT_EQ(context, nullptr);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(std::string(variable) + " is 'moon'; known: "));
  }
}

TEST(Environment, SwitchesTakeNumbersAndWords) {
  for (const bool otherwise : {false, true}) {
    EXPECT_EQ(environment_switch("ROOFTILE_MEASURE_CALLS", otherwise), otherwise);
    for (const auto& [value, expected] :
         {std::pair("1", true), std::pair("on", true), std::pair("0", false),
          std::pair("off", false), std::pair("", otherwise)}) {
      const ScopedEnvironment set("ROOFTILE_MEASURE_CALLS", value);
      EXPECT_EQ(environment_switch("ROOFTILE_MEASURE_CALLS", otherwise), expected) << value;
    }
    const ScopedEnvironment odd("ROOFTILE_MEASURE_CALLS", "true");
    EXPECT_THROW(environment_switch("ROOFTILE_MEASURE_CALLS", otherwise), Error);
  }
}

TEST(Environment, RanksAreThoseOfTheProgramAndNotOfAnAllocation) {
  const ScopedEnvironment allocation("SLURM_NTASKS", "8");
  EXPECT_EQ(mpi_ranks(), 1);
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    for (const auto& [value, ranks] : {std::pair("4", 4), {"1", 1}, {"", 1}, {"many", 1}}) {
      const ScopedEnvironment set(variable, value);
      EXPECT_EQ(mpi_ranks(), ranks) << variable;
    }
}

class MissingNames : public testing::Test {
 protected:
  std::string said_by_opening(const ContextOptions& options) {
    testing::internal::CaptureStderr();
    for (int time = 0; time < 3; ++time) Context{options};
    return testing::internal::GetCapturedStderr();
  }
  ScratchFolder folder_;
};

TEST_F(MissingNames, AMissingNamedDatabaseIsReportedOnce) {
  const std::string file = (folder_ / "none.db").string();
  const std::string said = said_by_opening({.database = file});
  EXPECT_THAT(said, HasSubstr("no tuning database at " + file));
  EXPECT_THAT(said, HasSubstr("calls compute on the host unless they force the device\n"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  const ScopedEnvironment other("ROOFTILE_DB", (folder_ / "other.db").string());
  EXPECT_THAT(said_by_opening({}), HasSubstr("no tuning database at"));
}

TEST_F(MissingNames, AMissingDefaultDatabaseIsNotReported) {
  ::unsetenv("ROOFTILE_DB");
  const ScopedEnvironment home("XDG_DATA_HOME", folder_.path().string());
  EXPECT_EQ(said_by_opening({}), "");
}

TEST_F(MissingNames, ADeviceThatNoTunedOneMatchesIsReportedOnce) {
  const std::filesystem::path file = folder_ / "tuned.db";
  write_test_database(file, first_device(), {fallback_variant()});
  const std::string said = said_by_opening({.database = file, .device = "nosuch"});
  EXPECT_THAT(said, HasSubstr("matches 'nosuch'"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_EQ(said_by_opening({.database = file}), "");
  const ScopedEnvironment device("ROOFTILE_DEVICE", "another");
  EXPECT_THAT(said_by_opening({.database = file}), HasSubstr("matches 'another'"));
}

}  // namespace
}  // namespace rooftile
