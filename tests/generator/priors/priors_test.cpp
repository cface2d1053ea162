// Every line of every table is legal on a device of its kind, and devices get the tables of their
// vendor.
#include "generator/priors/priors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "generator/rules.h"
#include "generator/space.h"
#include "tests/generator/test_limits.h"

namespace rooftile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

DeviceLimits limits(std::uint32_t least_lanes, std::uint32_t most_lanes, std::uint32_t shared_bytes,
                    std::vector<MatrixShape> shapes) {
  return {.max_workgroup_invocations = 1024,
          .max_workgroup_size = {1024, 1024, 64},
          .shared_memory_bytes = shared_bytes,
          .max_storage_buffer_range_bytes = 1u << 31,
          .max_texel_buffer_elements = 1u << 27,
          .max_memory_allocation_bytes = 1u << 31,
          .subgroup_size = most_lanes,
          .min_subgroup_size = least_lanes,
          .max_subgroup_size = most_lanes,
          .subgroup_size_control = least_lanes != most_lanes,
          .subgroup_broadcast = true,
          .float16_arithmetic = true,
          .int8_arithmetic = true,
          .float64_arithmetic = true,
          .matrix_shapes = std::move(shapes),
          .integer_dot_product = true,
          .texel_buffer_r32 = true,
          .texel_buffer_rgba32 = true};
}

/// A device for each table.
DeviceProfile device_for(std::string_view table) {
  using enum DataType;
  const std::vector<MatrixShape> square = {{16, 16, 16, kF16, kF32},
                                           {16, 16, 16, kBf16, kF32},
                                           {16, 16, 32, kI8, kI32},
                                           {16, 16, 32, kU8, kI32}};
  DeviceProfile d;
  d.kind = DeviceKind::kDiscrete;
  if (table.starts_with("nvidia")) {
    d.vendor_id = 0x10de;
    d.limits = limits(32, 32, 49152, square);
    for (const MatrixShape& unit : square)
      for (int invocations : {128, 256}) d.limits.workgroup_matrices.push_back({unit, invocations});
    d.limits.max_matrix_dimension = 256;
    d.limits.workgroup_matrix_shared_bytes = 16384;
    if (table == "nvidia_matrix.txt")
      std::erase_if(d.limits.matrix_shapes,
                    [](const auto& shape) { return shape.operand == kBf16; });
    if (table == "nvidia_matrix.txt")
      std::erase_if(d.limits.workgroup_matrices,
                    [](const auto& matrix) { return matrix.unit.operand == kBf16; });
    if (table == "nvidia.txt") {
      d.limits.matrix_shapes.clear();
      d.limits.workgroup_matrices.clear();
    }
  } else if (table == "amd_rdna.txt") {
    d.vendor_id = 0x1002;
    d.limits = limits(32, 64, 65536, square);
    for (const DataType operand : {kI8, kU8})
      d.limits.matrix_shapes.push_back({16, 16, 16, operand, kI32});
  } else if (table == "amd_cdna.txt") {
    d.vendor_id = 0x1002;
    d.limits = limits(64, 64, 65536, square);
  } else if (table.starts_with("intel")) {
    d.vendor_id = 0x8086;
    if (table == "intel_xe.txt") d.kind = DeviceKind::kIntegrated;
    d.limits = limits(8, 32, 49152, {{8, 16, 16, kF16, kF32}, {8, 8, 16, kF16, kF32}});
    for (const DataType operand : {kI8, kU8})
      for (const int columns : {8, 16})
        d.limits.matrix_shapes.push_back({8, columns, 32, operand, kI32});
    d.limits.float32_atomic_add = true;
  } else if (table == "apple.txt") {
    d.vendor_id = 0x106b;
    d.limits = limits(32, 32, 32768, {});
  } else if (table == "arm_mali.txt") {
    d.vendor_id = 0x13b5;
    d.limits = limits(16, 16, 32768, {});
  } else if (table == "qualcomm_adreno.txt") {
    d.vendor_id = 0x5143;
    d.limits = limits(64, 128, 32768, {});
  } else if (table == "software.txt") {
    d.kind = DeviceKind::kSoftware;
    d.limits = limits(4, 8, 32768, {});  // both kinds of software devices
  }
  return d;
}

