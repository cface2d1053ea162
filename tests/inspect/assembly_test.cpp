// Main loops of stored assembly. The expected counts were checked by hand, as excerpts/README.md
// describes.
#include "inspect/assembly.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "inspect/main_loop.h"
#include "tests/inspect/excerpt.h"

namespace rooftile {
namespace {

using enum InstructionClass;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr MemoryAccess load(MemorySpace space, int bits) {
  return {.kind = kLoad, .space = space, .bits = bits, .per_subgroup = false};
}
constexpr MemoryAccess store(MemorySpace space, int bits) {
  return {.kind = kStore, .space = space, .bits = bits, .per_subgroup = false};
}
constexpr MemoryAccess uniform_load(int bits) {
  return {.kind = kLoad, .space = MemorySpace::kConstant, .bits = bits, .per_subgroup = true};
}
constexpr auto kShared = MemorySpace::kShared, kGlobal = MemorySpace::kGlobal,
               kScratch = MemorySpace::kScratch;

InstructionCounts loop_of(AssemblySyntax syntax, const std::string& name,
                          std::uint32_t subgroup_size = 32) {
  const Program program = parse_assembly(syntax, excerpt(name), {.subgroup_size = subgroup_size});
  const auto loop = main_loop(program);
  EXPECT_TRUE(loop.has_value()) << name;
  return loop ? loop->counts : InstructionCounts{};
}

/// Matrix operations, multiply-adds, vector, scalar, branches, waits, barriers, delays, unknown.
std::vector<int> classes(const InstructionCounts& counts) {
  std::vector<int> all;
  for (const InstructionClass kind :
       {kMatrix, kMultiplyAdd, kVector, kScalar, kBranch, kWait, kBarrier, kDelay, kUnknown})
    all.push_back(counts.count(kind));
  return all;
}

TEST(AcoTest, TiledFloat32) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kAco, "aco_f32_tiled");
  // 115 pairs of two multiply-adds and 26 multiply-adds alone or beside a move.
  EXPECT_THAT(classes(counts), ElementsAre(0, 256, 82, 12, 2, 22, 2, 18, 0));
  EXPECT_EQ(counts.shared_issues, 116);
  EXPECT_EQ(counts.multiply_adds, 4 * 4 * 16 * 32);
  EXPECT_EQ(counts.others(), 170);
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kShared, 128), 32), Pair(load(kGlobal, 128), 4),
                                   Pair(uniform_load(128), 2), Pair(store(kShared, 32), 8),
                                   Pair(store(kShared, 64), 4)));
}

TEST(AcoTest, MatrixFloat16) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kAco, "aco_f16_matrix");
  EXPECT_THAT(classes(counts), ElementsAre(2, 0, 83, 12, 2, 7, 2, 15, 0));
  EXPECT_THAT(counts.matrix, ElementsAre(Pair("v_wmma_f32_16x16x16_f16", 2)));
  EXPECT_EQ(counts.multiply_adds, 2 * 16 * 16 * 16);
  EXPECT_DOUBLE_EQ(counts.others_per_product().value(), 118 / 2.0);
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kShared, 128), 6), Pair(load(kGlobal, 128), 2),
                                   Pair(uniform_load(128), 2), Pair(store(kShared, 128), 2)));
}

TEST(AcoTest, SpilledRegisters) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kAco, "aco_f32_spills");
  EXPECT_THAT(classes(counts), ElementsAre(0, 224, 30, 11, 2, 32, 0, 4, 0));
  EXPECT_EQ(counts.accesses.at(load(kScratch, 32)), 29);
  EXPECT_EQ(counts.accesses.at(store(kScratch, 32)), 1);
  EXPECT_EQ(counts.accesses.at(load(kGlobal, 32)), 30);
}

TEST(AcoTest, Quantized) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kAco, "aco_q4_vector");
  EXPECT_THAT(classes(counts), ElementsAre(0, 8, 100, 12, 2, 11, 0, 12, 0));
  EXPECT_EQ(counts.multiply_adds, 8 * 32);
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kGlobal, 32), 10), Pair(uniform_load(128), 3)));
}

TEST(BrwTest, TiledFloat32OfTigerLake) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kBrw, "brw_f32_tiled", 16);
  EXPECT_THAT(classes(counts), ElementsAre(0, 256, 163, 6, 2, 87, 4, 0, 0));
  EXPECT_EQ(counts.multiply_adds, 4 * 4 * 16 * 16);
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kShared, 128), 32), Pair(load(kGlobal, 128), 4),
                                   Pair(store(kShared, 32), 16)));
}

