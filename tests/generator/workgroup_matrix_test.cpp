// Kernels with matrices of workgroup scope (VK_NV_cooperative_matrix2), without a device: which
// ones are legal, and that their modules have the form that drivers expect although shaderc knows
// neither matrices nor tensors.
#include <gmock/gmock.h>

#include <algorithm>

#include "generator/compile.h"
#include "generator/layout.h"
#include "generator/plan.h"
#include "generator/space.h"
#include "matrix_modules.h"
#include "test_limits.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

const char* const kTransferPaths[] = {
    "",
    "edge=exact raster=grouped8",
    "tile_m=64 tile_n=64 matrix_m=64 matrix_n=64 subgroup_m=32 subgroup_n=32 raster=column",
    "tile_n=256 matrix_n=256 subgroup_m=64 matrix_k=32 unroll_k=32",
    "split_k=4",
};

std::vector<Signature> workgroup_signatures() {
  std::vector<Signature> all;
  for (const char* types : {"f16", "f16_f16", "f16_f16_sum_f16", "bf16", "bf16_bf16", "i8_i32",
                            "i8_f16", "u8_i32", "u8"})
    for (Signature s : all_signatures()) {
      s.types = parse_types(types);
      all.push_back(s);
    }
  return all;
}

std::string reason_for(const Variant& v, const Signature& s,
                       const DeviceLimits& limits = workgroup_matrix_limits()) {
  return illegal_reason(v, limits, s).value_or("");
}

/// Words of the instructions with this opcode, without the first word.
std::vector<std::vector<std::uint32_t>> instructions(const std::vector<std::uint32_t>& module,
                                                     std::uint32_t opcode) {
  std::vector<std::vector<std::uint32_t>> found;
  for (std::size_t i = 5; i < module.size(); i += module[i] >> 16)
    if ((module[i] & 0xffff) == opcode)
      found.emplace_back(module.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                         module.begin() + static_cast<std::ptrdiff_t>(i + (module[i] >> 16)));
  return found;
}

TEST(WorkgroupMatrix, EveryVariantIsLegalWhereTheDeviceHasTheUnits) {
  for (const char* way : kTransferPaths)
    for (const Signature& s : workgroup_signatures()) {
      const Variant v = changed(workgroup_matrix_point(), way);
      EXPECT_EQ(reason_for(v, s), "") << to_string(v) << " " << to_string(s);
    }
}

TEST(WorkgroupMatrix, WithoutTheUnitsTheyAreRefusedWithAReason) {
  EXPECT_EQ(reason_for(workgroup_matrix_point(), {parse_types("f16")}, matrix_limits()),
            "the device has no matrix units of workgroup scope with tensor addressing");
  EXPECT_EQ(reason_for(workgroup_matrix_point(), {parse_types("f16")}, discrete_limits()),
            "the device has no matrix units");
  for (const Variant& v : legal_variants(matrix_limits())) EXPECT_FALSE(has_workgroup_scope(v));
}

TEST(WorkgroupMatrix, BrokenPointsAreRejectedWithTheirReason) {
  const struct {
    const char* changes;
    const char* reason;
  } kBroken[] = {
      {"matrix_m=64", "one matrix a workgroup"},
      {"matrix_n=64", "one matrix a workgroup"},
      {"matrix_k=32", "one matrix a workgroup"},
      {"unroll_k=32 tile_k=32", "divide each other"},
      {"tile_k=96", "divide each other"},
      {"subgroup_m=48", "divide each other"},
      {"tile_m=72 matrix_m=72 subgroup_m=24", "one matrix a workgroup"},
      {"matrix_k=8 unroll_k=8", "multiples of 16"},
      {"subgroup_m=64 subgroup_n=32", "one name"},
      {"subgroup_m=32 subgroup_n=32", "(128 x 128 x 64 for 512 invocations)"},
      {"tile_m=16 matrix_m=16 subgroup_m=16 tile_n=256 matrix_n=256", "do not have the shape"},
      {"tile_n=512 matrix_n=512 subgroup_m=64 subgroup_n=128", "do not have the shape"},
      {"load_path_a=buffer", "loads tensors itself"},
      {"packed_b=yes", "loads tensors itself"},
      {"vector_width_a=2", "loads tensors itself"},
      {"stage=shared", "stage must be"},
      {"stages=2", "only tiled and matrix have stages"},
      {"reg_m=4", "no invocations' blocks"},
  };
  for (const auto& [changes, why] : kBroken)
    EXPECT_THAT(reason_for(changed(workgroup_matrix_point(), changes), {parse_types("f16")}),
                HasSubstr(why))
        << changes;
  EXPECT_THAT(reason(changed(register_point(), "scope=workgroup"), workgroup_matrix_limits()),
              HasSubstr("scope workgroup is for matrix"));
}

