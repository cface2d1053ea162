// float32 on matrix units: kernels that split operands into bfloat16 parts keep float32's bound,
// and so do those that multiply them by the integers of a quantised B. No software device
// multiplies bfloat16, so the units are emulated in GLSL (tests/support/emulated_matrix.glsl): this
// program has templates of its own.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <string>

#include "certify_fixture.h"
#include "core/numbers/random.h"
#include "generator/rules.h"
#include "generator/template_text.h"
#include "runtime/verify/certify_run.h"
#include "tests/support/file_text.h"
#include "tests/support/transposes.h"

namespace rooftile {

std::string_view template_text(std::string_view file) {
  static const auto support = [](const char* name) {
    return bytes_of_file(std::string(ROOFTILE_SOURCE_DIR) + "/tests/support/" + name);
  };
  static const std::string units = support("emulated_matrix.glsl"),
                           products = support("emulated_products.glsl");
  if (file == "matrix/cooperative_matrix.glsl") return units;
  for (const EmbeddedText& entry : embedded_templates()) {
    if (entry.name != file) continue;
    if (file != "matrix/store.glsl") return entry.text;
    static const std::string store = products + std::string(entry.text);
    return store;
  }
  throw std::runtime_error("there is no template " + std::string(file));
}

namespace {

// Kernels of short units have fewer copies of the code that multiplies, and compile sooner.
const MatrixShape kSquare = {8, 8, 16, DataType::kBf16, DataType::kF32},
                  kTall = {16, 8, 16, DataType::kBf16, DataType::kF32},
                  kShort = {8, 8, 8, DataType::kBf16, DataType::kF32};

class CertifyPartsTest : public CertifyFixture {
 protected:
  void SetUp() override {
    CertifyFixture::SetUp();
    // The units of this program's kernels, which need nothing of the driver. Loops are short here.
    auto& limits = const_cast<DeviceProfile&>(device_->profile()).limits;
    limits.matrix_shapes = {kSquare, kTall, kShort};
    limits.max_loop_trips = 0;
  }