TEST(BrwTest, MatrixFloat16WithSpilledRegisters) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kBrw, "brw_f16_matrix_spills", 16);
  EXPECT_THAT(classes(counts), ElementsAre(2, 0, 338, 34, 2, 209, 4, 0, 0));
  EXPECT_EQ(counts.multiply_adds, 2 * 8 * 16 * 16);
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kShared, 32), 4), Pair(load(kShared, 128), 4),
                                   Pair(load(kGlobal, 64), 6), Pair(load(kScratch, 32), 16),
                                   Pair(store(kShared, 64), 6), Pair(store(kScratch, 32), 16)));
}

TEST(BrwTest, Quantized) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kBrw, "brw_q4_vector", 16);
  EXPECT_THAT(classes(counts), ElementsAre(0, 8, 122, 0, 2, 59, 0, 0, 0));
  EXPECT_THAT(counts.accesses, ElementsAre(Pair(load(kGlobal, 32), 10)));
}

TEST(NakTest, TiledFloat32) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kNak, "nak_f32_tiled");
  EXPECT_THAT(classes(counts), ElementsAre(0, 256, 107, 5, 2, 2, 2, 4, 0));
  EXPECT_EQ(counts.multiply_adds, 4 * 4 * 16 * 32);
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kShared, 128), 32), Pair(load(kGlobal, 128), 4),
                                   Pair(uniform_load(32), 2), Pair(store(kShared, 32), 16)));
}

TEST(NakTest, MatrixFloat16) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kNak, "nak_f16_matrix");
  EXPECT_THAT(classes(counts), ElementsAre(4, 0, 88, 7, 82, 2, 2, 20, 0));
  EXPECT_EQ(counts.multiply_adds, 4 * 16 * 8 * 16);
  // Each of the loads of fragments takes four 8x8 matrices.
  EXPECT_EQ(counts.accesses.at(load(kShared, 128)), 3);
}

TEST(NakTest, SpilledRegisters) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kNak, "nak_f32_spills");
  EXPECT_EQ(counts.count(kMultiplyAdd), 224);
  EXPECT_EQ(counts.accesses.at(load(kScratch, 32)), 35);
  EXPECT_EQ(counts.accesses.at(store(kScratch, 32)), 35);
}

TEST(NakTest, Quantized) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kNak, "nak_q4_vector");
  EXPECT_THAT(classes(counts), ElementsAre(0, 8, 138, 0, 6, 0, 0, 1, 0));
  EXPECT_THAT(counts.accesses, ElementsAre(Pair(load(kGlobal, 32), 10)));
}

TEST(SassTest, MainLoopOfAListingThatWasWrittenByHand) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kSass, "sass_by_hand");
  EXPECT_THAT(classes(counts), ElementsAre(6, 2, 6, 1, 2, 2, 1, 0, 1));
  EXPECT_THAT(counts.matrix, ElementsAre(Pair("HMMA.16816.F32", 6)));
  EXPECT_THAT(counts.unknown, ElementsAre(Pair("NEWOP.X", 1)));
  EXPECT_EQ(counts.multiply_adds, 6 * 16 * 8 * 16 + (1 + 2) * 32);
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kShared, 16), 1), Pair(load(kShared, 64), 2),
                                   Pair(load(kShared, 128), 3), Pair(load(kGlobal, 128), 2),
                                   Pair(load(kScratch, 32), 1), Pair(store(kShared, 128), 2),
                                   Pair(store(kScratch, 32), 1)));
  // The move that is written as a multiplication is one.
  EXPECT_EQ(counts.opcodes.at("MOV"), 2);
  EXPECT_EQ(counts.opcodes.at("IMAD.WIDE"), 1);
  EXPECT_EQ(counts.opcodes.at("LDSM.16.M88.4"), 2);
}

TEST(SassTest, MatrixFloat16OfAnOlderDisassembler) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kSass, "sass_f16_matrix");
  // Nine additions (VIADD) are missing, one of which the loop begins with.
  EXPECT_THAT(classes(counts), ElementsAre(16, 0, 9, 3, 1, 0, 2, 2, 9));
  EXPECT_THAT(counts.matrix, ElementsAre(Pair("HMMA.16816.F32", 16)));
  EXPECT_THAT(counts.unknown, ElementsAre(Pair("(missing)", 9)));
  EXPECT_EQ(counts.others(), 9 + 3 + 1 + 2 + 9 + 8 + 4 + 2 + 4);
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kShared, 128), 8), Pair(load(kGlobal, 128), 4),
                                   Pair(uniform_load(64), 2), Pair(store(kShared, 128), 4)));
}