TEST(WorkgroupMatrix, TypesMustBeThoseOfTheUnits) {
  const Variant v = workgroup_matrix_point();
  EXPECT_THAT(reason_for(v, {parse_types("f32")}), HasSubstr("float32 operands"));
  EXPECT_THAT(reason_for(changed(v, "matrix_k=16 unroll_k=16"), {parse_types("i8_i32")}),
              HasSubstr("do not multiply these types"));
  const Signature quantized = {.types = parse_types("f16xq4b32"), .trans_b = Transpose::kYes};
  EXPECT_THAT(reason_for(v, quantized), HasSubstr("quantised B"));
}

TEST(WorkgroupMatrix, TheDriversShareOfSharedMemoryIsReserved) {
  DeviceLimits limits = workgroup_matrix_limits();
  const Signature half = {parse_types("f16")};
  EXPECT_EQ(shared_bytes(workgroup_matrix_point(), half), 16384);
  limits.workgroup_matrix_shared_bytes = limits.shared_memory_bytes - 16384;
  EXPECT_EQ(reason_for(workgroup_matrix_point(), half, limits), "");
  limits.workgroup_matrix_shared_bytes += 1;
  EXPECT_THAT(reason_for(workgroup_matrix_point(), half, limits), HasSubstr("shared memory"));
}

TEST(WorkgroupMatrix, SumsPassThroughSharedMemoryInWholeRows) {
  const Types half = parse_types("f16"), f16_sums = parse_types("f16_f16_sum_f16");
  for (const auto& [tile_m, tile_n, rows] :
       {std::tuple{128, 256, 16}, {128, 128, 32}, {64, 64, 64}, {96, 128, 32}, {48, 256, 16}}) {
    Variant v = workgroup_matrix_point();
    v.tile_m = tile_m;
    v.tile_n = tile_n;
    EXPECT_EQ(piece_rows(v, half), rows) << tile_m << " x " << tile_n;
    EXPECT_EQ(tile_m % piece_rows(v, f16_sums), 0);
    EXPECT_GE(piece_rows(v, f16_sums), rows);
    EXPECT_LE(shared_bytes(v, {f16_sums}), 16384);
  }
}

TEST(WorkgroupMatrix, RowsMayHaveAnyLengthUnlessTilesAreWhole) {
  const DeviceLimits limits = workgroup_matrix_limits();
  const Problem odd =
      packed_problem(129, 255, 65, Transpose::kNo, Transpose::kNo, 1, parse_types("f16"));
  EXPECT_EQ(reason(workgroup_matrix_point(), limits, odd, own_buffers(odd)), "");
  Placement moved = own_buffers(odd);
  moved.offset_b = 4;
  EXPECT_THAT(reason(workgroup_matrix_point(), limits, odd, moved),
              HasSubstr("offsets and strides"));
  Problem whole =
      packed_problem(128, 128, 64, Transpose::kNo, Transpose::kNo, 1, parse_types("f16"));
  whole.lda = 65;
  EXPECT_THAT(
      reason(changed(workgroup_matrix_point(), "edge=exact"), limits, whole, own_buffers(whole)),
      HasSubstr("lda and ldb"));
}

