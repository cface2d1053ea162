// A schedule of power cuts: after every single step that SQLite takes on the disk while a database
// is made, filled as by a tuning run, and closed. Whatever the cut takes of what was not synced,
// the file is sound, and what has to survive is there. The number of points tried is printed; none
// is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "file_bytes.h"
#include "filled_store.h"
#include "tests/support/disk_log.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;

/// A journal entry that was said to be on the disk from a number of steps on.
struct Promise {
  std::size_t from, to;
  RowId journal;
};

class PowerLossTest : public StoreTest {
 protected:
  /// Opens what a cut leaves, in a folder of its own.
  void expect_sound(const Disk& disk, const std::vector<Promise>& promises, std::size_t step) {
    const ScratchFolder folder;
    for (const auto& [name, bytes] : disk)
      if (!name.ends_with("-shm")) write_file(folder / name, bytes);
    Store store(folder / "rooftile.db");
    EXPECT_EQ(store.note(), "");
    EXPECT_THAT(store.check(), IsEmpty());
    std::set<RowId> journals;
    for (const DeviceRecord& device : store.devices())
      for (const JournalRecord& entry : store.journal(device.id)) journals.insert(entry.id);
    for (const Promise& promise : promises) {
      const bool holds = step >= promise.from && step < promise.to;
      EXPECT_TRUE(!holds || journals.contains(promise.journal)) << "journal " << promise.journal;
    }
  }

  /// Each step loses in each of the three ways or, to save time, in one of them in turn.
  enum class Ways : std::uint8_t { kAll, kInTurn };
  void cut_at_every_step(const Disk& before, const std::vector<DiskStep>& steps,
                         const std::vector<Promise>& promises, Ways ways) {
    int points = 0;
    for (std::size_t step = 0; step <= steps.size(); ++step)
      for (const Loss loss : {Loss::kNothing, Loss::kAllUnsynced, Loss::kSomeUnsynced}) {
        if (ways == Ways::kInTurn && step % 3 != static_cast<std::size_t>(loss)) continue;
        SCOPED_TRACE(testing::Message() << "step " << step << " of " << steps.size() << ", loss "
                                        << static_cast<int>(loss));
        expect_sound(disk_after(before, steps, step, loss, step), promises, step);
        ++points;
        ASSERT_FALSE(HasFailure());
      }
    RecordProperty("points", points);
    std::printf("%d points tried, none skipped\n", points);
  }
};

TEST_F(PowerLossTest, LeavesASoundFileAtEveryStepOfATuningRun) {
  Filled filled;
  {
    Store store(file());
    filled = fill_store(store);
  }
  const Disk before = {{file().filename(), bytes_of_file(file())}};
  std::vector<DiskStep> steps;
  std::vector<Promise> promises;
  {
    const DiskLog log;
    {
      Store store(file());
      const RowId problem = store.problem_id(packed_problem(37, 129, 65));
      const RowId run = store.begin_run(filled.device, "1.0", "{}");
      for (const CandidateRecord& candidate : {filled.slow, filled.fast}) {
        const RowId journal = store.journal_begin(filled.device, candidate.id, 1);
        promises.push_back({log.steps().size(), 0, journal});
        store.add_sample(measured(run, candidate.id, problem, 500));
        promises.back().to = log.steps().size();
        store.journal_end(journal);
      }
      store.put_certificate(filled.device, filled.slow.id, "1.1", true, "all");
      const std::vector<WinnerRecord> ranked = {
          {.candidate = filled.slow.id, .problem = problem, .rank = 0, .kernel_ns = 500}};
      store.put_winners(filled.device, filled.bucket, ranked);
      store.end_run(run, "finished");
    }
    steps = log.steps();
  }
  ASSERT_EQ(promises.size(), 2u);
  cut_at_every_step(before, steps, promises, Ways::kAll);
}

TEST_F(PowerLossTest, LeavesASoundFileAtEveryStepOfItsCreation) {
  std::vector<DiskStep> steps;
  {
    const DiskLog log;
    { Store store(file()); }
    steps = log.steps();
  }
  cut_at_every_step({}, steps, {}, Ways::kInTurn);
}

}  // namespace
}  // namespace rooftile