TEST(SassTest, WeightsOf4BitsInALoopThatACallLeaves) {
  const InstructionCounts counts = loop_of(AssemblySyntax::kSass, "sass_q4_vector");
  EXPECT_THAT(classes(counts), ElementsAre(0, 32, 252, 3, 2, 0, 0, 0, 12));
  EXPECT_EQ(counts.multiply_adds, 32 * 32);
  EXPECT_EQ(counts.opcodes.at("LOP3.LUT"), 93);
  EXPECT_EQ(counts.opcodes.at("FADD.FTZ"), 64);
  EXPECT_EQ(counts.opcodes.at("MOV"), 3);  // two IMAD.MOV, an IMAD.U32 of zeros
  EXPECT_THAT(counts.accesses,
              UnorderedElementsAre(Pair(load(kGlobal, 128), 8), Pair(uniform_load(64), 2)));
}

InstructionCounts whole(AssemblySyntax syntax, const std::string& text,
                        IntegerProducts integers = IntegerProducts::kAreAddresses) {
  return all_counts(
      parse_assembly(syntax, text, {.subgroup_size = 32, .integer_products = integers}));
}

/// A program of ACO of these instructions.
std::string aco(std::initializer_list<std::string> instructions) {
  std::string text = "BB0:\n";
  for (const std::string& instruction : instructions) text += "\t" + instruction + " ; 00000000\n";
  return text + "\ts_endpgm ; bfb00000\n";
}

TEST(AcoTest, UnknownOpcodesAreCountedByName) {
  const InstructionCounts counts =
      whole(AssemblySyntax::kAco, aco({"x_new_b32 v1, v2", "v_fma_new_f8 v1, v2", "v_mov_b32 v1, 0",
                                       "v_wmma_new_f8 v[0:7], v1"}));
  EXPECT_THAT(counts.unknown, UnorderedElementsAre(Pair("x_new_b32", 1), Pair("v_fma_new_f8", 1),
                                                   Pair("v_wmma_new_f8", 1)));
  EXPECT_EQ(counts.count(kVector), 1);
}

TEST(AcoTest, InstructionsThatTheDisassemblerDoesNotKnowAreUnknown) {
  EXPECT_THAT(whole(AssemblySyntax::kAco,
                    "BB0:\n(invalid instruction)                          ; d76f0006 a11a0c04\n"
                    "\ts_endpgm ; bfb00000\n")
                  .unknown,
              ElementsAre(Pair("(invalid instruction)", 1)));
}

TEST(AcoTest, RepeatedInstructionsCountAsOften) {
  const InstructionCounts counts = whole(
      AssemblySyntax::kAco,
      "BB0:\n\tv_fmac_f32_e32 v1, v2, v3 ; 56020702\n\t(then repeated 4 times)\n\ts_endpgm ; 0\n");
  EXPECT_EQ(counts.count(kMultiplyAdd), 5);
  EXPECT_EQ(counts.multiply_adds, 5 * 32);
}

TEST(AcoTest, WidthsOfOlderNames) {
  const InstructionCounts counts = whole(
      AssemblySyntax::kAco, aco({"ds_read2st64_b64 v[0:3], v4", "buffer_load_dwordx3 v[0:2], v3",
                                 "buffer_load_format_xyzw v[0:3], v4", "ds_write_b16 v0, v1",
                                 "global_load_ubyte_d16_hi v0, v1", "s_load_dwordx8 s[0:7], s[8:9]",
                                 "global_atomic_add_f32 v0, v1", "ds_bpermute_b32 v0, v1, v2"}));
  EXPECT_THAT(
      counts.accesses,
      UnorderedElementsAre(Pair(load(kShared, 128), 1), Pair(load(kGlobal, 96), 1),
                           Pair(load(kGlobal, 128), 1), Pair(store(kShared, 16), 1),
                           Pair(load(kGlobal, 8), 1), Pair(uniform_load(256), 1),
                           Pair(MemoryAccess{.kind = kAtomic, .space = kGlobal, .bits = 32}, 1)));
  EXPECT_EQ(counts.count(kVector), 1);
}

TEST(AcoTest, IntegerProductsAreWorkOnlyWhereTheKernelMultipliesIntegers) {
  const std::string text =
      aco({"v_mul_lo_u32 v1, v2, v3", "v_mad_u32_u24 v1, v2, v3, v4", "v_dot4_i32_iu8 v1, v2, v3"});
  EXPECT_EQ(whole(AssemblySyntax::kAco, text).count(kMultiplyAdd), 1);
  const InstructionCounts counts = whole(AssemblySyntax::kAco, text, IntegerProducts::kAreWork);
  EXPECT_EQ(counts.count(kMultiplyAdd), 3);
  EXPECT_EQ(counts.multiply_adds, (1 + 1 + 4) * 32);
}

