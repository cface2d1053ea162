// Several processes use one file: no data is lost, no reader sees partial data, and no process is
// refused.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/file.h>

#include <optional>
#include <set>

#include "child_process.h"
#include "db/schema/schema.h"
#include "db/sqlite/database_locked.h"
#include "file_bytes.h"
#include "store_fixture.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kProcesses = 4;

class ProcessesTest : public StoreTest {
 protected:
  std::size_t rows(const std::string& table) {
    const std::string count =
        Store(file(), OpenMode::kReadOnly).query("SELECT count(*) FROM " + table).rows[0][0];
    return std::stoul(count);
  }
  /// Hashes of the files that were set aside.
  std::vector<std::string> set_aside() const {
    std::vector<std::string> kept;
    for (const auto& [name, hash] : contents(folder_.path()))
      if (name.find(".damaged-") != std::string::npos) kept.push_back(hash);
    return kept;
  }
  void remove_database() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      std::filesystem::remove(entry);
  }
};

TEST_F(ProcessesTest, MakingTheSameFileAtOnceWorksForAll) {
  for (int round = 0; round < 8; ++round) {
    remove_database();
    run_at_once(kProcesses, [&](int index) {
      Store store(file());
      EXPECT_EQ(store.note(), "");
      store.candidate_id(example_candidate(fmt::format("hash{}", index)));
      store.device_id(example_device());
    });
    EXPECT_EQ(rows("candidates"), kProcesses);
    EXPECT_EQ(rows("devices"), 1u) << "equal devices share one row";
    EXPECT_THAT(Store(file()).check(), IsEmpty());
  }
}

// SQLite refuses the switch to the write-ahead log without waiting only in a short interval, so
// that many files are needed to hit it.
TEST_F(ProcessesTest, CreatingManyFilesAtOnceFailsForNoProcess) {
  constexpr int kFiles = 80;
  run_at_once(kProcesses, [&](int) {
    for (int i = 0; i < kFiles; ++i) Store(folder_ / fmt::format("{}.db", i)).schema_version();
  });
}

TEST_F(ProcessesTest, DamageFoundByAllIsSetAsideOnce) {
  for (int round = 0; round < 8; ++round) {
    remove_database();
    write_file(file(), damaged_database(""));
    run_at_once(kProcesses, [&](int index) {
      Store store(file());
      store.candidate_id(example_candidate(fmt::format("hash{}", index)));
    });
    EXPECT_EQ(rows("candidates"), kProcesses) << "a process set the new file aside as well";
    EXPECT_THAT(set_aside(), ElementsAre(hash_hex(damaged_database(""))));
  }
}

// SQLite calls slow_open() with a file's name only, so what it needs besides is global.
std::string slow_name;
Signal* slow_opened = nullptr;
Signal* slow_continues = nullptr;

/// Opens a file; the first time that it is the one of that name, this takes until the other process
/// is done, or until that one has had time to set the file aside.
int slow_open(const char* name, int flags, int mode) {
  const int descriptor = ::open(name, flags, mode);
  if (name == slow_name) {
    slow_name.clear();
    slow_opened->send();
    slow_continues->wait_for_ms(500);
  }
  return descriptor;
}

TEST_F(ProcessesTest, AFileIsNotSetAsideWhileAnotherProcessIsOpeningIt) {
  write_file(file(), damaged_database(""));
  Signal opened, continues, ready, ended;
  slow_opened = &opened;
  slow_continues = &continues;
  ChildProcess slow([&] {
    slow_name = file();
    sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
    vfs->xSetSystemCall(vfs, "open", reinterpret_cast<sqlite3_syscall_ptr>(slow_open));
    Store store(file());
    ready.send();
    ended.wait();
    store.candidate_id(example_candidate("slow"));
  });
  opened.wait();
  ChildProcess fast([&] {
    Store store(file());
    store.candidate_id(example_candidate("fast"));
    continues.send();
    ready.wait();  // Closing the store will remove the log that the other process has.
  });
  EXPECT_EQ(fast.wait(), 0);
  ended.send();
  EXPECT_EQ(slow.wait(), 0);
  EXPECT_EQ(rows("candidates"), 2u);
  EXPECT_THAT(set_aside(), ElementsAre(hash_hex(damaged_database(""))));
}

TEST_F(ProcessesTest, OpeningEndsWhereAnotherProgramLocksTheFolderForEver) {
  Store(file()).candidate_id(example_candidate("h"));
  const int folder = ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(folder, LOCK_EX), 0);
  const StoreOptions patient = {.busy_timeout_ms = 20};
  EXPECT_EQ(Store(file(), patient).note(), "");
  write_file(file(), damaged_database(""));
  const Error error = error_of([&] { Store(file(), patient); });
  EXPECT_EQ(error.code(), ErrorCode::kDatabase);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("another program holds a lock"), HasSubstr(folder_.path().string())));
  EXPECT_EQ(bytes_of_file(file()), damaged_database(""));
  ::close(folder);
  EXPECT_THAT(Store(file(), patient).note(), HasSubstr("was damaged"));
}

