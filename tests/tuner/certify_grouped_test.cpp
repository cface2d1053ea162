// Certificates of kernels for grouped problems, in every family, and of mutants whose errors only
// groups can show.
#include "certify_fixture.h"

namespace rooftile {
namespace {

constexpr auto kNo = Transpose::kNo, kYes = Transpose::kYes;

const std::vector<Variant>& families() {
  static const std::vector<Variant> variants = {
      parse_variant("family=naive tile_m=8 tile_n=8"),
      parse_variant(
          "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
          "vector_width_b=4"),
      parse_variant(
          "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
          "vector_width_b=4 load_path_a=texel load_path_b=texel packed_a=yes raster=column"),
      parse_variant(
          "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
          "vector_width_b=4 packed_a=yes packed_b=yes raster=grouped4"),
      parse_variant(
          "family=broadcast tile_m=8 tile_n=32 reg_m=8 reg_n=4 unroll_k=8 vector_width_a=4 "
          "vector_width_b=4 load_path_a=texel load_path_b=texel subgroup_size=8 "
          "packed_a=yes raster=column"),
      parse_variant(
          "family=vector tile_m=2 tile_n=8 tile_k=16 reg_m=2 reg_n=4 unroll_k=4 stage=shared "
          "vector_width_a=4 vector_width_b=4"),
      parse_variant(
          "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared "
          "vector_width_a=4 vector_width_b=4"),
      parse_variant(
          "family=tiled tile_m=16 tile_n=32 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared "
          "stages=2 raster=grouped4")};
  return variants;
}

class CertifyGrouped : public CertifyFixture {
 protected:
  /// Certifies each family that is legal for the signature; returns how many there were.
  int expect_passes(const Signature& signature, std::size_t first = 0, std::size_t step = 1) {
    int tried = 0;
    for (std::size_t v = first; v < families().size(); v += step) {
      const Variant& variant = families()[v];
      const DeviceLimits& limits = device_->profile().limits;
      if (illegal_reason(variant, limits, signature)) continue;
      const Certificate result = certificate(variant, signature);
      EXPECT_TRUE(result.passed) << short_name(variant) << " " << to_string(signature) << ": "
                                 << result.detail;
      EXPECT_GE(result.cases, 4u) << short_name(variant);
      ++tried;
    }
    return tried;
  }
};

TEST_F(CertifyGrouped, EveryFamilyIsRightForBothTransposesOfB) {
  for (const Transpose trans_b : {kNo, kYes})
    EXPECT_GE(expect_passes({.trans_b = trans_b, .grouped = true}), 6);
}

TEST_F(CertifyGrouped, EveryTypeIsRight) {
  std::size_t first = 0;
  int tried = 0;
  for (const char* types : {"f16_f16", "bf16", "i8_i32", "u8"}) {
    const int of_type = expect_passes(
        {.types = parse_types(types), .trans_b = kYes, .grouped = true}, first++ % 4, 4);
    EXPECT_GE(of_type, 1) << types;
    tried += of_type;
  }
  EXPECT_GE(tried, 6);  // SwiftShader has no subgroups of 8 lanes, for which some kernels are.
}

TEST_F(CertifyGrouped, QuantisedExpertsAreRight) {
  constexpr std::size_t kNaive = 0, kPackedAndTwoStages = 3, kTiled = 6;
  for (const auto& [types, others] : {std::pair{"f32xq4b32", kTiled},
                                      {"f32xq8b32z", kPackedAndTwoStages},
                                      {"f16xq4b16zf_f16", kPackedAndTwoStages},
                                      {"f32xq4_0", kPackedAndTwoStages},
                                      {"f32xq6_k", kPackedAndTwoStages}}) {
    const Signature s = {.types = parse_types(types), .trans_b = kYes, .grouped = true};
    EXPECT_EQ(expect_passes(s, kNaive, families().size()), 1) << types;
    EXPECT_GE(expect_passes(s, others, 4), 1) << types;
  }
}

TEST_F(CertifyGrouped, EpiloguesHaveVectorsOfColumnsForEachExpert) {
  const Signature s = {
      .trans_b = kYes,
      .epilogue = parse_epilogue("row_scale+column_scale+bias_column+silu+residual+clamp"),
      .grouped = true};
  // One kernel of each family, and a packed one.
  EXPECT_GE(expect_passes(s, 0, 3) + expect_passes(s, 1, 4) + expect_passes(s, 4, 4), 5);
}

TEST_F(CertifyGrouped, KernelsThatCutGroupsWrongAreIllegal) {
  const Signature grouped = {.grouped = true};
  for (const char* text :
       {"family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 edge=exact",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 split_k=2",
        "family=batched_small tile_m=8 tile_n=8 reg_m=4 reg_n=4 unroll_k=4 tile_batch=2"})
    EXPECT_TRUE(illegal_reason(parse_variant(text), device_->profile().limits, grouped)) << text;
  EXPECT_TRUE(illegal_reason(families().front(), device_->profile().limits,
                             Signature{.trans_a = kYes, .grouped = true}));
}

TEST_F(CertifyGrouped, MutantsAreRefused) {
  struct Mutant {
    const char* what;
    const char* from;
    const char* to;
    Epilogue epilogue = {};
  };
  const std::vector<Mutant> mutants = {
      {"the wrong expert's B", "rows.x * expert_b", "(rows.x ^ 1u) * expert_b"},
      {"the first expert's B for all", "rows.x * expert_b", "0u * expert_b"},
      {"A from the group before", "base_a + skipped * line_a", "base_a + (skipped - 1u) * line_a"},
      {"C in the group behind", "base_c + skipped * ldc", "base_c + (skipped + 1u) * ldc"},
      {"the last partial tile written beyond its group", "m = rows.z > 0 ? row + rows.z : 0",
       "m = rows.z > 0 ? row + TILE_M : 0"},
      {"a tile of one row more", "m = rows.z > 0 ? row + rows.z : 0",
       "m = rows.z > 0 ? row + rows.z + 1 : 0"},
      {"a tile without rows written", "m = rows.z > 0 ? row + rows.z : 0",
       "m = row + max(rows.z, 1u)"},
      {"the next tile of the list", "group_tiles[first_tile + tile]",
       "group_tiles[first_tile + tile + 1]"},
      {"the first expert's bias", "first_bias + rows.x * expert_columns", "first_bias",
       parse_epilogue("bias_column")},
      {"the first expert's column scale", "first_column_scale + rows.x * expert_columns",
       "first_column_scale", parse_epilogue("column_scale")},
      {"row scales of the list's rows", "first_row_scale + skipped", "first_row_scale",
       parse_epilogue("row_scale")},
      {"the residual of other rows", "begin_epilogue(skipped)", "begin_epilogue(0u)",
       parse_epilogue("residual")}};
  for (const Mutant& m : mutants) {
    const Signature signature = {.epilogue = m.epilogue, .grouped = true};
    const Certificate result = mutant(families()[1], signature, m.from, m.to);
    EXPECT_FALSE(result.passed) << m.what;
    EXPECT_NE(result.detail, "") << m.what;
  }
}

TEST_F(CertifyGrouped, MutantsOfPackedRowsAreRefused) {
  const Signature signature = {.grouped = true};
  const Variant& variant = families()[3];
  const Shader pack = emit_pack(variant, signature, Operand::kA);
  for (const auto& [from, to] :
       {std::pair{"(tile.y + min(in_tile, last))", "(tile.y + 1 + min(in_tile, last))"},
        std::pair{"group_tiles[row / PANEL_ROWS]", "group_tiles[0]"}})
    EXPECT_FALSE(mutant(variant, signature, pack, from, to).passed) << from;
}

}  // namespace
}  // namespace rooftile
