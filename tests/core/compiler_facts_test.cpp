// Each test holds a list as one driver reports it, with that driver's names and meanings.
#include "core/compiler_facts.h"

#include <gmock/gmock.h>

#include <limits>

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

using Value = decltype(CompilerStatistic::value);

std::vector<CompilerStatistic> list(
    std::initializer_list<std::pair<std::string_view, std::uint64_t>> pairs) {
  std::vector<CompilerStatistic> statistics;
  for (const auto& [name, value] : pairs)
    statistics.push_back({.executable = "compute",
                          .name = std::string(name),
                          .description = "",
                          .value = std::uint64_t{value}});
  return statistics;
}

CompilerFacts facts_of(std::initializer_list<std::pair<std::string_view, std::uint64_t>> pairs) {
  return compiler_facts(list(pairs));
}

CompilerFacts facts_of(std::string name, Value value) {
  const std::vector<CompilerStatistic> statistics = {
      {.executable = "", .name = std::move(name), .description = "", .value = value}};
  return compiler_facts(statistics);
}

TEST(CompilerFactsTest, Nvidia) {
  const CompilerFacts facts = facts_of({{"Register Count", 168},
                                        {"Binary Size", 24320},
                                        {"Stack Size", 0},
                                        {"Local Memory Size", 16},
                                        {"Shared Memory Size", 33792}});
  EXPECT_THAT(facts.registers, Optional(168));
  EXPECT_THAT(facts.scratch_bytes, Optional(16));
  EXPECT_THAT(facts.shared_bytes, Optional(33792));
  EXPECT_EQ(facts.spilled_registers, std::nullopt);
  EXPECT_EQ(facts.subgroups_per_unit, std::nullopt);
  EXPECT_EQ(spill_reason(facts), std::nullopt) << "local memory may hold an array";
}

TEST(CompilerFactsTest, Nvidia580) {
  EXPECT_THAT(facts_of({{"Local Memory Size", 68719476736}}).scratch_bytes, Optional(0));
  EXPECT_THAT(facts_of({{"Local Memory Size", 68719476784}}).scratch_bytes, Optional(48));
}

TEST(CompilerFactsTest, Radv) {
  const CompilerFacts facts = facts_of({{"Driver pipeline hash", 0xfedcba9876543210},
                                        {"SGPRs", 128},
                                        {"VGPRs", 256},
                                        {"Spilled SGPRs", 3},
                                        {"Spilled VGPRs", 12},
                                        {"Code size", 40960},
                                        {"LDS size", 16384},
                                        {"Scratch size", 3072},
                                        {"Subgroups per SIMD", 4},
                                        {"Pre-Sched SGPRs", 60},
                                        {"Pre-Sched VGPRs", 300}});
  EXPECT_THAT(facts.registers, Optional(256));
  EXPECT_THAT(facts.scalar_registers, Optional(128));
  EXPECT_THAT(facts.spilled_registers, Optional(12));
  EXPECT_THAT(facts.spilled_scalar_registers, Optional(3));
  EXPECT_THAT(facts.scratch_bytes, Optional(3072));
  EXPECT_THAT(facts.shared_bytes, Optional(16384));
  EXPECT_THAT(facts.subgroups_per_unit, Optional(4));
  EXPECT_THAT(spill_reason(facts), Optional(HasSubstr("12 registers")));
  EXPECT_EQ(facts.statistics.size(), 11u);
}

TEST(CompilerFactsTest, SpilledScalarRegistersStayInRegisters) {
  EXPECT_EQ(spill_reason(facts_of({{"Spilled SGPRs", 40}, {"Spilled VGPRs", 0}})), std::nullopt);
}

TEST(CompilerFactsTest, AmdProprietaryAndAmdvlk) {
  const CompilerFacts facts = facts_of({{"numUsedVgprs", 96},
                                        {"numUsedSgprs", 40},
                                        {"ldsSizePerLocalWorkGroup", 65536},
                                        {"ldsUsageSizeInBytes", 8192},
                                        {"scratchMemUsageInBytes", 64}});
  EXPECT_THAT(facts.registers, Optional(96));
  EXPECT_THAT(facts.scalar_registers, Optional(40));
  EXPECT_THAT(facts.shared_bytes, Optional(8192)) << "used bytes, not available ones";
  EXPECT_THAT(facts.scratch_bytes, Optional(64));
  EXPECT_EQ(spill_reason(facts), std::nullopt);
}

