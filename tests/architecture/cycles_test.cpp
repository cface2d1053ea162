#include "tests/architecture/cycles.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Cycles, HeaderAndSourceAreOneUnit) {
  const std::vector<Cycle> found = cycles({{"a/store.h", "a/records.h", "#include \"a/records.h\""},
                                           {"a/open.h", "a/store.h", "#include \"a/store.h\""},
                                           {"a/file.cpp", "a/open.h", "#include \"a/open.h\""},
                                           {"a/file.cpp", "a/file.h", "#include \"a/file.h\""},
                                           {"a/store.cpp", "a/file.h", "#include \"a/file.h\""}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].units, ElementsAre("a/file", "a/open", "a/store"));
  EXPECT_THAT(found[0].way,
              ElementsAre("a/file uses a/open (a/file.cpp: #include \"a/open.h\")",
                          "a/open uses a/store (a/open.h: #include \"a/store.h\")",
                          "a/store uses a/file (a/store.cpp: #include \"a/file.h\")"));
}

TEST(Cycles, TwoIncludePathsToOneUnitAreNoCycle) {
  EXPECT_THAT(
      cycles({{"a.h", "b.h", ""}, {"a.h", "c.h", ""}, {"b.cpp", "d.h", ""}, {"c.h", "d.h", ""}}),
      IsEmpty());
}

TEST(Cycles, CyclesConnectedInOneDirectionAreSeparate) {
  const std::vector<Cycle> found = cycles({{"a.h", "b.h", ""},
                                           {"b.h", "a.h", ""},
                                           {"b.h", "c.h", ""},
                                           {"c.h", "d.h", ""},
                                           {"d.h", "c.h", ""}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].units, ElementsAre("a", "b"));
  EXPECT_THAT(found[1].units, ElementsAre("c", "d"));
}

// rooftile.h is the whole C ABI: it includes resident.h, packed.h and grouped.h at its end, which
// include it themselves. The C++ wrappers do the same. No other folder may have a cycle.
const std::map<std::string, std::size_t> kStillInCycles = {{"include", 8}};

TEST(Cycles, OnlyListedFoldersHaveIncludeCyclesUpToTheirLimit) {
  const std::filesystem::path source = ROOFTILE_SOURCE_DIR;
  const std::vector<Include> all =
      includes(source, Layers::from_table(source / "docs" / "architecture.md"));
  std::map<std::string, std::vector<Cycle>> by_folder;
  for (Cycle& cycle : cycles(all)) {
    const std::string& unit = cycle.units.front();
    by_folder[unit.substr(0, unit.find('/'))].push_back(std::move(cycle));
  }
  // Guards against an empty or misread tree, which would have no cycles.
  EXPECT_TRUE(by_folder.contains("include"));
  for (const auto& [folder, found] : by_folder) {
    std::size_t units = 0;
    std::string ways;
    for (const Cycle& cycle : found) {
      units += cycle.units.size();
      ways += fmt::format("{} units: {}\n  {}\n", cycle.units.size(), fmt::join(cycle.units, ", "),
                          fmt::join(cycle.way, "\n  "));
    }
    const auto listed = kStillInCycles.find(folder);
    const std::size_t allowed = listed == kStillInCycles.end() ? 0 : listed->second;
    EXPECT_LE(units, allowed) << folder << "/ has units that include each other in a cycle:\n"
                              << ways
                              << "Move what both sides need into a header that includes neither.";
  }
}

}  // namespace
}  // namespace rooftile