/// Every slice of a problem begins at a multiple of 16 bytes, as tensor loads require.
TEST(WorkgroupMatrix, StepsBeginAtWholeVectors) {
  for (const char* types : {"f16", "i8_i32"})
    for (const Signature& s : all_signatures()) {
      Problem p = packed_problem(700, 900, 1500, s.trans_a, s.trans_b, 3, parse_types(types));
      const int elements = static_cast<int>(16 / bytes_of(p.types.a));
      p.stride_a = round_up(p.stride_a, elements);
      p.stride_b = round_up(p.stride_b, elements);
      const GemmPlan plan = plan_gemm(changed(workgroup_matrix_point(), "split_k=4"),
                                      workgroup_matrix_limits(), p, own_buffers(p), 1e7);
      ASSERT_GT(plan.gemms.size(), 10u);
      for (const GemmStep& step : plan.gemms) {
        const GemmPushConstants& push = step.push_constants;
        EXPECT_EQ(push.base_a % elements, 0u);
        EXPECT_EQ(push.base_b % elements, 0u);
        EXPECT_EQ(push.split_depth * push.step_a % elements, 0u);
        EXPECT_EQ(push.split_depth * push.step_b % elements, 0u);
      }
    }
}

TEST(WorkgroupMatrix, EveryVariantCompilesToSpirv16WithoutPlaceholders) {
  for (const char* way : kTransferPaths)
    for (const Signature& s : workgroup_signatures()) {
      const Variant v = changed(workgroup_matrix_point(), way);
      const Shader shader = emit_gemm(v, s);
      const std::vector<std::uint32_t> words = compile(shader);
      EXPECT_EQ(words[1], 0x00010600u);
      EXPECT_FALSE(holds_tag(words)) << to_string(v);
      if (s.types.a != DataType::kBf16)  // The validator does not know bfloat16.
        expect_valid(words, to_string(v) + " " + to_string(s));
    }
}

TEST(WorkgroupMatrix, TheSizeOfAWorkgroupIsWrittenAsNumbers) {
  const auto words = compile(emit_gemm(workgroup_matrix_point(), {parse_types("f16")}));
  const auto modes = instructions(words, 16);  // OpExecutionMode
  ASSERT_EQ(modes.size(), 1u);
  EXPECT_THAT(std::vector(modes[0].begin() + 1, modes[0].end()),
              testing::ElementsAre(17, 256, 1, 1));  // LocalSize
  EXPECT_TRUE(instructions(words, 331).empty());     // OpExecutionModeId
}

TEST(WorkgroupMatrix, LoadsAreTransposedByViews) {
  for (const Signature& plain : all_signatures()) {
    Signature s = plain;
    s.types = parse_types("f16");
    const auto loads = instructions(compile(emit_gemm(workgroup_matrix_point(), s)), 5367);
    // Operands: result type, result, pointer, old value, layout, memory, addressing.
    ASSERT_EQ(loads.size(), 2u);
    for (const auto& [load, transposed] : {std::pair{loads[0], s.trans_a == Transpose::kYes},
                                           {loads[1], s.trans_b == Transpose::kYes}}) {
      ASSERT_EQ(load.size(), transposed ? 8u : 7u);
      EXPECT_EQ(load[5], 0u);
      EXPECT_EQ(load[6], transposed ? 1u : 0u);
    }
  }
}

TEST(WorkgroupMatrix, TheSpaceHasGgmlsTiles) {
  const std::vector<Variant> all = legal_variants(workgroup_matrix_limits());
  for (const auto& [rows, columns, depth, invocations] :
       {std::tuple{128, 256, 64, 256}, {128, 128, 64, 256}, {64, 64, 64, 128}})
    EXPECT_TRUE(std::ranges::any_of(
        all,
        [m = rows, n = columns, k = depth, lanes = invocations](const Variant& v) {
          return has_workgroup_scope(v) && v.tile_m == m && v.tile_n == n && v.matrix_k == k &&
                 local_size(v) == lanes;
        }))
        << rows << " x " << columns;
  EXPECT_LE(std::ranges::count_if(all, has_workgroup_scope), 200);
}

}  // namespace
}  // namespace rooftile