/// One problem for each kind that lines name.
std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const char* types : {"f32", "f64", "f16", "bf16", "i8_i32", "u8_i32", "f16xq4b32_f16",
                            "f16xq8_0", "f16xq4_k", "f16xq6_k", "f16xmxfp4", "f32xq4_k_int8", "f32xq6_k_int8"})
    for (const auto& [m, n] : {std::pair{1024, 2048}, std::pair{64, 128}, std::pair{1, 4096},
                               std::pair{8, 4096}, std::pair{4096, 1}, std::pair{4096, 8}})
      all.push_back(
          retyped(packed_problem(m, n, 4096, Transpose::kNo, Transpose::kYes), parse_types(types)));
  for (const char* types : {"f32", "f16", "i8_i32"})
    all.push_back(retyped(packed_problem(32, 48, 64, Transpose::kNo, Transpose::kYes, 12),
                          parse_types(types)));
  // Some lines are for operands that packed dot products and whole vectors along k cannot take, or
  // for those that lie across k.
  for (const char* types : {"f16", "bf16", "i8_i32"})
    all.push_back(retyped(packed_problem(1024, 2048, 4096), parse_types(types)));
  all.push_back(retyped(packed_problem(1024, 2048, 4096, Transpose::kYes, Transpose::kYes),
                        parse_types("f16xq4b32_f16")));
  return all;
}

TEST(Priors, EveryLineIsForSomeProblemAndLegalOnADeviceOfItsKind) {
  for (std::string_view table : all_prior_tables()) {
    const DeviceProfile device = device_for(table);
    ASSERT_NE(device.limits.subgroup_size, 1u) << table << ": this test needs a device of its kind";
    std::map<std::string, std::string> unused;  // variant -> reason
    for (const Prior& prior : all_priors_in(table)) {
      EXPECT_FALSE(prior.source.empty());
      unused[to_string(prior.variant)] = "no problem is like those that it is for";
    }
    EXPECT_FALSE(unused.empty()) << table;
    for (const Problem& p : problems())
      for (const Prior& prior : priors_in(table, p)) {
        const auto reason = illegal_reason(prior.variant, device.limits, p, own_buffers(p));
        if (!reason) {
          unused.erase(to_string(prior.variant));
        } else if (const auto line = unused.find(to_string(prior.variant)); line != unused.end()) {
          line->second = to_string(p) + ": " + *reason;
        }
      }
    for (const auto& [variant, why] : unused)
      ADD_FAILURE() << table << ": " << variant << ": " << why;
  }
}

TEST(Priors, TheSearchTriesThem) {
  for (std::string_view table : all_prior_tables())
    for (const Problem& p : problems())
      for (const Prior& prior : priors_in(table, p))
        for (Signature s : all_signatures()) {
          s.types = p.types;
          if (illegal_reason(prior.variant, device_for(table).limits, s)) continue;
          EXPECT_EQ(skip_reason(prior.variant, device_for(table), s).value_or(""), "");
        }
}

TEST(Priors, LinesMayNameAFormatOfGgufFiles) {
  const DeviceProfile device = device_for("software.txt");
  const auto unrolled = [&](const char* types) {
    const Problem p =
        packed_problem(1, 4096, 4096, Transpose::kNo, Transpose::kYes, 1, parse_types(types));
    std::vector<int> steps;
    for (const Prior& prior : priors_for(device, p)) steps.push_back(prior.variant.unroll_k);
    return steps;
  };
  EXPECT_THAT(unrolled("f32xq8_0"), ElementsAre(256, 256, 64, 64, 64, 32));
  EXPECT_THAT(unrolled("f16xmxfp4_f16"), ElementsAre(256, 256, 128, 64, 64, 32));
  EXPECT_THAT(unrolled("f32xq6_k"), ElementsAre(512, 128, 64, 64, 32));
  EXPECT_THAT(unrolled("f32xq8b32"), ElementsAre(64, 64, 32))
      << "8 bits with separate scales are not Q8_0";
}

TEST(Priors, DevicesGetTheTablesOfTheirKind) {
  for (std::string_view table : all_prior_tables())
    EXPECT_EQ(prior_tables(device_for(table)).front(), table);
  EXPECT_THAT(prior_tables(device_for("nvidia_bf16.txt")),
              ElementsAre("nvidia_bf16.txt", "nvidia_matrix.txt", "nvidia.txt"));
  EXPECT_THAT(prior_tables(DeviceProfile{}), IsEmpty());
}

