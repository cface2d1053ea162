// Kernels for matrix units without a device: which ones are legal, and that their modules have the
// form that drivers expect although shaderc does not know matrices.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "generator/calibration_shaders.h"
#include "generator/compile.h"
#include "generator/layout.h"
#include "generator/matrix_types.h"
#include "generator/space.h"
#include "matrix_modules.h"
#include "test_limits.h"
#include "tests/support/changed_shader.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

const char* const kTransferPaths[] = {
    "",
    "stages=2 raster=grouped8 split_k=4",
    "load_path_a=direct load_path_b=direct packed_a=yes packed_b=yes stage=none shared_pad=0",
    "load_path_a=direct packed_a=yes stages=2",
    "load_path_b=direct edge=exact",
    "vector_width_a=2 vector_width_b=1",
};

std::vector<Signature> matrix_signatures() {
  std::vector<Signature> all;
  for (const char* types : {"f16", "f16_f16_sum_f16", "bf16_bf16", "i8_i32", "u8_i32"})
    for (Signature s : all_signatures()) {
      s.types = parse_types(types);
      all.push_back(s);
    }
  return all;
}

Variant fitted(Variant v, const Types& types) {
  if (is_8_bit(types.a)) {
    v.matrix_k = v.unroll_k = 32;
    if (v.shared_pad > 0) v.shared_pad = 16;
  }
  return v;
}

std::string reason_for(const Variant& v, const Signature& s,
                       const DeviceLimits& limits = matrix_limits()) {
  return illegal_reason(v, limits, s).value_or("");
}

TEST(Matrix, EveryVariantIsLegalWhereTheDeviceHasTheShape) {
  for (const char* way : kTransferPaths)
    for (const Signature& s : matrix_signatures()) {
      const Variant v = fitted(changed(matrix_point(), way), s.types);
      EXPECT_EQ(reason_for(v, s), "") << to_string(v) << " " << to_string(s);
    }
}

TEST(Matrix, BrokenPointsAreRejectedWithTheirReason) {
  const Signature half = {parse_types("f16")};
  const struct {
    const char* changes;
    const char* reason;
  } kBroken[] = {
      {"matrix_m=0", "only matrix has matrix_m"},
      {"subgroup_n=2000", "matrix needs subgroup_m"},
      {"subgroup_size=0", "needs a subgroup_size"},
      {"subgroup_m=24", "divide each other"},
      {"tile_n=72", "divide each other"},
      {"tile_k=40", "divide each other"},
      {"unroll_k=8", "divide each other"},
      {"matrix_m=32", "do not have the shape matrix_m x matrix_n x matrix_k (32 x 16 x 16)"},
      {"reg_m=4", "no invocations' blocks"},
      {"optimization=performance", "no invocations' blocks"},
      {"load_path_a=texel", "no invocations' blocks"},
      {"packed_a=yes", "load_path direct is for matrix"},
      {"load_path_a=direct", "whole tiles"},
      {"stage=none", "stage must be"},
      {"load_path_a=direct load_path_b=direct edge=exact", "stage must be"},
      {"load_path_a=direct load_path_b=direct edge=exact stage=none stages=2 shared_pad=0",
       "only tiled and matrix have stages"},
      {"subgroup_m=64 subgroup_n=128 tile_n=128", "too many sums"},
      {"tile_m=256 tile_n=256 tile_k=64 stages=2 subgroup_m=64", "shared memory"},
      {"subgroup_size=16", "does not run subgroups"},
      {"shared_pad=4", "multiples of 16 bytes"},
      {"vector_width_a=1 load_path_a=direct edge=exact", "multiples of 16 bytes"},
      {"matrix_k=32 unroll_k=32", "do not have the shape"},
      {"dot=4", "dot must be"},
      {"subgroups_k=3", "subgroups_k must be"},
      {"subgroups_k=4", "if unroll_k * subgroups_k divides tile_k"},
      {"load_path_a=direct load_path_b=direct packed_a=yes packed_b=yes stage=none shared_pad=0 "
       "prefetch=ahead",
       "prefetch ahead is for"},
      {"load_path_a=direct load_path_b=direct packed_a=yes packed_b=yes stage=none shared_pad=0 "
       "store_map=permuted",
       "store_map permuted is for"},
      {"tile_k=64 shared_pad=0 store_map=permuted", "store_map permuted is for tiles"},
  };
  for (const auto& [changes, why] : kBroken) {
    DeviceLimits limits = matrix_limits();
    std::erase_if(limits.matrix_shapes,
                  [](const MatrixShape& shape) { return is_8_bit(shape.operand); });
    EXPECT_THAT(reason_for(changed(matrix_point(), changes), half, limits), HasSubstr(why))
        << changes;
  }
  EXPECT_THAT(reason_for(changed(register_point(), "matrix_m=16"), half),
              HasSubstr("only matrix has"));
  EXPECT_THAT(reason_for(changed(register_point(), "load_path_a=direct"), half),
              HasSubstr("load_path direct is for matrix"));
}

