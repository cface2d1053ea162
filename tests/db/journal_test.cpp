// The journal identifies the candidate that was running when a process or the machine died, and no
// other candidate.
#include <gmock/gmock.h>
#include <sys/syscall.h>

#include <fstream>

#include "child_process.h"
#include "db/tables/process_identity.h"
#include "store_fixture.h"

namespace {
int syncs = 0;
}

// SQLite's calls reach these functions instead of libc's, because symbols of the program come
// first.
extern "C" __attribute__((visibility("default"))) int fdatasync(int descriptor) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}
extern "C" __attribute__((visibility("default"))) int fsync(int descriptor) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class JournalTest : public StoreTest {
 protected:
  static std::vector<RowId> ids(const std::vector<JournalRecord>& records) {
    std::vector<RowId> result;
    for (const JournalRecord& record : records) result.push_back(record.id);
    return result;
  }
};

TEST_F(JournalTest, EntryStaysUntilItIsEnded) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  const RowId candidate = store.candidate_id(example_candidate("abc"));
  const RowId first = store.journal_begin(device, candidate, ::getpid());
  const RowId second = store.journal_begin(device, candidate, ::getpid());
  EXPECT_EQ(ids(store.journal(device)), (std::vector<RowId>{first, second}));
  store.journal_end(first);
  const std::vector<JournalRecord> left = store.journal(device);
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].id, second);
  EXPECT_EQ(left[0].device, device);
  EXPECT_EQ(left[0].candidate, candidate);
  EXPECT_EQ(left[0].pid, ::getpid());
  EXPECT_THAT(left[0].started_at, ::testing::EndsWith("Z"));
  EXPECT_THAT(store.journal(device + 1), IsEmpty());
}

TEST_F(JournalTest, EndingAnEntryTwiceIsHarmless) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  const RowId candidate = store.candidate_id(example_candidate("abc"));
  const RowId first = store.journal_begin(device, candidate, ::getpid());
  store.journal_end(first);
  const RowId second = store.journal_begin(device, candidate, ::getpid());
  store.journal_end(first);
  EXPECT_EQ(ids(store.journal(device)), std::vector<RowId>{second});
}

TEST_F(JournalTest, OnlyTheJournalEntryIsSyncedBeforeTheLaunch) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  const RowId candidate = store.candidate_id(example_candidate("abc"));
  const RowId problem = store.problem_id(packed_problem(37, 129, 65));
  const RowId run = store.begin_run(device, "1.0", "{}");

  syncs = 0;
  const RowId journal = store.journal_begin(device, candidate, ::getpid());
  EXPECT_GE(syncs, 1) << "the entry is not synchronised to disk";
  syncs = 0;
  store.add_sample(measured(run, candidate, problem, 1000));
  store.journal_end(journal);
  EXPECT_EQ(syncs, 0) << "only the journal entry is synchronised to disk";
}

TEST_F(JournalTest, EntryInsideATransactionIsRefused) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  const RowId candidate = store.candidate_id(example_candidate("abc"));
  Store::Transaction transaction(store);
  EXPECT_EQ(error_of([&] { store.journal_begin(device, candidate, ::getpid()); }).code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(JournalTest, OnlyEntriesOfEndedProcessesAreOrphaned) {
#ifdef ROOFTILE_EMULATED
  GTEST_SKIP() << "QEMU tells a process another start of itself than the kernel tells others, so "
                  "that entries of living processes look dead";
#endif
  Signal written, done;
  RowId device = 0;
  const auto write_entry = [&] {
    Store store(file());
    device = store.device_id(example_device());
    store.journal_begin(device, store.candidate_id(example_candidate("abc")), ::getpid());
  };
  ChildProcess killed([&] {
    write_entry();
    written.send();
    Signal().wait();
  });
  written.wait();
  ChildProcess living([&] {
    write_entry();
    written.send();
    done.wait();
  });
  written.wait();
  write_entry();  // The entry belongs to this process, which is alive.

  {
    Store store(file());
    EXPECT_THAT(store.journal(device), SizeIs(3));
    EXPECT_THAT(store.dead_journal(device), IsEmpty());
  }
  const std::int64_t victim = killed.pid();
  killed.kill();
  killed.wait();
  {
    Store store(file());
    const std::vector<JournalRecord> dead = store.dead_journal(device);
    ASSERT_THAT(dead, SizeIs(1));
    EXPECT_EQ(dead[0].pid, victim);
  }
  done.send();
  EXPECT_EQ(living.wait(), 0);
  EXPECT_THAT(Store(file()).dead_journal(device), SizeIs(2));
}

TEST(ProcessIdentityTest, ProcessThatEndedButWasNotWaitedForIsGone) {
  Signal started, may_end;
  ChildProcess child([&] {
    started.send();
    may_end.wait();
  });
  started.wait();
  const ProcessIdentity recorded = identify_process(child.pid());
  EXPECT_GT(recorded.start_ticks, 0);
  EXPECT_FALSE(is_gone(recorded, identify_process(child.pid())));
  may_end.send();
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &ended, WEXITED | WNOWAIT),
            0);  // The child stays a zombie.
  EXPECT_TRUE(is_gone(recorded, identify_process(child.pid())));
}

TEST(ProcessIdentityTest, ReadsTheStartTimeWithAnyProgramName) {
  const ProcessIdentity self = identify_process(::getpid());
  ChildProcess child([&] {
    std::ofstream("/proc/self/comm") << "a) S 1 (b) R";
    const ProcessIdentity renamed = identify_process(::getpid());
    EXPECT_GE(renamed.start_ticks, self.start_ticks);
    std::ifstream uptime("/proc/uptime");
    double seconds = 0;
    uptime >> seconds;
    EXPECT_LE(static_cast<double>(renamed.start_ticks),
              (seconds + 1) * static_cast<double>(::sysconf(_SC_CLK_TCK)));
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(ProcessIdentityTest, JudgesFromPartialInformation) {
  const ProcessIdentity recorded = {
      .pid = 42, .start_ticks = 1000, .boot_id = "b1", .pid_namespace = "pid:[1]"};
  const auto now = [&](auto change) {
    ProcessIdentity identity = recorded;
    change(identity);
    return identity;
  };
  EXPECT_FALSE(is_gone(recorded, recorded));
  EXPECT_TRUE(is_gone(recorded, now([](ProcessIdentity& p) { p.start_ticks = 0; })))
      << "the process does not exist";
  EXPECT_TRUE(is_gone(recorded, now([](ProcessIdentity& p) { p.start_ticks = 1001; })))
      << "another process has the pid";
  EXPECT_TRUE(is_gone(recorded, now([](ProcessIdentity& p) { p.boot_id = "b2"; })))
      << "the machine was rebooted";
  EXPECT_FALSE(is_gone(recorded, now([](ProcessIdentity& p) {
                         p.pid_namespace = "pid:[2]";
                         p.start_ticks = 0;
                       })))
      << "pids of another container have no meaning here";
  EXPECT_FALSE(is_gone(recorded, now([](ProcessIdentity& p) {
                         p.boot_id = "";
                         p.start_ticks = 0;
                       })))
      << "without /proc the process's state is unknown";
}

}  // namespace
}  // namespace rooftile
