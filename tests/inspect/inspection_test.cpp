#include "inspect/inspection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/inspect/excerpt.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

CompilerStatistic statistic(std::string name, std::uint64_t value) {
  return {.executable = "", .name = std::move(name), .description = "", .value = value};
}

CompiledExecutable executable(std::uint32_t subgroup_size, std::string assembly) {
  return {.name = "compute",
          .description = "",
          .subgroup_size = subgroup_size,
          .statistics = {statistic("VGPRs", 72), statistic("Spilled VGPRs", 45),
                         statistic("Scratch size", 5632), statistic("LDS size", 0),
                         statistic("Subgroups per SIMD", 13)},
          .texts = {{.name = "ACO IR", .description = "", .text = "..."},
                    {.name = "Assembly", .description = "", .text = std::move(assembly)}}};
}

KernelInspection kernel_of(const CompiledExecutable* compiled,
                           std::optional<AssemblySyntax> syntax = AssemblySyntax::kAco) {
  KernelInspection kernel{.kernel = "family=tiled tile_m=32",
                          .short_name = "tiled 32x32",
                          .signature = "f32.nt",
                          .origin = "default of tiled"};
  read_executable(kernel, compiled, syntax, IntegerProducts::kAreAddresses);
  return kernel;
}

Inspection whole() {
  const CompiledExecutable compiled = executable(32, excerpt("aco_f32_tiled"));
  Inspection inspection{.label = "navi",
                        .device = "Null hardware (RADV NAVI31)",
                        .driver = "radv Mesa 25.0",
                        .kernels = {kernel_of(&compiled)}};
  inspection.kernels[0].main_loop->outer_others = 17;
  for (const Compilation compilation : {Compilation::kIllegal, Compilation::kCrashed,
                                        Compilation::kTimedOut, Compilation::kOutOfMemory}) {
    inspection.kernels.push_back(
        {.kernel = fmt::format("family=naive tile_m={}", static_cast<int>(compilation)),
         .short_name = "naive",
         .signature = "f16.nn",
         .compilation = compilation,
         .message = "killed by signal 11"});
  }
  const CompiledExecutable cut = executable(64, "BB0:\n\ts_nop 0 ; 0\n");
  inspection.kernels.push_back(kernel_of(&cut));
  inspection.kernels.back().kernel = "family=register";
  return inspection;
}

TEST(InspectionTest, StatisticsAndMainLoopOfAnExecutable) {
  const CompiledExecutable compiled = executable(32, excerpt("aco_f32_tiled"));
  const KernelInspection kernel = kernel_of(&compiled);
  EXPECT_EQ(kernel.subgroup_size, 32u);
  EXPECT_EQ(kernel.facts.registers, 72);
  EXPECT_EQ(kernel.facts.subgroups_per_unit, 13);
  EXPECT_TRUE(uses_memory_for_registers(kernel.facts));
  ASSERT_EQ(kernel.loop_state, LoopState::kFound);
  EXPECT_EQ(kernel.main_loop->counts.multiply_adds, 8192);
}

TEST(InspectionTest, TheExecutableOfTheRequiredSubgroupSizeRuns) {
  const std::vector<CompiledExecutable> several = {executable(8, ""), executable(32, ""),
                                                   executable(16, "")};
  EXPECT_EQ(running_executable(several, 16), &several[2]);
  EXPECT_EQ(running_executable(several, 0), &several[1]);
  EXPECT_EQ(running_executable({}, 16), nullptr);
}