TEST_F(ProcessesTest, NothingOfManyWritersIsLostAndReadersSeeWholeLists) {
  constexpr int kReaders = 2;
  constexpr int kRounds = 60;
  constexpr int kRanks = 3;
  // The main process opens no Store before it forks its children.
  run_at_once(kProcesses + kReaders, [&](int index) {
    Store store(file());
    const RowId device = store.device_id(example_device());
    const RowId shared_problem = store.problem_id(packed_problem(37, 129, 65));
    if (index >= kProcesses) {
      std::size_t seen = 0;
      for (int round = 0; round < kRounds; ++round) {
        std::map<std::string, std::size_t> entries;
        for (const RankedKernel& entry : store.winners(device)) ++entries[entry.kernel.bucket];
        for (const auto& [bucket, count] : entries) EXPECT_EQ(count, kRanks) << bucket;
        for (const TunedKernel& kernel : store.tuned_kernels(device, "1.0"))
          EXPECT_EQ(kernel.kernel_ns, kernel.rank + 1);
        const std::size_t found = store.samples(device, shared_problem).size();
        EXPECT_GE(found, seen) << "a sample was lost";
        seen = found;
      }
      return;
    }
    const RowId run = store.begin_run(device, "1.0", "{}");
    std::vector<RowId> candidates;
    for (int i = 0; i < kRanks; ++i) {
      candidates.push_back(store.candidate_id(example_candidate(fmt::format("hash{}", i))));
      store.put_certificate(device, candidates.back(), "1.0", true, "");
    }
    for (int round = 0; round < kRounds; ++round) {
      const RowId journal = store.journal_begin(device, candidates[0], ::getpid());
      store.add_sample(measured(run, candidates[0], shared_problem, round + 1));
      store.journal_end(journal);
      std::vector<WinnerRecord> ranked;
      for (int rank = 0; rank < kRanks; ++rank)
        ranked.push_back({.candidate = candidates[static_cast<std::size_t>(rank)],
                          .problem = shared_problem,
                          .rank = rank,
                          .kernel_ns = rank + 1.0});
      store.put_winners(device, "one bucket for all", ranked);
      store.log_untuned(device, packed_problem(3, 5, 7));
    }
    store.end_run(run, "finished");
  });

  Store store(file());
  EXPECT_THAT(store.check(), IsEmpty());
  const RowId device = store.find_device(example_device()).value();
  const std::vector<SampleRecord> samples =
      store.samples(device, store.problem_id(packed_problem(37, 129, 65)));
  std::map<RowId, std::multiset<double>> times;
  for (const SampleRecord& sample : samples) times[sample.run].insert(sample.kernel.median_ns);
  EXPECT_THAT(times, SizeIs(kProcesses));
  for (const auto& [run, of_run] : times) {
    EXPECT_THAT(of_run, SizeIs(kRounds));
    EXPECT_EQ(std::set<double>(of_run.begin(), of_run.end()).size(),
              static_cast<std::size_t>(kRounds));
  }
  EXPECT_THAT(store.journal(device), IsEmpty());
  EXPECT_THAT(store.winners(device), SizeIs(kRanks));
  ASSERT_THAT(store.untuned_problems(device), SizeIs(1));
  EXPECT_EQ(store.untuned_problems(device)[0].calls, kProcesses * kRounds);
}

TEST_F(ProcessesTest, ConcurrentImportsAddDataOnceAndLoseNothing) {
  constexpr int kTuners = 2, kImporters = 2, kReaders = 1;
  constexpr int kFiles = 6, kRounds = 40;
  const auto exported = [&](int i) { return folder_ / fmt::format("export{}.db", i); };
  for (int i = 0; i < kFiles; ++i) {
    ChildProcess([&] {
      DeviceProfile profile = example_device(fmt::format("device {}", i));
      profile.driver_version = static_cast<std::uint32_t>(100 + i);
      Store store(folder_ / fmt::format("theirs{}.db", i));
      const RowId device = store.device_id(profile);
      const RowId run = store.begin_run(device, "1.0", "{}");
      for (int sample = 1; sample <= kRounds; ++sample)
        store.add_sample(measured(run, store.candidate_id(example_candidate("shared")),
                                  store.problem_id(packed_problem(37, 129, 65)), sample));
      store.export_to(exported(i), std::vector<RowId>{device});
    }).wait();
  }
  run_at_once(kTuners + kImporters + kReaders, [&](int index) {
    Store store(file());
    const Problem problem = packed_problem(37, 129, 65);
    const RowId device = store.device_id(example_device());
    if (index < kTuners) {
      const RowId run = store.begin_run(device, "1.0", "{}");
      const RowId candidate = store.candidate_id(example_candidate("shared"));
      for (int round = 1; round <= kRounds; ++round) {
        const RowId journal = store.journal_begin(device, candidate, ::getpid());
        store.add_sample(measured(run, candidate, store.problem_id(problem), round));
        store.journal_end(journal);
      }
    } else if (index < kTuners + kImporters) {
      for (int i = 0; i < kFiles; ++i) store.import_from(exported(i));
    } else {
      for (int round = 0; round < kRounds; ++round) {
        const std::size_t files = store.query("SELECT * FROM imports").rows.size();
        const std::string samples =
            store
                .query(
                    "SELECT count(*) FROM samples AS s JOIN runs AS r ON r.id = s.run_id"
                    " WHERE r.origin_id IS NOT NULL")
                .rows[0][0];
        EXPECT_GE(std::stoul(samples), files * kRounds);
        EXPECT_EQ(std::stoul(samples) % kRounds, 0u) << "a reader saw part of an import";
      }
    }
  });
  Store store(file());
  EXPECT_THAT(store.check(), IsEmpty());
  EXPECT_THAT(store.query("SELECT * FROM imports").rows, SizeIs(kFiles));
  EXPECT_EQ(rows("samples"), std::size_t{(kTuners + kFiles) * kRounds});
  EXPECT_EQ(rows("runs"), std::size_t{kTuners + kFiles});
  EXPECT_EQ(rows("candidates"), 1u);
  const RowId device = store.find_device(example_device()).value();
  EXPECT_THAT(store.samples(device, store.problem_id(packed_problem(37, 129, 65))),
              SizeIs(kTuners * kRounds));
}

