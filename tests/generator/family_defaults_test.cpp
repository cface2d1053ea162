#include "generator/family_defaults.h"

#include <gmock/gmock.h>

#include <array>

#include "core/error.h"
#include "generator/compile.h"
#include "generator/space.h"
#include "test_limits.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

constexpr std::array kFamilies = {Family::kNaive,     Family::kRegister, Family::kTiled,
                                  Family::kBroadcast, Family::kVector,   Family::kBatchedSmall,
                                  Family::kMatrix};

CompletedVariant complete_for(Family family, const DeviceLimits& limits, const Signature& s,
                              const ParameterSettings& settings = {},
                              const std::vector<Variant>& space = {}) {
  return complete(family, settings, limits, space,
                  [&](const Variant& v) { return illegal_reason(v, limits, s); });
}

/// All legal combinations of types; quantised ones with these blocks.
std::vector<Types> all_types(std::initializer_list<int> blocks) {
  std::vector<Quantization> quantizations = {{}};
  for (const int bits : {4, 8})
    for (const int block : blocks)
      for (const ZeroPoint zero : {ZeroPoint::kMiddle, ZeroPoint::kPacked, ZeroPoint::kFloat})
        quantizations.push_back({bits, block, zero});
  std::vector<Types> types;
  using enum DataType;
  for (const Quantization& b : quantizations)
    for (const DataType a : {kF32, kF16, kBf16, kI8, kU8})
      for (const DataType c : {kF32, kF16, kBf16, kI32})
        for (const Sums sums : {Sums::kUsual, Sums::kF16}) {
          const Types t = {.a = a, .b = b, .c = c, .sums = sums};
          try {
            validate(t);
            types.push_back(t);
          } catch (const Error&) {
            // These combinations are illegal.
          }
        }
  return types;
}

std::vector<Epilogue> all_epilogues() {
  std::vector<Epilogue> all;
  for (int flags = 0; flags < 16; ++flags)
    for (const Bias bias : {Bias::kNone, Bias::kRow, Bias::kColumn})
      for (const Activation activation :
           {Activation::kNone, Activation::kRelu, Activation::kGeluErf, Activation::kGeluTanh,
            Activation::kSilu})
        all.push_back({.row_scale = (flags & 1) != 0,
                       .column_scale = (flags & 2) != 0,
                       .bias = bias,
                       .activation = activation,
                       .residual = (flags & 4) != 0,
                       .clamp = (flags & 8) != 0});
  return all;
}

/// The reason why no kernel of a family can have this signature on matrix_limits(); "" when a
/// kernel must exist.
std::string expected_reason(const Signature& s) {
  if (s.types.c == DataType::kI32 && any(s.epilogue)) return "an i32 C has no epilogue";
  if (quantized(s.types) && s.trans_b == Transpose::kNo) return "a quantised B is stored n x k";
  return "";
}

/// Compiles the family's kernel for this signature, or expects a refusal with the given reason.
void expect_compiled_or_refused(Family family, const Signature& s) {
  const auto [v, reason] = complete_for(family, matrix_limits(), s);
  const std::string expected = expected_reason(s);
  if (!expected.empty()) {
    EXPECT_THAT(reason.value_or(""), HasSubstr(expected)) << to_string(s);
    return;
  }
  ASSERT_EQ(reason.value_or(""), "") << name(family) << " " << to_string(s);
  EXPECT_NO_THROW(compile(emit_gemm(v, s))) << to_string(v) << " " << to_string(s);
  if (v.packed_a == Packed::kYes) {
    EXPECT_NO_THROW(compile(emit_pack(v, s, Operand::kA))) << to_string(v) << to_string(s);
  }
  if (v.packed_b == Packed::kYes) {
    EXPECT_NO_THROW(compile(emit_pack(v, s, Operand::kB))) << to_string(v) << to_string(s);
  }
}

class EveryFamily : public testing::TestWithParam<Family> {};

INSTANTIATE_TEST_SUITE_P(Families, EveryFamily, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return std::string(name(family.param)); });

TEST_P(EveryFamily, CompilesForAllTypesAndTransposesOrSaysWhyNot) {
  const Epilogue everything =
      parse_epilogue("row_scale+column_scale+bias_column+gelu_erf+residual+clamp");
  const std::vector<Types> types = all_types({32});
  for (std::size_t i = 0; i < types.size(); ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      Signature s = all_signatures()[j];
      s.types = types[i];
      if ((i + j) % 2 == 1) s.epilogue = everything;
      expect_compiled_or_refused(GetParam(), s);
    }
}

// A prime step, so that the sample contains every value of every parameter.
TEST_P(EveryFamily, CompilesForASampleOfEpilogues) {
  const std::vector<Types> types = all_types({16, 256});
  const std::vector<Epilogue> epilogues = all_epilogues();
  const std::vector<Signature> signatures = all_signatures();
  const std::size_t all = types.size() * epilogues.size() * signatures.size();
  for (std::size_t i = 0; i < all; i += 1999) {
    Signature s = signatures[i % signatures.size()];
    s.types = types[i / signatures.size() % types.size()];
    s.epilogue = epilogues[i / signatures.size() / types.size()];
    expect_compiled_or_refused(GetParam(), s);
  }
}

