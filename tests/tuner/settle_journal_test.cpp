// Which candidates are blamed for the journal entries that a tuner leaves behind.
#include "tuner/worker/settle_journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include "tests/db/child_process.h"
#include "tests/db/store_fixture.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SettleJournalTest : public StoreTest {
 protected:
  /// A tuner that stops between journal entry and launch.
  void stop_after_the_journal(const char* hash) {
    ChildProcess tuner([&] {
      Store store(file());
      store.journal_begin(store.device_id(example_device()),
                          store.candidate_id(example_candidate(hash)), ::getpid());
    });
    EXPECT_EQ(tuner.wait(), 0);
  }
  void settle() {
    Store store(file());
    messages_.clear();
    settle_journal(store, store.device_id(example_device()),
                   [&](const std::string& message) { messages_.push_back(message); });
  }
  std::vector<std::string> black_list_reasons() {
    Store store(file());
    std::vector<std::string> reasons;
    for (const BlackListRecord& entry : store.black_listed(store.device_id(example_device())))
      reasons.push_back(entry.reason);
    return reasons;
  }
  std::vector<JournalRecord> journal() {
    Store store(file());
    return store.journal(store.device_id(example_device()));
  }
  std::vector<std::string> messages_;
};

TEST_F(SettleJournalTest, ATunersAbnormalEndCountsOnce) {
  stop_after_the_journal("abc");
  stop_after_the_journal("def");
  for (int start = 0; start < 2; ++start) {  // A restart does not count as a second death.
    settle();
    EXPECT_THAT(messages_, ElementsAre(HasSubstr("is measured again, last"),
                                       HasSubstr("is measured again, last")));
    EXPECT_THAT(black_list_reasons(), IsEmpty());
    EXPECT_THAT(journal(), SizeIs(2));
  }
  stop_after_the_journal("abc");
  settle();
  EXPECT_THAT(black_list_reasons(), ElementsAre(HasSubstr("the tuner ended abnormally twice")));
  EXPECT_THAT(journal(), SizeIs(1));
}

TEST_F(SettleJournalTest, ARestartOfTheMachineBlocksAtOnce) {
  stop_after_the_journal("abc");
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE journal SET boot_id = 'the boot before'");
  settle();
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("black-listed")));
  EXPECT_THAT(black_list_reasons(), ElementsAre(HasSubstr("the machine stopped")));
  EXPECT_THAT(journal(), IsEmpty());
}

TEST_F(SettleJournalTest, EntriesOfARunningTunerAreKept) {
  Store store(file());
  const RowId device = store.device_id(example_device());
  const RowId candidate = store.candidate_id(example_candidate("abc"));
  for (int i = 0; i < 3; ++i) store.journal_begin(device, candidate, ::getpid());
  settle();
  EXPECT_THAT(messages_, IsEmpty());
  EXPECT_THAT(black_list_reasons(), IsEmpty());
  EXPECT_THAT(journal(), SizeIs(3));
}

}  // namespace
}  // namespace rooftile