// By the ids for which Mesa's compiler emits matrix operations (dpas).
TEST(Priors, IntelGpusWithoutMatrixUnitsGetNoTableForThem) {
  struct Gpu {
    std::uint32_t id;
    DeviceKind kind;
    std::uint32_t least_lanes;
    bool atomics, units;
  };
  constexpr auto kDiscrete = DeviceKind::kDiscrete, kIntegrated = DeviceKind::kIntegrated;
  constexpr Gpu kGpus[] = {
      {0x9a49, kIntegrated, 8, false, false},  // Tiger Lake
      {0x4680, kIntegrated, 8, false, false},  // Alder Lake
      {0xa780, kIntegrated, 8, false, false},  // Raptor Lake
      {0x4905, kDiscrete, 8, false, false},    // DG1
      {0x7d55, kIntegrated, 8, true, false},   // Meteor Lake H
      {0x7d60, kIntegrated, 8, true, false},   // Meteor Lake U
      {0x7d67, kIntegrated, 8, true, false},   // Arrow Lake S
      {0x7d41, kIntegrated, 8, true, false},   // Arrow Lake U
      {0xb640, kIntegrated, 8, true, false},  {0x7d51, kIntegrated, 8, true, true},  // Arrow Lake H
      {0x7dd1, kIntegrated, 8, true, true},   {0x5690, kDiscrete, 8, true, true},    // Arc A770M
      {0x56c0, kDiscrete, 8, true, true},                                            // Flex 170
      {0x64a0, kIntegrated, 16, true, true},                                         // Lunar Lake
      {0xe202, kDiscrete, 16, true, true},                                           // Battlemage
  };
  DeviceProfile device = device_for("intel_xmx.txt");
  for (const Gpu& gpu : kGpus) {
    device.device_id = gpu.id;
    device.kind = gpu.kind;
    device.limits.min_subgroup_size = gpu.least_lanes;
    device.limits.float32_atomic_add = gpu.atomics;
    EXPECT_EQ(prior_tables(device).front(), gpu.units ? "intel_xmx.txt" : "intel_xe.txt")
        << fmt::format("{:x}", gpu.id);
    EXPECT_EQ(prior_tables(device).back(), "intel_xe.txt");
  }
}

TEST(Priors, AreThoseForTheProblem) {
  const DeviceProfile device = device_for("nvidia_matrix.txt");
  const auto families = [&](const char* types, std::int64_t m) {
    std::vector<Family> found;
    for (const Prior& prior :
         priors_for(device, retyped(packed_problem(m, 1024, 1024), parse_types(types))))
      found.push_back(prior.variant.family);
    return found;
  };
  EXPECT_EQ(families("f16", 1024).front(), Family::kMatrix);
  for (const char* types : {"i8_i32", "u8_f16"})
    EXPECT_EQ(families(types, 1024).front(), Family::kMatrix) << types;
  EXPECT_EQ(families("f32", 1024).front(), Family::kTiled);
  EXPECT_THAT(families("f16", 1), testing::Each(Family::kVector));
}

TEST(Priors, ALineMayLeaveOutTransposes) {
  const DeviceProfile device = device_for("intel_xmx.txt");
  const auto depths = [&](const char* types, Transpose a, Transpose b) {
    const Problem p = retyped(packed_problem(512, 512, 1024, a, b), parse_types(types));
    std::vector<int> found;
    for (const Prior& prior : priors_for(device, p))
      if (prior.variant.family == Family::kMatrix && prior.variant.subgroup_size == 16)
        found.push_back(prior.variant.tile_k);
    return found;
  };
  using enum Transpose;
  EXPECT_THAT(depths("f16xq4b32_f16", kNo, kYes), testing::ElementsAre(32, 64, 16));
  EXPECT_THAT(depths("f16xq4b32_f16", kYes, kYes), testing::ElementsAre(64, 64, 16));
  EXPECT_THAT(depths("u8_i32", kYes, kYes), testing::ElementsAre(64, 32));
  EXPECT_THAT(depths("u8_i32", kYes, kNo), testing::ElementsAre(32));
}

TEST(Priors, BatchesOfSmallMatricesHaveTheirOwnBesideThoseForSmallProblems) {
  const DeviceProfile device = device_for("nvidia.txt");
  const auto families = [&](std::int64_t n, std::int64_t batch) {
    std::vector<Family> found;
    for (const Prior& prior :
         priors_for(device, packed_problem(32, n, 64, Transpose::kNo, Transpose::kNo, batch)))
      found.push_back(prior.variant.family);
    return found;
  };
  EXPECT_THAT(families(48, 12), testing::Contains(Family::kBatchedSmall));
  EXPECT_THAT(families(48, 12), testing::Contains(Family::kTiled));
  EXPECT_THAT(families(48, 1), testing::Not(testing::Contains(Family::kBatchedSmall)));
  EXPECT_THAT(families(65, 12), testing::Not(testing::Contains(Family::kBatchedSmall)));
}

}  // namespace
}  // namespace rooftile