TEST(Matrix, TypesMustBeThoseOfTheShape) {
  const Variant v = matrix_point();
  for (const char* types : {"i8_i32", "u8_i32"})
    EXPECT_THAT(reason_for(v, {parse_types(types)}), HasSubstr("do not multiply these types"));
  Variant wide = v;
  wide.matrix_n = 8;
  EXPECT_EQ(reason_for(wide, {parse_types("f16")}), "");
  EXPECT_THAT(reason_for(wide, {parse_types("f16_f16_sum_f16")}),
              HasSubstr("do not multiply these types"));
}

TEST(Matrix, Float32OperandsAreSplitOnTheirWayToSharedMemory) {
  const Signature float32 = {parse_types("f32")};
  const Variant v = changed(matrix_point(), "stage=stored tile_k=16");
  EXPECT_EQ(reason_for(v, float32), "");
  // 32 KiB hold three parts of 64 x 24 and of 16 x 72 elements twice, but not those of 32 steps.
  EXPECT_EQ(reason_for(changed(v, "stages=2"), float32), "");
  EXPECT_THAT(reason_for(changed(v, "stages=2 tile_k=32"), float32), HasSubstr("shared memory"));
  for (const char* other : {"stage=shared", "load_path_a=direct packed_a=yes"})
    EXPECT_THAT(reason_for(changed(v, other), float32), HasSubstr("float32 operands of matrix"));

  DeviceLimits limits = matrix_limits();
  limits.max_loop_trips = 65535;
  EXPECT_THAT(reason_for(v, float32, limits), HasSubstr("computed again"));
  limits = matrix_limits();
  std::erase_if(limits.matrix_shapes,
                [](const MatrixShape& shape) { return shape.operand == DataType::kBf16; });
  EXPECT_THAT(reason_for(v, float32, limits), HasSubstr("do not multiply these types"));
}

TEST(Matrix, UnsignedOperandsNeedAShapeAndArithmeticOfTheirOwn) {
  const Signature bytes = {parse_types("u8_f16")};
  const Variant v = fitted(matrix_point(), bytes.types);
  EXPECT_EQ(reason_for(v, bytes), "");
  DeviceLimits limits = matrix_limits();
  limits.int8_arithmetic = false;
  EXPECT_THAT(reason_for(v, bytes, limits), HasSubstr("8-bit integers with i8 arithmetic"));
  limits = matrix_limits();
  std::erase_if(limits.matrix_shapes,
                [](const MatrixShape& shape) { return shape.operand == DataType::kU8; });
  EXPECT_THAT(reason_for(v, bytes, limits), HasSubstr("do not multiply these types"));
  EXPECT_EQ(reason_for(v, {parse_types("i8_f16")}, limits), "");
}