TEST(InspectionTest, WhatIsNotUnderstoodIsSaid) {
  EXPECT_EQ(kernel_of(nullptr).loop_state, LoopState::kNoAssembly);
  CompiledExecutable compiled = executable(32, excerpt("nak_f32_tiled"));
  KernelInspection kernel = kernel_of(&compiled);
  EXPECT_EQ(kernel.loop_state, LoopState::kNotUnderstood);
  EXPECT_THAT(kernel.loop_message, HasSubstr("line 1: "));
  EXPECT_EQ(kernel.main_loop, std::nullopt);
  EXPECT_EQ(kernel.facts.registers, 72) << "the statistics do not depend on the assembly";

  kernel = kernel_of(&compiled, std::nullopt);
  EXPECT_EQ(kernel.loop_state, LoopState::kNotUnderstood);
  EXPECT_THAT(kernel.loop_message, HasSubstr("no parser"));

  compiled.texts.pop_back();
  EXPECT_EQ(kernel_of(&compiled).loop_state, LoopState::kNoAssembly);
  compiled = executable(32, "BB0:\n\ts_nop 0 ; 0\n\ts_endpgm ; 0\n");
  EXPECT_EQ(kernel_of(&compiled).loop_state, LoopState::kNoWork);
}

TEST(InspectionTest, AListingOfSassIsAKernelWithItsRegisters) {
  const std::string listing = excerpt("sass_by_hand");
  const KernelInspection kernel = inspect_listing("main.sass", listing);
  EXPECT_EQ(kernel.facts.registers, 80);
  EXPECT_EQ(kernel.main_loop->counts.count(InstructionClass::kMatrix), 6);
  const Inspection one{.label = "", .device = "NVIDIA", .driver = "SASS", .kernels = {kernel}};
  EXPECT_THAT(inspection_text(one, Details::kForOneKernel),
              HasSubstr("    opcodes: 1 BAR, 2 BRA, 1 DEPBAR, 1 F2FP, 1 FFMA, 1 HFMA2, 6 HMMA, "));
  EXPECT_THAT([&] { inspect_listing("some.txt", "Dear all,\n"); },
              ::testing::ThrowsMessage<Error>("some.txt: line 1: there is no instruction"));
  EXPECT_THAT(
      [&] { inspect_listing("main.sass", "/*0000*/ EXIT ;\n"); },
      ::testing::ThrowsMessage<Error>("main.sass: no loop of the listing has multiply-adds"));
}

TEST(InspectionTest, TextTellsEveryOutcome) {
  const std::string text = inspection_text(whole(), Details::kForOneKernel);
  EXPECT_THAT(text, AllOf(HasSubstr("navi: Null hardware"), HasSubstr("illegal here: killed"),
                          HasSubstr("the driver's compiler crashed: killed by signal 11"),
                          HasSubstr("did not end in time"), HasSubstr("too much memory"),
                          HasSubstr("assembly is not understood: line 2"),
                          HasSubstr("0.664  and 17 others in the loop around it"),
                          Not(HasSubstr("Subgroups per SIMD"))));
  EXPECT_THAT(inspection_text(whole(), Details::kForAll),
              AllOf(HasSubstr("Subgroups per SIMD: 13"), HasSubstr("default of tiled"),
                    HasSubstr("    32  shared loads of 128 bits\n"),
                    HasSubstr("     2  constant loads of 128 bits a subgroup\n"),
                    HasSubstr("8192 multiply-adds of a subgroup in each trip")));
}

TEST(InspectionTest, OneKernelHasDetails) {
  Inspection one = whole();
  one.kernels.resize(1);
  EXPECT_THAT(inspection_text(one, Details::kForOneKernel), HasSubstr("Subgroups per SIMD: 13"));
}

TEST(InspectionTest, ADriverWithoutStatisticsIsSaid) {
  const Inspection none{
      .label = "", .device = "llvmpipe", .driver = "Mesa", .kernels = {kernel_of(nullptr)}};
  EXPECT_THAT(inspection_text(none, Details::kForOneKernel),
              HasSubstr("this driver gives neither statistics nor assembly of kernels"));
}