TEST_P(EveryFamily, HasALegalKernelWithoutSettingsOnEveryDevice) {
  for (const DeviceLimits& limits :
       {minimum_limits(), lavapipe_limits(), discrete_limits(), variable_limits(), matrix_limits(),
        workgroup_matrix_limits()}) {
    const bool matrix = GetParam() == Family::kMatrix;
    const Signature s = {.types = parse_types(matrix ? "f16" : "f32")};
    const auto [v, reason] = complete_for(GetParam(), limits, s);
    if (matrix && limits.matrix_shapes.empty()) {
      EXPECT_EQ(reason.value_or(""), "the device has no matrix units");
      continue;
    }
    EXPECT_EQ(reason.value_or(""), "") << to_string(v);
    EXPECT_EQ(v.family, GetParam());
    EXPECT_NO_THROW(compile(emit_gemm(v, s))) << to_string(v);
  }
}

// These kernels need no optional feature.
TEST_P(EveryFamily, HasKernelsOfAllTypesOnTheLeastDevice) {
  if (GetParam() == Family::kMatrix) return;
  for (const Types& types : all_types({16, 32, 64, 128, 256})) {
    const Signature s = {.types = types, .trans_b = Transpose::kYes};
    const std::string reason = complete_for(GetParam(), minimum_limits(), s).reason.value_or("");
    if (types.sums == Sums::kF16)
      EXPECT_THAT(reason, HasSubstr("no 16-bit arithmetic"));
    else
      EXPECT_EQ(reason, "") << to_string(types);
  }
}

TEST(Complete, KeepsGivenParameters) {
  for (const DeviceLimits& limits : {minimum_limits(), discrete_limits()}) {
    const ParameterSettings settings = {{"tile_m", "32"}, {"tile_k", "8"}, {"shared_pad", "0"}};
    const auto [v, reason] = complete_for(Family::kTiled, limits, {}, settings);
    EXPECT_EQ(reason.value_or(""), "");
    EXPECT_EQ(with_settings(v, settings), v);
  }
}

TEST(Complete, FindsKernelsThatOnlyTheSpaceHolds) {
  const auto [v, reason] =
      complete_for(Family::kMatrix, workgroup_matrix_limits(), {.types = parse_types("f16")},
                   {{"scope", "workgroup"}}, legal_variants(workgroup_matrix_limits()));
  EXPECT_EQ(reason.value_or(""), "");
  EXPECT_TRUE(has_workgroup_scope(v));
}

TEST(Complete, NamesTheReasonWhereNothingIsLegal) {
  const auto [v, reason] =
      complete_for(Family::kRegister, discrete_limits(), {}, {{"reg_m", "3"}, {"tile_m", "16"}});
  EXPECT_EQ(v.reg_m, 3);
  EXPECT_EQ(reason.value_or(""), "reg_m must divide tile_m");
  EXPECT_THROW(complete_for(Family::kTiled, {}, {}, {{"tile_q", "3"}}), Error);
  EXPECT_THROW(complete_for(Family::kTiled, {}, {}, {{"tile_m", "many"}}), Error);
}

/// The sums of one invocation and the operands of one unrolled step: what must stay in registers.
int held_values(const Variant& v) {
  return v.reg_m * v.reg_n + v.unroll_k * (v.reg_m + v.reg_n) / 2;
}

TEST(Defaults, BroadcastKernelsFitTheRegistersOfAnInvocation) {
  DeviceLimits limits = discrete_limits();
  limits.subgroup_size_control = true;
  struct Gpu {
    std::uint32_t size, least, most;
    int registers;
  };
  constexpr std::array kGpus = {Gpu{32, 32, 32, 255}, Gpu{64, 32, 64, 256}, Gpu{64, 64, 64, 256},
                                Gpu{32, 8, 32, 128}, Gpu{32, 16, 32, 128}};
  for (const Gpu& gpu : kGpus) {
    limits.subgroup_size = gpu.size;
    limits.min_subgroup_size = gpu.least;
    limits.max_subgroup_size = gpu.most;
    const Variant v = family_defaults(Family::kBroadcast, limits).front();
    // Addresses and counters take 40 in the eight chips' code (`rooftile inspect --defaults`).
    EXPECT_LE(held_values(v) + 40, gpu.registers) << to_string(v);
    EXPECT_EQ(v.subgroup_size, static_cast<int>(gpu.registers == 128 ? gpu.least : gpu.size));
  }
}

// With 16 x 16 the driver of Xe-LP, which emulates the units, spills (gpu_compilers.tgl).
TEST(Defaults, MatrixKernelsFitTheRegistersOfXeLp) {
  DeviceLimits limits = discrete_limits();
  limits.min_subgroup_size = 8;
  limits.matrix_shapes = {{8, 8, 16, DataType::kF16, DataType::kF32}};
  const auto rows = [&](bool atomics) {
    limits.float32_atomic_add = atomics;
    return family_defaults(Family::kMatrix, limits).front().subgroup_m;
  };
  EXPECT_EQ(rows(true), 16);
  EXPECT_EQ(rows(false), 8);
}

TEST(Defaults, OfNaiveAreTheFallback) {
  EXPECT_EQ(family_defaults(Family::kNaive, {}).front(), fallback_variant());
}

}  // namespace
}  // namespace rooftile