TEST(AcoTest, PackedAndMatrixOperationsHaveTheirMultiplyAdds) {
  EXPECT_EQ(whole(AssemblySyntax::kAco, aco({"v_pk_fma_f16 v1, v2, v3, v4"})).multiply_adds, 64);
  EXPECT_EQ(
      whole(AssemblySyntax::kAco, aco({"v_mfma_f32_32x32x8_f16 v[0:15], v1, v2"})).multiply_adds,
      32 * 32 * 8);
  EXPECT_EQ(
      whole(AssemblySyntax::kAco, aco({"v_mfma_f32_16x16x4_4b_f16 v[0:15], v1"})).multiply_adds,
      4 * 16 * 16 * 4);
}

TEST(SassTest, WhatCuobjdumpPrintsCountsAsMuch) {
  // It names the addresses of jumps, and prints encodings.
  std::string text = "\n\tcode for sm_90\n\t\tFunction : main\n", line;
  std::istringstream listing(excerpt("sass_by_hand"));
  std::map<std::string, std::string> addresses;
  std::string label;
  for (int pass = 0; pass < 2; ++pass) {
    listing.clear();
    listing.seekg(0);
    while (std::getline(listing, line)) {
      if (line.starts_with(".L_x_")) label = line.substr(0, line.size() - 1);
      if (!line.starts_with("        /*") || line.find("*/ \t.") != std::string::npos) continue;
      if (!label.empty()) addresses[label] = "0x" + line.substr(11, 3);
      label.clear();
      if (pass == 0) continue;
      if (const auto at = line.find('`'); at != std::string::npos) {
        const auto end = line.find(')');
        line = line.substr(0, at) + addresses.at(line.substr(at + 2, end - at - 2)) +
               line.substr(end + 1);
      }
      text += line + "    /* 0x000000141004723c */\n          /* 0x000fe20000001804 */\n";
    }
  }
  const auto loop = main_loop(parse_assembly(AssemblySyntax::kSass, text + "\t\t..........\n", {}));
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->counts, loop_of(AssemblySyntax::kSass, "sass_by_hand"));
}

TEST(SassTest, ShapesAndWidthsOfOpcodes) {
  std::string text;
  for (const char* code :
       {"IMMA.16832.S8.S8 R4, R8", "HMMA.1688.F32.TF32 R4, R8", "DMMA.884 R4, R8",
        "HGMMA.64x128x16.F32 R4", "IDP.4A.S8.S8 R4, R5", "LDG.E.U8 R1, [R2]", "LDCU.64 UR4, c[0x0]",
        "ATOMS.ADD R1, [R2]", "UFFMA UR1, UR2", "UTMALDG.2D [UR8]", "HMMA.NEW R4, R8",
        "CALL.REL.NOINC `($function)", "EXIT"})
    text += fmt::format("/*{:04x}*/ {} ;\n", 16 * std::ranges::count(text, '\n'), code);
  const InstructionCounts counts = whole(AssemblySyntax::kSass, text);
  EXPECT_EQ(counts.multiply_adds,
            16 * 8 * 32 + 16 * 8 * 8 + 8 * 8 * 4 + 64 * 128 * 16 / 4 + 4 * 32);
  EXPECT_THAT(counts.unknown, UnorderedElementsAre(Pair("UTMALDG.2D", 1), Pair("HMMA.NEW", 1),
                                                   Pair("CALL.REL.NOINC", 1)));
  EXPECT_THAT(
      counts.accesses,
      UnorderedElementsAre(Pair(load(kGlobal, 8), 1), Pair(uniform_load(64), 1),
                           Pair(MemoryAccess{.kind = kAtomic, .space = kShared, .bits = 0}, 1)));
  EXPECT_EQ(counts.count(kScalar), 1);
}

TEST(AssemblyTest, DriversWithoutAParserHaveNoSyntax) {
  EXPECT_EQ(assembly_syntax({.driver_id = 3}), AssemblySyntax::kAco);
  EXPECT_EQ(assembly_syntax({.driver_id = 6}), AssemblySyntax::kBrw);
  EXPECT_EQ(assembly_syntax({.driver_id = 24}), AssemblySyntax::kNak);
  for (const std::uint32_t other : {0u, 1u, 4u, 13u})
    EXPECT_EQ(assembly_syntax({.driver_id = other}), std::nullopt);
}

}  // namespace
}  // namespace rooftile
