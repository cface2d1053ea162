// The database returns the newest counters of each device, kernel and problem, and their origin.
#include <gmock/gmock.h>

#include "filled_store.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PerformanceCounter counter(const std::string& name, double value) {
  return {.name = name,
          .category = "Shaders",
          .description = "what " + name,
          .unit = "generic",
          .scope = "command",
          .value = value};
}

class StoredCounters : public StoreTest {
 protected:
  RowId problem(const Store& store) const {
    return store.find_problem(packed_problem(37, 129, 65)).value();
  }
  std::filesystem::path export_filled() const {
    Store store(folder_ / "theirs.db");
    const Filled filled = fill_store(store);
    store.export_to(folder_ / "export.db", std::vector<RowId>{filled.device});
    return folder_ / "export.db";
  }
};

TEST_F(StoredCounters, AreTheNewestOfTheirKernelAndProblem) {
  Store store(file());
  const Filled filled = fill_store(store);
  const RowId tall = store.find_problem(packed_problem(500, 3, 7)).value();
  EXPECT_EQ(store.counters(filled.device, filled.slow.id, problem(store)), std::nullopt);
  EXPECT_EQ(store.counters(filled.device, filled.fast.id, tall), std::nullopt);
  store.put_counters(filled.device, filled.fast.id, tall, {.passes = 1});
  const std::vector<PerformanceCounter> counted = {counter("b", -1e300), counter("a", 0.125)};
  store.put_counters(filled.device, filled.fast.id, problem(store),
                     {.passes = 7, .counters = counted});
  const auto known = store.counters(filled.device, filled.fast.id, problem(store));
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->passes, 7);
  EXPECT_EQ(known->counters, counted) << "counters keep their order";
  EXPECT_THAT(known->at, ::testing::MatchesRegex("20..-..-..T..:..:..\\....Z"));
  EXPECT_THAT(store.counters(filled.device, filled.fast.id, tall)->counters, IsEmpty());
  EXPECT_THAT(store.check(), IsEmpty());
  EXPECT_EQ(store.query("SELECT count(*) FROM counters").rows[0][0], "2")
      << "older counters are deleted";
}

TEST_F(StoredCounters, AFailedWriteKeepsTheOldOnes) {
  Store store(file());
  const Filled filled = fill_store(store);
  PerformanceCounter strange = counter("a", 1);
  strange.unit = "furlongs";
  const Error error = error_of([&] {
    store.put_counters(filled.device, filled.fast.id, problem(store),
                       {.passes = 1, .counters = {counter("b", 2), strange}});
  });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  const auto known = store.counters(filled.device, filled.fast.id, problem(store));
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->passes, 2);
  EXPECT_THAT(known->counters, SizeIs(2));
}

TEST_F(StoredCounters, AreImportedButNotUsedAsLocal) {
  Store store(file());
  store.import_from(export_filled());
  const RowId device = store.devices().at(0).id;
  const RowId fast = store.candidate_id(example_candidate("fast", 64));
  EXPECT_EQ(store.counters(device, fast, problem(store)), std::nullopt);
  EXPECT_EQ(store
                .query("SELECT counter, value, passes FROM kernel_counters WHERE origin IS NOT "
                       "NULL")
                .rows,
            (std::vector<std::vector<std::string>>{{"VRAM read size", "1000000.0", "2"},
                                                   {"VALU Busy", "87.5", "2"}}));
  store.import_from(export_filled());
  EXPECT_EQ(store.query("SELECT count(*) FROM counters").rows[0][0], "2");
  // A machine's own counters replace imported ones, and a repeated import does not replace them.
  store.put_counters(device, fast, problem(store), {.passes = 1, .counters = {counter("own", 3)}});
  store.import_from(folder_ / "export.db");
  const auto own = store.counters(device, fast, problem(store));
  ASSERT_TRUE(own.has_value());
  EXPECT_THAT(own->counters, ElementsAre(counter("own", 3)));
  EXPECT_THAT(store.check(), IsEmpty());
}

TEST_F(StoredCounters, NamesFromElsewhereAreCleaned) {
  {
    Store store(folder_ / "theirs.db");
    const Filled filled = fill_store(store);
    store.put_counters(filled.device, filled.fast.id, problem(store),
                       {.passes = 1, .counters = {counter("\x1b[2Jname", 1)}});
  }
  Store store(file());
  store.import_from(folder_ / "theirs.db");
  EXPECT_EQ(store.query("SELECT counter FROM kernel_counters").rows[0][0], "?[2Jname");
}

}  // namespace
}  // namespace rooftile