TEST(Matrix, SumsAreSignedWhereOperandsAre) {
  const auto glsl = [](const char* types) {
    const Signature s = {parse_types(types)};
    return emit_gemm(fitted(matrix_point(), s.types), s).glsl;
  };
  // Operands have 8 bits and sums 32; kind 1 is signed, 2 is unsigned.
  for (const char* part : {"OPERAND_TAG 0x7F000208u", "SUM_TAG 0x7F000220u"})
    EXPECT_THAT(glsl("u8_i32"), HasSubstr(part));
  EXPECT_THAT(glsl("u8_i32"), Not(HasSubstr("coopMatMulAddSigned")));
  for (const char* part : {"OPERAND_TAG 0x7F000108u", "SUM_TAG 0x7F000120u", "SIGNED_OPERANDS 15"})
    EXPECT_THAT(glsl("i8_i32"), HasSubstr(part));
}

TEST(Matrix, TilesConsistOfVectorsAsLongAsTheRowsOfFragments) {
  const Types half = parse_types("f16"), bytes = parse_types("i8_i32");
  EXPECT_EQ(shared_words(matrix_point(), half), 4);
  EXPECT_EQ(shared_words(changed(matrix_point(), "matrix_k=8"), half), 4);
  EXPECT_EQ(shared_words(changed(matrix_point(), "matrix_k=8"), bytes), 2);
  EXPECT_EQ(shared_words(changed(matrix_point(), "matrix_k=4"), bytes), 1);
  // Rows of (32 + 8) bytes are whole vectors of 8 bytes, but not of 16.
  DeviceLimits limits = matrix_limits();
  limits.matrix_shapes = {{16, 16, 8, DataType::kI8, DataType::kI32},
                          {16, 16, 32, DataType::kI8, DataType::kI32}};
  const Signature s = {bytes};
  const char* const narrow = "matrix_k=8 unroll_k=8 vector_width_a=2 vector_width_b=2";
  EXPECT_EQ(reason_for(changed(matrix_point(), narrow), s, limits), "");
  EXPECT_THAT(reason_for(changed(matrix_point(), "matrix_k=32 unroll_k=32"), s, limits),
              HasSubstr("multiples of 16 bytes"));
}

TEST(Matrix, FlexibleShapesAreMultiplesUpToTheLongest) {
  DeviceLimits limits = matrix_limits();
  limits.matrix_granularities = {{8, 8, 16, DataType::kF16, DataType::kF32}};
  limits.max_matrix_dimension = 64;
  const Signature half = {parse_types("f16")};
  EXPECT_EQ(reason_for(changed(matrix_point(), "matrix_m=8 matrix_n=32"), half, limits), "");
  EXPECT_THAT(reason_for(changed(matrix_point(), "matrix_k=8 unroll_k=8"), half, limits),
              HasSubstr("do not have the shape"));
  EXPECT_THAT(
      reason_for(changed(matrix_point(), "matrix_m=128 subgroup_m=128 tile_m=128"), half, limits),
      HasSubstr("do not have the shape"));
}

TEST(Matrix, MisalignedProblemsUsePackedKernels) {
  const Problem odd =
      packed_problem(33, 65, 35, Transpose::kNo, Transpose::kNo, 1, parse_types("f16"));
  EXPECT_THAT(reason(matrix_point(), matrix_limits(), odd, own_buffers(odd)),
              HasSubstr("multiples of the vector width"));
  const Variant packed = changed(matrix_point(), kTransferPaths[2]);
  EXPECT_EQ(reason(packed, matrix_limits(), odd, own_buffers(odd)), "");
}

TEST(Matrix, EveryVariantCompilesToSpirv15WithoutPlaceholders) {
  for (const char* way : kTransferPaths)
    for (const Signature& s : matrix_signatures()) {
      const Variant v = fitted(changed(matrix_point(), way), s.types);
      const std::vector<std::uint32_t> words = compile(emit_gemm(v, s));
      EXPECT_EQ(words[1], 0x00010500u);
      EXPECT_FALSE(holds_tag(words)) << to_string(v);
      if (s.types.a != DataType::kBf16)  // The validator does not know bfloat16.
        expect_valid(words, to_string(v) + " " + to_string(s));
      for (Operand operand : {Operand::kA, Operand::kB})
        if ((operand == Operand::kA ? v.packed_a : v.packed_b) == Packed::kYes)
          expect_valid(compile(emit_pack(v, s, operand)), "pack for " + to_string(v));
    }
}

