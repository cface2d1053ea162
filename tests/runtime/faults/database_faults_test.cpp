// Faults of the tuning database while a context has it open, one test for each fault
// (docs/faults.md): decisions stay as they are, and the fault is reported on stderr once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "db/store.h"
#include "generator/space.h"
#include "runtime/dispatch/context.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/full_disk.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Locks the database against all other connections.
class LockedDatabase {
 public:
  explicit LockedDatabase(const std::filesystem::path& file) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &handle_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle_, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr,
                           nullptr, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(handle_);
  }
  ~LockedDatabase() { sqlite3_close(handle_); }
  LockedDatabase(const LockedDatabase&) = delete;
  LockedDatabase& operator=(const LockedDatabase&) = delete;

 private:
  sqlite3* handle_ = nullptr;
};

class DatabaseFaults : public WrongKernel {
 protected:
  /// Returns how often the database has counted calls of the untuned problem.
  std::int64_t counted() const {
    const Store store(database_, OpenMode::kReadOnly);
    const auto row = store.find_device(device_);
    if (!row) return 0;
    std::int64_t calls = 0;
    for (const UntunedProblem& untuned : store.untuned_problems(*row))
      if (untuned.problem.m == untuned_.m) calls += untuned.calls;
    return calls;
  }
  static constexpr const char* kNotCounted = "problems without a tuned kernel are not counted: ";
};

TEST_F(DatabaseFaults, ADatabaseDeletedWhileOpenIsNotCreatedAgain) {
  auto context = open();
  multiply(*context, untuned_);
  std::filesystem::remove(database_);
  const std::string said = said_by([&] {
    expect(multiply(*context, checked_), Tier::kHost, Reason::kPrecision);
    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
    for (int call = 0; call < 2; ++call) {
      expect(multiply(*context, untuned_), Tier::kDevice, Reason::kPredicted);
      context->write_counts();
    }
    context.reset();
  });
  EXPECT_THAT(said, HasSubstr(kNotCounted + database_.string() + " was deleted\n"));
  EXPECT_THAT(said, HasSubstr("spot check"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
  EXPECT_FALSE(std::filesystem::exists(database_));

  context = open();
  expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  EXPECT_THAT(context->note(), HasSubstr("no tuning database at"));
}

TEST_F(DatabaseFaults, ADatabaseReplacedWhileOpenGetsCountsAndVerdictsOfItsDevice) {
  const auto context = open();
  DeviceProfile other = device_;
  other.driver_version += 1;
  const std::filesystem::path fresh = folder_ / "fresh.db";
  RowId other_row = 0;
  {
    Store store(fresh);
    other_row = store.device_id(other);  // The first file has this device in the same row.
    ASSERT_EQ(other_row, Store(database_).find_device(device_));
  }
  write_test_database(fresh, device_, {fast_kernel(device_), fallback_variant()}, {}, {},
                      no_host());
  std::filesystem::rename(fresh, database_);
  expect_one_line(said_by([&] {
                    expect(multiply(*context, untuned_), Tier::kDevice, Reason::kPredicted);
                    expect(multiply(*context, checked_), Tier::kHost, Reason::kPrecision);
                    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                    context->write_counts();
                  }),
                  "spot check");
  EXPECT_EQ(counted(), 1);
  EXPECT_THAT(Store(database_, OpenMode::kReadOnly).untuned_problems(other_row), IsEmpty());
  EXPECT_EQ(open()->explain({.problem = problem_}).kernel, short_name(fallback_variant()));
}

TEST_F(DatabaseFaults, ADatabaseReplacedByOneWithoutTheDeviceGetsNoCounts) {
  auto context = open();
  std::filesystem::remove(database_);
  { const Store without_devices(database_); }
  expect_one_line(said_by([&] {
                    for (int call = 0; call < 2; ++call) {
                      expect(multiply(*context, untuned_), Tier::kDevice, Reason::kPredicted);
                      context->write_counts();
                    }
                    context.reset();
                  }),
                  kNotCounted + database_.string() + " was replaced");
  EXPECT_THAT(Store(database_, OpenMode::kReadOnly).devices(), IsEmpty());
}

TEST_F(DatabaseFaults, ADatabaseLockedAtTheStartIsNotUsed) {
  {
    const LockedDatabase locked(database_);
    std::unique_ptr<Context> context;
    expect_one_line(said_by([&] { context = open(); }), "database is locked");
    for (int call = 0; call < 2; ++call)
      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
    const Decision decision = context->decide(problem_);
    EXPECT_EQ(decision.veto_name, Veto::kNotTuned);
    EXPECT_THAT(decision.veto, HasSubstr("another program keeps the file locked"));
  }
  expect(multiply(*open(), untuned_), Tier::kDevice, Reason::kPredicted);
}

TEST_F(DatabaseFaults, ADatabaseLockedWhileOpenIsWrittenLater) {
  const auto context = open();
  const std::string said = said_by([&] {
    const LockedDatabase locked(database_);
    for (int call = 0; call < 2; ++call) {
      expect(multiply(*context, untuned_), Tier::kDevice, Reason::kPredicted);
      context->write_counts();
    }
    expect(multiply(*context, checked_), Tier::kHost, Reason::kPrecision);
    expect(multiply(*context, checked_), Tier::kDevice, Reason::kPredicted);
  });
  EXPECT_THAT(said, HasSubstr(kNotCounted));
  EXPECT_THAT(said, HasSubstr("spot check"));
  EXPECT_THAT(said, HasSubstr("a kernel that computes wrongly stays in the database"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 3) << said;
  EXPECT_EQ(counted(), 0);
  context->write_counts();
  EXPECT_EQ(counted(), 2);
}

TEST_F(DatabaseFaults, ADatabaseOnAFullDiskIsWrittenLater) {
  const auto context = open();
  multiply(*context, untuned_);  // Its kernel is compiled and stored while the disk has room.
  expect_one_line(said_by([&] {
                    const FullDisk full;
                    for (int call = 0; call < 2; ++call) {
                      multiply(*context, untuned_);
                      context->write_counts();
                    }
                  }),
                  kNotCounted);
  EXPECT_EQ(counted(), 0);
  context->write_counts();
  EXPECT_EQ(counted(), 3);
}

}  // namespace
}  // namespace rooftile