  Variant kernel(const std::string& changes = "", const MatrixShape& shape = kSquare) const {
    Variant v = parse_variant(
        "family=matrix vector_width_a=4 vector_width_b=4 stage=stored shared_pad=8 " + changes);
    v.matrix_m = shape.m;
    v.matrix_n = shape.n;
    v.matrix_k = shape.k;
    v.unroll_k = std::max(v.unroll_k, shape.k);
    v.subgroup_size = static_cast<int>(device_->profile().limits.subgroup_size);
    if (v.subgroup_m == 0) v.subgroup_m = shape.m;
    if (v.subgroup_n == 0) v.subgroup_n = shape.n;
    v.tile_m = 2 * v.subgroup_m;
    v.tile_n = 2 * v.subgroup_n;
    v.tile_k = std::max(v.tile_k, v.subgroups_k * v.unroll_k);
    return v;
  }
};

TEST_F(CertifyPartsTest, EveryWayKeepsTheBoundOfFloat32) {
  // Each kernel with one of the signatures.
  expect_right(
      {kernel("subgroup_m=16 subgroup_n=16", kShort), kernel("prefetch=ahead raster=grouped4"),
       kernel("split_k=3 vector_width_a=1 vector_width_b=2"),
       kernel("subgroups_k=2 vector_width_a=2 vector_width_b=1"), kernel("edge=exact tile_k=32")},
      {"f32.nn", "f32_f16.nn", "f32.tn", "f32_f16.tt", "f32.nt"}, 5);
}

TEST_F(CertifyPartsTest, TwoTilesOtherShapesEpiloguesAndGroupsAreRight) {
  expect_right({kernel("stages=2", kShort), kernel("", kTall)}, {"f32.nt", "f32.tn"}, 2);
  expect_right({kernel("prefetch=peeled", kShort)}, {"f32.nt.bias_column+gelu_erf+residual"}, 1);
  expect_right({kernel("", kShort)}, {"f32.nn.grouped"}, 1);
}

TEST_F(CertifyPartsTest, AQuantisedBIsMultipliedAsIntegersInEveryWay) {
  // Scales for 32 steps and for 16, without addends and with them. Loops over k, which are as long
  // as two blocks and more, are shorter than lavapipe's longest.
  expect_right({kernel("unroll_k=32", kShort), kernel("unroll_k=32 subgroup_n=16 prefetch=ahead"),
                kernel("unroll_k=32 subgroup_m=16 split_k=3 vector_width_a=1"),
                kernel("unroll_k=32 subgroups_k=2 vector_width_a=2", kTall),
                kernel("unroll_k=32 edge=exact tile_k=64")},
               {"f32xq4_k.tt", "f32xq4b16z.tt", "f32xq8b64zf.nt", "f32xq6_k.nt", "f32xq4b32.nt",
                "f32xq3_k.nt", "f32xq5_1.nt", "f32xq8b256z_f16.nt", "f32xmxfp4.nt", "f32xnvfp4.tt",
                "f32xq2_k.nt", "f32xiq4_nl.nt", "f32xq8_0.nt"},
               5);
  expect_right({kernel("unroll_k=32 stages=2", kShort)}, {"f32xq5_1.tt", "f32xq4b32zf.nt"}, 1);
  expect_right({kernel("unroll_k=32")},
               {"f32xq4_k.nt.bias_column+gelu_erf+residual", "f32xq5_1.nt.grouped"}, 1);
  expect_right({kernel("unroll_k=32 vector_width_a=2"),
                kernel("unroll_k=32 subgroups_k=2 prefetch=ahead split_k=2", kTall),
                kernel("unroll_k=32 stages=2", kShort)},
               {"bf16xq8_0_bf16.nt", "bf16xq4_1.tt", "bf16xmxfp4.nt.grouped"}, 2);
}

// Two parts, of which three products are kept, for calls of any k.
TEST_F(CertifyPartsTest, OperandsThatMayBeRoundedKeepTheBoundOfHalf) {
  expect_right(
      {kernel("subgroup_m=16 subgroup_n=16", kShort), kernel("prefetch=ahead"),
       kernel("split_k=3 vector_width_a=1 vector_width_b=2"),
       kernel("subgroups_k=2 vector_width_a=2 vector_width_b=1"), kernel("edge=exact tile_k=32")},
      {"f32_half.nn", "f32_f16_half.nt", "f32_half.tn", "f32_half.tt",
       "f32_half.nt.bias_column+gelu_erf+residual"},
      5);
  expect_right({kernel("stages=2", kShort), kernel("", kTall)},
               {"f32_half.nn.grouped", "f32_half.nt"}, 2);
  expect_right({kernel("unroll_k=32", kShort), kernel("unroll_k=32 prefetch=ahead")},
               {"f32xq8_0_half.nt", "f32xq4_1_f16_half.nt"}, 2);
}

// Between the error of rounding to 8 bits, which one part would have, and that of float32.
TEST_F(CertifyPartsTest, TwoPartsHaveAQuarterOfTheErrorThatHalfAllows) {
  const Signature half = parse_signature("f32_half.nt");
  const Kernel kernel(device_, this->kernel(), half, ShaderCache({}));
  for (const std::int64_t k : {4, 24, 256}) {
    const CertificationCase test = {.problem =
                                        packed_problem(128, 100, k, kNo, kYes, 1, half.types)};
    const double ratio = run_case(*device_, kernel, test).worst_ratio;
    std::printf("k = %ld: %.4f of the bound\n", static_cast<long>(k), ratio);
    EXPECT_LT(ratio, 0.25) << k;
    // More than the bound of float32 allows, k + 3 times 2^-24.
    if (k == 4) {
      EXPECT_GT(ratio, 7 * 0x1p-14);
    }
  }
}

// Another kernel of such a class rounds nothing, and is held to the bound of float32.
TEST_F(CertifyPartsTest, KernelsThatRoundNoOperandKeepTheBoundOfFloat32) {
  const Variant v = parse_variant(
      "family=tiled tile_m=16 tile_n=16 tile_k=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 stage=shared");
  const Signature half = parse_signature("f32_half.nn");
  for (const CertificationCase& test :
       certification_cases(v, half, device_->profile().limits, SumsIn::kC))
    ASSERT_EQ(test.problem.types, Types{});
  expect_right({v}, {"f32_half.nn"}, 1);
  EXPECT_FALSE(mutant(v, half, "a[i / 4][i % 4], b[j]", "a[i / 4][i % 4] * 1.0005, b[j]").passed);
}

TEST_F(CertifyPartsTest, NumbersThatAreNotFiniteOrHaveNoFirstPartAreMultipliedInFloat32) {
  CertificationCase test;
  test.problem = packed_problem(33, 20, 40, kNo, kNo, 2);
  test.problem.beta = 0.5f;
  const CertificationOperands random = certification_operands(test);
  for (const char* way : {"", "split_k=2"}) {
    const Kernel kernel(device_, this->kernel(way), {}, ShaderCache({}));
    for (const std::uint32_t bits :
         {0x7f7fffffu, 0xff7fffffu, 0x7f7f8000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7fffffffu,
          0xffffffffu, 0x7f800001u}) {
      CertificationOperands x = random;
      const auto set = [](std::vector<char>& operand, std::int64_t at, std::uint32_t to) {
        std::memcpy(operand.data() + 4 * at, &to, 4);
      };
      for (const std::int64_t row : {0, 17, 32, 33 + 5})  // and one of the second matrix
        set(x.a, x.placement.offset_a + row * test.problem.lda + 37, bits);
      // The products of the largest numbers are finite.
      for (const std::int64_t matrix : {0, 1})
        for (std::int64_t column = 0; column < test.problem.n; ++column)
          set(x.b,
              x.placement.offset_b + matrix * test.problem.stride_b + 37 * test.problem.ldb +
                  column,
              std::bit_cast<std::uint32_t>(column == 3 ? 0.0f : 0.5f));
      const CaseResult result = run_case(*device_, kernel, test, x);
      EXPECT_EQ(result.wrong, "") << way << std::hex << " " << bits;
    }
  }
}

// As in float32: of factors whose product has at most 24 bits no pair of parts is left out.
TEST_F(CertifyPartsTest, IntegersWhoseSumsFloat32HoldsAreExact) {
  const Kernel kernel(device_, this->kernel("prefetch=ahead"), {}, ShaderCache({}));
  CertificationCase test;
  test.problem = packed_problem(33, 20, 64, kNo, kNo);
  CertificationOperands x = certification_operands(test);
  Random random(1);
  const auto fill = [&](std::vector<char>& operand, std::int64_t offset, std::int64_t elements,
                        int least, int most) {
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto value =
          static_cast<float>(least + static_cast<int>(random.below(most - least + 1)));
      std::memcpy(operand.data() + 4 * (offset + i), &value, 4);
    }
  };
  // Factors have 18 bits together, so that sums of 64 products have 24.
  for (const int bits : {6, 9, 12, 17}) {
    const int a = (1 << bits) - 1, b = (1 << (18 - bits)) - 1;
    fill(x.a, x.placement.offset_a, span_a(test.problem), -a, a);
    fill(x.b, x.placement.offset_b, span_b(test.problem), -b, b);
    const CaseResult result = run_case(*device_, kernel, test, x);
    EXPECT_EQ(result.wrong, "") << bits;
    EXPECT_EQ(result.worst_ratio, 0) << bits;
  }
}

// Beside a large sum the first part of this number loses most to a unit that truncates, and the
// others would lose as much if they were not added before.
TEST_F(CertifyPartsTest, TheSmallestPartsAreAddedFirst) {
  const Kernel kernel(device_, this->kernel("unroll_k=32"), parse_signature("f32xq8_0.nt"),
                      ShaderCache({}));
  const CertificationCase test = {
      .problem = packed_problem(16, 16, 48, kNo, kYes, 1, parse_types("f32xq8_0"))};
  CertificationOperands x = certification_operands(test);
  for (std::int64_t row = 0; row < 16; ++row)
    for (std::int64_t step = 0; step < 48; ++step) {
      const float value = step == 0 ? 1 : step < 32 ? 0x1.3e7deap-15f : 0;
      std::memcpy(x.a.data() + 4 * (x.placement.offset_a + row * test.problem.lda + step), &value,
                  4);
    }
  constexpr std::size_t kBlockBytes = 34;  // A float16 of 1, and integers.
  for (std::size_t at = 0; at < x.b.size(); ++at)
    x.b[at] = static_cast<char>(at % kBlockBytes == 0 ? 0 : at % kBlockBytes == 1 ? 0x3c : 65);
  const CaseResult result = run_case(*device_, kernel, test, x);
  EXPECT_EQ(result.wrong, "");
  EXPECT_LT(result.worst_ratio, 0.6);
}

// In units of 2^-24 of the sum of magnitudes. If units added to all sums, errors would grow with k.
TEST_F(CertifyPartsTest, ErrorsAreAboutThoseOfFloat32) {
  const Signature nt = {.trans_b = kYes};
  const Kernel parts(device_, kernel(), nt, ShaderCache({})),
      float32(device_,
              parse_variant("family=tiled tile_m=32 tile_n=32 tile_k=16 reg_m=4 reg_n=4 unroll_k=8 "
                            "vector_width_a=4 vector_width_b=4 stage=shared shared_pad=4"),
              nt, ShaderCache({}));
  for (const InjectedFault plant : {InjectedFault::kNothing, InjectedFault::kMagnitudes})
    for (const std::int64_t k : {24, 64, 256, 512}) {  // lavapipe leaves a longer loop early
      const CertificationCase test = {.problem = packed_problem(128, 100, k, kNo, kYes),
                                      .plant = plant};
      const double bound = static_cast<double>(k) + 3,
                   by_parts = bound * run_case(*device_, parts, test).worst_ratio,
                   in_float32 = bound * run_case(*device_, float32, test).worst_ratio;
      std::printf("k = %ld, %s: %.1f by parts, %.1f in float32\n", static_cast<long>(k),
                  plant == InjectedFault::kNothing ? "-1 to 1" : "all magnitudes", by_parts,
                  in_float32);
      EXPECT_LE(by_parts, 2 * in_float32) << k;
    }
}

// Short units show most of them.
TEST_F(CertifyPartsTest, MutantsAreRefused) {
  const struct {
    const char *from, *to, *way = "";
    const MatrixShape& shape = kShort;
  } kMutants[] = {
      {"multiply_parts(1, 1);", ""},
      {"multiply_parts(0, 2);", "multiply_parts(2, 0);"},
      {"coopMatAdd(sums[i][j], products[i])", "products[i]"},
      {"part < PARTS; ++part) {", "part < PARTS - 1; ++part) {"},
      {"take_part(rest[2 * w], part) >> 16", "take_part(rest[2 * w + 1], part) >> 16"},
      {"rest -= uintBitsToFloat(bits)", "rest = 0.0"},
      {"count > 0 ? x.x : 0.0", "x.x", "", kSquare},
      {"i * MATRIX_M", "0", "subgroup_m=16"},
      {"if (!are_finite(sum, to_column)) sum =", "if (false) sum ="},
      {"const uint i = offset_a", "const uint i = base_a", "split_k=2"},
      {"EXTRA_BITS = 1", "EXTRA_BITS = 0", "", kSquare},  // a unit that loses more
  };
  for (const auto& [from, to, way, shape] : kMutants)
    EXPECT_FALSE(mutant(kernel(way, shape), {}, from, to).passed) << from;
}

TEST_F(CertifyPartsTest, MutantsOfTwoPartsAreRefused) {
  const struct {
    const char *from, *to, *signature = "f32_half.nn", *way = "";
  } kMutants[] = {
      {"multiply_parts(0, 1);", ""},
      {"multiply_parts(1, 0);", ""},
      {"multiply_parts(1, 0);", "multiply_parts(0, 1);"},
      {"part < PARTS; ++part) {", "part < PARTS - 1; ++part) {"},
      {"rest -= uintBitsToFloat(bits)", "rest = 0.0"},
      {"if (!are_finite(sum, to_column)) sum =", "if (false) sum ="},
      {"part = 1; part <= PARTS", "part = 2; part <= PARTS", "f32xq8_0_half.nt", "unroll_k=32"},
  };
  for (const auto& [from, to, signature, way] : kMutants)
    EXPECT_FALSE(mutant(kernel(way, kShort), parse_signature(signature), from, to).passed) << from;
}

// Each changes what only a quantised B has.
TEST_F(CertifyPartsTest, MutantsOfScaledSumsAreRefused) {
  const struct {
    const char *from, *to, *signature = "f32xq4_1.nt", *way = "";
  } kMutants[] = {
      {"coopMatMul(products[i][j], scales)", "products[i][j]"},
      {"coopMatMul(row_sums[i], addends)", "addends"},
      {"scales_b(stage, tile_step(step + u), column, SCALES)",
       "scales_b(stage, tile_step(step + u), column, 0)"},
      {"part = 1; part <= PARTS", "part = 2; part <= PARTS", "f32xq8_0.nt"},
      {"EXTRA_BITS = 1", "EXTRA_BITS = 0", "f32xq8_0.nt"},  // a unit that loses more
      {"EXTRA_BITS = 1", "EXTRA_BITS = 0", "bf16xq4_1.nt"},
      {"CooperativeMatrixLayoutRowMajor, 0,", "CooperativeMatrixLayoutColumnMajor, 0,"},
      {"count > 3 ? x.w", "count > 2 ? x.w", "f32xq8_0.nt"},
      {"count > 2 ? x.z", "count > 1 ? x.z", "f32xq8_0.nt"},
      {"coopMatMulAdd(of_a, ones, row_sums[i])", "coopMatMulAdd(of_a, ones, products[i][0])"},
      {"tile_step(step + u + o * MATRIX_K)", "tile_step(step + u)"},
      {"SHARED_VECTOR(0x3f803f80u)", "SHARED_VECTOR(0x3f803f00u)"},
      {"at.y * TILE_N + at.x], floatBitsToUint(b_scale[l].x)",
       "at.x], floatBitsToUint(b_scale[l].x)", "f32xq6_k.nt"},
      {"SCALES + at.y * TILE_N", "SCALES", "f32xq2_k.nt"},
      {"b_tile_start + scale_position(l).y * SCALE_K", "b_tile_start", "f32xq6_k.nt"},
      {"k0 + scale_position(l).y * SCALE_K", "k0", "f32xq6_k.nt"},
      {"(step) / SCALE_K * TILE_N", "0", "f32xq3_k.nt"},
      {"i / GROUPS_K, i % GROUPS_K", "i / GROUPS_K, 0", "f32xq6_k.nt"},
      {"column0 + scale_position(l).x", "scale_position(l).x", "f32xq8_0.nt"},
      {"vec2(1, -1)", "vec2(1, 1)"},
      {"-scale * zero_point_of(line, step", "-scale * zero_point_of(line, 0 * step",
       "f32xq4b32zf.nt"},
      {"zero_point_b(line, step) 0.0", "zero_point_b(line, step) 1.0", "f32xq4b32zf.nt"},
      {"zero_point_of(line, (step)", "zero_point_of(line, 0 * (step)", "f32xq4b32z.nt"},
      {"integer_in(word, i, zero_point)) >> 16", "integer_in(word, i, zero_point)) >> 17"},
      {"integer_in(word_b(line, at), at %", "integer_in(word_b(line, at), 0 *"},
      {"integer_in(word_b(line, at)", "integer_in(word_b(line, step)", "f32xq4b32.nt", "split_k=2"},
      {"scale = scale_b(line, at)", "scale = scale_b(line, 0)"},
      {"* scale.x + scale.y;", "* scale.x;"},
      {"offset_b % ldb + step", "step", "f32xq4_0.nt", "split_k=2"},
      {"row * lda + step", "row * lda", "bf16xq8_0.nt"},
      {"step * lda + row", "step * lda", "bf16xq8_0.tt"},
      {"i % ELEMENTS_A / ELEMENTS_PER_WORD", "0", "bf16xq8_0.nt"},
      {"word >> (i % 2 * 16) << 16", "word << 16", "bf16xq8_0.nt"},
  };
  for (const auto& [from, to, signature, way] : kMutants)
    EXPECT_FALSE(
        mutant(kernel(std::string("unroll_k=32 ") + way), parse_signature(signature), from, to)
            .passed)
        << from;
}

}  // namespace
}  // namespace rooftile
