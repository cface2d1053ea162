// A full or failing disk gives a clear error and leaves the file unchanged.
#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>

#include "child_process.h"
#include "store_fixture.h"
#include "tests/support/failing_writes.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using FaultTest = StoreTest;

TEST_F(FaultTest, FullDiskIsNamedAndNothingIsLost) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  {
    const FailingWrites full(0, ENOSPC);
    const Error error = error_of([&] { store.begin_run(device, "1.0", "{}"); });
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(file().string()), HasSubstr("disk is full"),
                                    HasSubstr("free some space")));
  }
  EXPECT_EQ(store.find_device(example_device()), device);
  store.begin_run(device, "1.0", "{}");
  EXPECT_THAT(store.check(), IsEmpty());
}

TEST_F(FaultTest, FailingDiskIsNamed) {
  Store store(file());
  const FailingWrites broken(0, EIO);
  const Error error = error_of([&] { store.device_id(example_device()); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(file().string()), HasSubstr("check the disk")));
}

TEST_F(FaultTest, AFailedWriteLeavesTheOldOrTheNewList) {
  RowId device = 0, problem = 0;
  std::vector<WinnerRecord> before, after;
  {
    Store store(file());
    device = store.device_id(example_device());
    problem = store.problem_id(packed_problem(37, 129, 65));
    for (int rank = 0; rank < 3; ++rank) {
      const RowId candidate = store.candidate_id(example_candidate("h" + std::to_string(rank)));
      before.push_back({.candidate = candidate, .problem = problem, .rank = rank, .kernel_ns = 1});
      after.push_back({.candidate = candidate, .problem = problem, .rank = rank, .kernel_ns = 2});
    }
  }
  bool succeeded = false;
  int failures = 0;
  for (int good_writes = 0; !succeeded; ++good_writes) {
    {
      Store store(file());
      store.put_winners(device, "b", before);
      const FailingWrites full(good_writes, ENOSPC);
      try {
        store.put_winners(device, "b", after);
        succeeded = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kIo) << error.what();
        ++failures;
      }
    }
    Store store(file());
    EXPECT_EQ(store.note(), "") << good_writes;
    EXPECT_THAT(store.check(), IsEmpty());
    const std::vector<RankedKernel> found = store.winners(device);
    ASSERT_EQ(found.size(), before.size()) << good_writes;
    for (const RankedKernel& entry : found)
      EXPECT_EQ(entry.kernel.kernel_ns, succeeded ? 2 : 1) << good_writes;
  }
  EXPECT_GT(failures, 0);
}

TEST_F(FaultTest, ALimitOnTheSizeOfFilesIsAnErrorAndEndsNoProcess) {
  ChildProcess child([&] {
    const rlimit most = {.rlim_cur = 4096, .rlim_max = 4096};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &most), 0);
    EXPECT_THROW(Store{file()}, Error);
    sigset_t blocked;
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
    EXPECT_EQ(sigismember(&blocked, SIGXFSZ), 0);
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(FaultTest, AfterAFailedCreationTheNextAttemptSucceeds) {
  bool succeeded = false;
  int failures = 0;
  // Only some numbers of writes are tried, because a new file takes some hundred writes.
  for (int good_writes = 0; !succeeded; good_writes += 1 + good_writes / 8) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      std::filesystem::remove(entry);
    {
      const FailingWrites full(good_writes, ENOSPC);
      try {
        Store store(file());
        succeeded = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kIo) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(file().string()));
        ++failures;
      }
    }
    Store store(file());
    EXPECT_EQ(store.note(), "") << good_writes;
    EXPECT_THAT(store.check(), IsEmpty()) << good_writes;
  }
  EXPECT_GT(failures, 3);
}

TEST_F(FaultTest, ATransactionUndoneByAFullDiskDoesNotCommit) {
  Store store(file());
  {
    Store::Transaction transaction(store);
    store.device_id(example_device());
    const FailingWrites full(0, ENOSPC);
    EXPECT_EQ(error_of([&] { transaction.commit(); }).code(), ErrorCode::kIo);
  }
  EXPECT_THAT(store.devices(), IsEmpty());
  store.device_id(example_device());
}

}  // namespace
}  // namespace rooftile