/// Bytes of a module's variables in shared memory, by its OpTypes, OpConstants and OpVariables.
std::int64_t bytes_of_shared_variables(const std::vector<std::uint32_t>& words) {
  constexpr std::uint32_t kInt = 21, kFloat = 22, kVector = 23, kArray = 28, kPointer = 32,
                          kConstant = 43, kVariable = 59, kWorkgroup = 4;
  std::map<std::uint32_t, std::int64_t> value;  // Of constants; of types, their bytes.
  std::int64_t sum = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t* const w = &words[at];
    switch (w[0] & 0xffff) {
      case kInt:
      case kFloat:
        value[w[1]] = w[2] / 8;
        break;
      case kVector:
        value[w[1]] = value[w[2]] * w[3];
        break;
      case kArray:
        value[w[1]] = value[w[2]] * value[w[3]];
        break;
      case kPointer:
        value[w[1]] = value[w[3]];
        break;
      case kConstant:
        value[w[2]] = w[3];
        break;
      case kVariable:
        if (w[3] == kWorkgroup) sum += value[w[1]];
        break;
      default:
        break;
    }
  }
  return sum;
}

// A fragment takes 1 KiB for each of four subgroups, but 64 tiles of 16 steps hold less than that.
TEST(Matrix, FragmentsLieInATileThatHoldsThemAndModulesHaveTheSharedMemoryThatRulesCount) {
  using enum FragmentPlace;
  const struct {
    const char* way;
    FragmentPlace place;
  } kPlaces[] = {{"", kTileOfA},
                 {"stages=2", kTileOfA},
                 {"load_path_a=direct packed_a=yes", kTileOfB},
                 {"load_path_b=direct packed_b=yes", kTileOfA},
                 {"tile_m=32 tile_n=128 subgroup_m=32 tile_k=16", kTileOfB},
                 {"tile_k=16", kOwn},
                 {"stage=stored", kTileOfA},
                 {"stage=stored tile_k=16", kOwn}};
  for (const auto& [way, place] : kPlaces)
    for (const char* types : {"f16", "bf16_bf16"}) {
      const Variant v = changed(matrix_point(), way);
      for (const Transpose a : {Transpose::kNo, Transpose::kYes})
        for (const Transpose b : {Transpose::kNo, Transpose::kYes}) {
          const Signature s = {.types = parse_types(types), .trans_a = a, .trans_b = b};
          ASSERT_EQ(reason_for(v, s), "") << way;
          EXPECT_EQ(bytes_of_shared_variables(compile(emit_gemm(v, s))), shared_bytes(v, s)) << way;
          EXPECT_EQ(fragment_place(v, s), place) << way;
        }
    }
}

TEST(Matrix, ModulesThatMeasureUnitsAreValid) {
  for (const auto& [operand, sum] :
       {std::pair(DataType::kF16, DataType::kF32), std::pair(DataType::kF16, DataType::kF16),
        std::pair(DataType::kBf16, DataType::kF32), std::pair(DataType::kI8, DataType::kI32),
        std::pair(DataType::kU8, DataType::kI32)}) {
    const MatrixShape shape = {16, 16, 16, operand, sum};
    const std::vector<std::uint32_t> words = compile(emit_matrix_peak(shape, 32, 128, 4));
    EXPECT_FALSE(holds_tag(words)) << name(operand);
    // The validator does not know bfloat16.
    if (operand != DataType::kBf16) expect_valid(words, std::string(name(operand)));
  }
}