TEST(CompilerFactsTest, AnvOldAndNew) {
  const CompilerFacts old = facts_of({{"Instruction Count", 900},
                                      {"SEND Count", 40},
                                      {"Loop Count", 1},
                                      {"Cycle Count", 12345},
                                      {"Spill Count", 7},
                                      {"Fill Count", 9},
                                      {"Scratch Memory Size", 1024},
                                      {"Max live registers", 140},
                                      {"Workgroup Memory Size", 4096}});
  EXPECT_THAT(old.spill_stores, Optional(7));
  EXPECT_THAT(old.registers, Optional(140));
  EXPECT_THAT(old.shared_bytes, Optional(4096));
  EXPECT_THAT(spill_reason(old), Optional(HasSubstr("7 stores")));

  const CompilerFacts current = facts_of({{"Spills", 0},
                                          {"Fills", 0},
                                          {"Scratch Memory Size", 2048},
                                          {"Max live registers", 90},
                                          {"GRF registers", 128}});
  EXPECT_THAT(current.registers, Optional(128))
      << "allocated, not live registers count, at any place in the list";
  EXPECT_THAT(current.scratch_bytes, Optional(2048));
  EXPECT_EQ(spill_reason(current), std::nullopt) << "scratch memory without a spill is an array";
}

TEST(CompilerFactsTest, TurnipPanvkNvkAndOthers) {
  const CompilerFacts turnip = facts_of(
      {{"Max Waves Per Core", 8}, {"Registers used", 24}, {"STP Count", 5}, {"LDP Count", 5}});
  EXPECT_THAT(turnip.registers, Optional(24));
  EXPECT_THAT(turnip.subgroups_per_unit, Optional(8));
  EXPECT_EQ(spill_reason(turnip), std::nullopt) << "private stores may be other than spills";

  const CompilerFacts panvk =
      facts_of({{"Threads", 1}, {"Spills", 2}, {"Fills", 6}, {"Registers used", 64}});
  EXPECT_THAT(panvk.registers, Optional(64));
  EXPECT_THAT(spill_reason(panvk), Optional(HasSubstr("2 stores")));

  const CompilerFacts nvk = facts_of({{"Max warps/SM", 32},
                                      {"Number of GPRs", 64},
                                      {"Spills to memory", 0},
                                      {"Spills to reg", 9},
                                      {"SLM size", 48}});
  EXPECT_THAT(nvk.subgroups_per_unit, Optional(32));
  EXPECT_THAT(nvk.scratch_bytes, Optional(48));
  EXPECT_EQ(spill_reason(nvk), std::nullopt);

  const CompilerFacts v3dv = facts_of({{"Thread Count", 4}, {"Spill Size", 64}, {"TMU Spills", 4}});
  EXPECT_THAT(spill_reason(v3dv), Optional(HasSubstr("4 stores")));
}

TEST(CompilerFactsTest, LavapipeReportsNoFacts) {
  EXPECT_EQ(facts_of({}), CompilerFacts());
  EXPECT_EQ(spill_reason(CompilerFacts()), std::nullopt);
}

TEST(CompilerFactsTest, UnknownNamesAreKeptAndNotInterpreted) {
  const CompilerFacts facts = facts_of({{"vgprs", 1}, {"VGPRs ", 2}, {"", 3}});
  EXPECT_EQ(facts.registers, std::nullopt);
  EXPECT_EQ(facts.statistics.size(), 3u);
}

TEST(CompilerFactsTest, TheLargestValueOfSeveralExecutablesCounts) {
  EXPECT_THAT(facts_of({{"VGPRs", 32}, {"VGPRs", 96}, {"VGPRs", 64}}).registers, Optional(96));
}

TEST(CompilerFactsTest, ValuesThatAreNotCountsAreIgnored) {
  EXPECT_THAT(facts_of("VGPRs", std::int64_t{7}).registers, Optional(7));
  EXPECT_THAT(facts_of("VGPRs", 7.0).registers, Optional(7));
  for (const Value& value :
       {Value(true), Value(std::int64_t{-1}), Value(std::numeric_limits<std::uint64_t>::max()),
        Value(-1.0), Value(1e300), Value(std::numeric_limits<double>::infinity()),
        Value(std::numeric_limits<double>::quiet_NaN())})
    EXPECT_EQ(facts_of("VGPRs", value).registers, std::nullopt) << value.index();
}

}  // namespace
}  // namespace rooftile