TEST_F(ProcessesTest, KilledWriterLeavesWhatItHadCommitted) {
  Signal three_written;
  ChildProcess writer([&] {
    Store store(file());
    const RowId run = store.begin_run(store.device_id(example_device()), "1.0", "{}");
    const RowId candidate = store.candidate_id(example_candidate("abc"));
    const RowId problem = store.problem_id(packed_problem(37, 129, 65));
    for (int i = 1; i <= 3; ++i) store.add_sample(measured(run, candidate, problem, i));
    Store::Transaction unfinished(store);
    store.add_sample(measured(run, candidate, problem, 4));
    three_written.send();
    Signal().wait();  // waits until it is killed
  });
  three_written.wait();
  writer.kill();
  EXPECT_EQ(writer.wait(), -SIGKILL);

  Store store(file());
  EXPECT_EQ(store.note(), "");
  EXPECT_THAT(store.check(), IsEmpty());
  EXPECT_EQ(store.query("SELECT group_concat(kernel_ns) FROM samples").rows[0][0], "1.0,2.0,3.0");
}

TEST_F(ProcessesTest, LockHeldTooLongIsAClearError) {
  Store patient(file());
  Store impatient(file(), {.busy_timeout_ms = 1});
  const RowId device = patient.device_id(example_device());
  {
    Store::Transaction transaction(patient);
    const Error error = error_of([&] { impatient.begin_run(device, "1.0", "{}"); });
    EXPECT_EQ(error.code(), ErrorCode::kDatabase);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr(file().string()), HasSubstr("locked"), HasSubstr("fuser")));
    EXPECT_EQ(error_of([&] { Store::Transaction second(impatient); }).code(), ErrorCode::kDatabase);
    EXPECT_THAT(impatient.devices(), SizeIs(1)) << "readers must not wait for writers";
  }
  impatient.begin_run(device, "1.0", "{}");
}

TEST_F(ProcessesTest, WriterWaitsForAnotherOnesTransaction) {
  Signal locked, may_commit;
  ChildProcess writer([&] {
    Store store(file());
    Store::Transaction transaction(store);
    store.device_id(example_device());
    locked.send();
    may_commit.wait();
    transaction.commit();
  });
  locked.wait();
  Store store(file());
  may_commit.send();
  store.candidate_id(example_candidate("abc"));
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_THAT(store.devices(), SizeIs(1));
}

TEST_F(ProcessesTest, AChildForkedWhileAStoreIsOpenOpensNone) {
  const auto opens_one = [&] { Store(file()).devices(); };
  std::optional<Store> open(file());
  ChildProcess refused([&] { EXPECT_THROW(opens_one(), DatabaseLocked); });
  EXPECT_EQ(refused.wait(), 0);
  open.reset();
  ChildProcess allowed(opens_one);
  EXPECT_EQ(allowed.wait(), 0);
}

TEST_F(ProcessesTest, FileSetAsideUnderAnOpenStoreIsNotWrittenToByMistake) {
  Store old(file());
  old.device_id(example_device());
  // Renames the file as recovery does, while another process still uses it.
  for (const char* suffix : {"-wal", "-shm", ""})
    std::filesystem::rename(file().string() + suffix, (folder_ / "aside.db").string() + suffix);
  {
    Store fresh(file());
    fresh.candidate_id(example_candidate("abc"));
    { Store closing = std::move(old); }
    fresh.candidate_id(example_candidate("abd"));
    EXPECT_THAT(fresh.devices(), IsEmpty());
    EXPECT_THAT(fresh.check(), IsEmpty());
  }
  EXPECT_EQ(rows("candidates"), 2u);
  EXPECT_THAT(Store(folder_ / "aside.db").devices(), SizeIs(1));
}

}  // namespace
}  // namespace rooftile