TEST(InspectionTest, StatisticsWithUnknownNamesArePrintedAndNotInterpreted) {
  CompiledExecutable compiled = executable(32, excerpt("aco_f32_tiled"));
  compiled.statistics = {statistic("Vector Registers (new)", 72), statistic("Overflow", 45)};
  const KernelInspection kernel = kernel_of(&compiled);
  EXPECT_EQ(kernel.facts.registers, std::nullopt);
  EXPECT_FALSE(uses_memory_for_registers(kernel.facts));
  EXPECT_EQ(kernel.loop_state, LoopState::kFound) << "the assembly does not depend on them";
  const Inspection one{.label = "", .device = "new", .driver = "Mesa", .kernels = {kernel}};
  EXPECT_THAT(inspection_text(one, Details::kForOneKernel),
              AllOf(ContainsRegex("f32.nt +- +- +- +- +- "),
                    HasSubstr("  Vector Registers (new): 72\n  Overflow: 45\n")));
}

TEST(InspectionTest, JsonComesBackWhole) {
  const Inspection before = whole();
  EXPECT_EQ(parse_inspection(inspection_json(before)), before);
  EXPECT_EQ(parse_inspection(inspection_json({})), Inspection{});
}

TEST(InspectionTest, OtherJsonIsRefused) {
  const auto refused = [](const std::string& text) {
    return message_of([&] { parse_inspection(text); }, ErrorCode::kUnsupported);
  };
  for (const char* text : {"", "[]", "{}", "{\"rooftile_inspect\":\"1\"}", "my shopping list"})
    EXPECT_THAT(refused(text), HasSubstr("no JSON of `rooftile inspect`")) << text;
  EXPECT_THAT(refused("{\"rooftile_inspect\":1}"), HasSubstr("no JSON of `rooftile inspect`"));
  EXPECT_THAT(refused("{\"rooftile_inspect\":2}"), HasSubstr("version 2"));
  std::string text = inspection_json(whole());
  text.replace(text.find("\"crashed\""), 9, "\"exploded\"");
  EXPECT_NE(refused(text), "");
  EXPECT_NE(refused(inspection_json(whole()).substr(0, 500)), "");
}

TEST(InspectionTest, ThePageHasAColumnForEachDeviceAndARowForEachKernel) {
  Inspection other = whole();
  other.device = "<b>{{rows}}</b>";
  other.kernels.erase(other.kernels.begin());
  const std::string page = inspection_page({whole(), other});
  EXPECT_THAT(page, AllOf(HasSubstr("RADV NAVI31"), HasSubstr("&lt;b&gt;"), Not(HasSubstr("<b>")),
                          HasSubstr("tiled 32x32"), HasSubstr("not inspected"),
                          HasSubstr("45 spilled"), HasSubstr("compiler crashed")));
}

Inspection device_with(std::initializer_list<std::pair<std::string, std::string>> kernels) {
  Inspection device{.label = "", .device = "a device", .driver = "", .kernels = {}};
  for (const auto& [parameters, short_name] : kernels)
    device.kernels.push_back(
        {.kernel = parameters, .short_name = short_name, .signature = "f16.nt"});
  return device;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(InspectionTest, KernelsOfOneNameShareARowAndThoseOfMostDevicesComeFirst) {
  const std::string page =
      inspection_page({device_with({{"only here", "naive 4x4"}, {"subgroup_size=64", "matrix"}}),
                       device_with({{"subgroup_size=32", "matrix"}})});
  EXPECT_EQ(count(page, "<tr>"), 1 + 2u) << "a row of heads, and two of kernels";
  EXPECT_LT(page.find(">matrix<"), page.find(">naive 4x4<"));
  EXPECT_THAT(page, AllOf(HasSubstr("title=\"subgroup_size=64\""),
                          HasSubstr("title=\"subgroup_size=32\"")));
  EXPECT_EQ(count(page, "not inspected"), 1u);

  // Two kernels of one name on the same device are both shown.
  const Inspection two = device_with({{"shared_pad=4", "tiled"}, {"shared_pad=8", "tiled"}});
  EXPECT_EQ(count(inspection_page({two, two}), "<tr>"), 1 + 2u);
  EXPECT_EQ(count(inspection_page({two, two}), "not inspected"), 0u);
}

}  // namespace
}  // namespace rooftile