// The same for parts of float32 operands. Their modules are those for float16, but for the type.
TEST(Matrix, ModulesThatSplitOperandsRoundTheirSums) {
  constexpr std::uint32_t kDecorate = 71, kFAdd = 129, kNoContraction = 42;
  for (const char* way :
       {"", "stages=2 tile_k=16", "tile_m=32 tile_n=128 subgroup_m=32 tile_k=16", "unroll_k=32",
        "stages=2 tile_m=32 tile_n=32 subgroup_m=16 subgroup_n=16 unroll_k=32"})
    for (const char* types : {"f32", "f32xq4b64", "f32xq6_k", "f32xq5_k", "bf16xq5_k"})
      for (const char* transposes : {"nn", "nt", "tn", "tt"}) {
        const Variant v = changed(matrix_point(), std::string("stage=stored ") + way);
        const Signature s = parse_signature(fmt::format("{}.{}", types, transposes));
        const bool whole_scales = v.unroll_k == 32 && s.trans_b == Transpose::kYes;
        if (quantized(s.types) && !whole_scales) continue;
        ASSERT_EQ(reason_for(v, s), "") << way;
        Shader shader = emit_gemm(v, s);
        for (const auto& [bfloat16, float16] :
             {std::pair{"0x7F000310u", "0x7F000010u"},
              {"capabilities = [6022, 5116, 5118]", "capabilities = [6022, 9]"},
              {", \"SPV_KHR_bfloat16\"", ""}})
          shader = rooftile::changed(std::move(shader), bfloat16, float16);
        const std::vector<std::uint32_t> words = compile(shader);
        expect_valid(words, to_string(v));
        EXPECT_EQ(bytes_of_shared_variables(words), shared_bytes(v, s)) << way;
        std::set<std::uint32_t> exact, sums;
        for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
          if ((words[at] & 0xffff) == kDecorate && words[at + 2] == kNoContraction)
            exact.insert(words[at + 1]);
          if ((words[at] & 0xffff) == kFAdd && exact.contains(words[at + 2]))
            sums.insert(words[at + 2]);
        }
        EXPECT_EQ(sums.empty(), quantized(s.types));  // Scales make multiply-adds of them.
        EXPECT_EQ(sums, exact);
      }
}

TEST(Matrix, TypesThatAModuleLacksAreAdded) {
  // A header, OpTypeVoid %1, OpTypeCooperativeMatrixKHR %2 <f16> %3 %4 %5 %6.
  const std::vector<std::uint32_t> module = {
      0x07230203, 0x00010500, 0, 9, 0, 2u << 16 | 19, 1, 7u << 16 | 4456, 2,
      0x7F000010, 3,          4, 5, 6};
  const std::vector<std::uint32_t> resolved = resolve_matrix_types(module);
  const std::vector<std::uint32_t> expected = {
      0x07230203, 0x00010500, 0, 10, 0, 3u << 16 | 22, 9, 16, 2u << 16 | 19, 1, 7u << 16 | 4456, 2,
      9,          3,          4, 5,  6};
  EXPECT_EQ(resolved, expected);
}

TEST(Matrix, TypesThatAModuleHasMoveAboveTheirFirstUse) {
  // OpTypeVoid %1, matrix %2 of f16, OpTypeFloat 16 %7.
  const std::vector<std::uint32_t> module = {
      0x07230203, 0x00010500,    0, 9, 0, 2u << 16 | 19, 1, 7u << 16 | 4456, 2, 0x7F000010, 3, 4, 5,
      6,          3u << 16 | 22, 7, 16};
  const std::vector<std::uint32_t> expected = {
      0x07230203, 0x00010500, 0, 9, 0, 3u << 16 | 22, 7, 16, 2u << 16 | 19, 1, 7u << 16 | 4456, 2,
      7,          3,          4, 5, 6};
  EXPECT_EQ(resolve_matrix_types(module), expected);
}

TEST(Matrix, DamagedModulesAreRefused) {
  EXPECT_THROW(resolve_matrix_types({1, 2, 3}), Error);
  EXPECT_THROW(resolve_matrix_types({0x07230203, 0x00010500, 0, 9, 0, 5u << 16 | 19, 1}), Error);
}

}  // namespace
}  // namespace rooftile
