// Calls on device buffers in a class whose plain GEMM is tuned, but whose epilogue or type of C is
// not: a tuned plain kernel and a pass of the device over C compute them
// (runtime/call/pass_over_c.h).
#include <cstring>

#include "core/error.h"
#include "runtime/abi/handles.h"
#include "runtime/tuned/kernel_chooser.h"
#include "runtime/verify/certify.h"
#include "tests/support/changed_shader.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

constexpr const char* kEpilogues[] = {
    "relu",      "gelu_erf",         "gelu_tanh",
    "silu",      "bias_row",         "bias_column",
    "row_scale", "column_scale",     "residual",
    "clamp",     "bias_column+relu", "row_scale+column_scale+bias_column+gelu_tanh+residual+clamp"};

/// Contexts are deterministic unless a test says otherwise, so that no kernel is certified on
/// demand.
class DevicePassTest : public ResidentTest {
 protected:
  void open_deterministic(const Types& tuned = {}, const Epilogue& epilogue = {}) {
    const ScopedEnvironment deterministic("ROOFTILE_DETERMINISTIC", "1");
    open({best_}, epilogue, tuned);
  }
  static Problem problem(const char* epilogue, const char* types = "f32", float beta = 0.5f,
                         std::int64_t m = 33, std::int64_t n = 17) {
    return with_epilogue(
        padded_problem(m, n, 65, Transpose::kNo, Transpose::kYes, 2.0f, beta, parse_types(types)),
        parse_epilogue(epilogue));
  }
  /// Expects that the plain kernel and a pass compute the problem, not the fallback.
  void expect_pass(const Problem& p, std::int64_t offset = 4) {
    Product product(p);
    const rooftile_resident_operands operands = operands_of(product, offset);
    const rooftile_prepared chosen = prepared(product, operands);
    EXPECT_EQ(chosen.kernel, short_name(best_)) << to_string(p);
    EXPECT_GE(chosen.workspace_bytes, 4 * static_cast<std::size_t>(p.m * p.n * p.batch));
    expect_right(product, operands);
    release_buffers();
  }
  /// Returns the bytes of C after the call.
  std::vector<char> result(const Problem& p) {
    Product product(p);
    expect_right(product, 4);
    const auto* const c = static_cast<const char*>(product.c_data());
    return {c, c + c_bytes(product)};
  }
  void make_pass_wrong(const Problem& p) {
    ShaderCache(folder_ / "cache")
        .spirv(changed(emit_reduce(signature_of(p)), "sum += partial_sums[",
                       "sum += 1.01 * partial_sums["));
  }
  Context& context() { return context_->context; }

  const Variant best_ = parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=1 "
      "vector_width_b=1");
};

TEST_F(DevicePassTest, EveryEpilogueIsRightAtTileEdges) {
  open_deterministic();
  for (const char* epilogue : kEpilogues) expect_pass(problem(epilogue));
  for (const std::int64_t m : {1, 7, 8, 9})
    for (const std::int64_t n : {1, 3, 15, 16, 17})
      expect_pass(problem("bias_column+relu+residual", "f32", 0.0f, m, n));
}

TEST_F(DevicePassTest, EveryTypeOfCIsRightWithAndWithoutAnEpilogue) {
  struct Case {
    const char *tuned, *wanted;
  };
  for (const auto& [tuned, wanted] :
       {Case{"f32", "f32_f16"}, Case{"f32", "f32_bf16"}, Case{"f16", "f16_f16"},
        Case{"bf16", "bf16_bf16"}, Case{"i8_i32", "i8"}, Case{"i8_i32", "i8_f16"},
        Case{"u8_i32", "u8"}, Case{"f64", "f64"}}) {
    if (!computes(device_, parse_types(tuned))) continue;
    open_deterministic(parse_types(tuned));
    for (const std::string epilogue : {"", "row_scale+column_scale+bias_row+gelu_erf+clamp"})
      for (const float beta : {0.0f, 0.5f})
        if (tuned != std::string(wanted) || !epilogue.empty())  // else it needs no pass
          expect_pass(problem(epilogue.c_str(), wanted, beta), 0);
  }
}

TEST_F(DevicePassTest, BatchesAreRight) {
  open_deterministic();
  for (const bool shared_b : {false, true})
    expect_pass(padded_batch(problem("bias_column+silu+residual"), 3, shared_b));
}

TEST_F(DevicePassTest, AlphaZeroAndDepthZeroReadNeitherAnorB) {
  open_deterministic();
  Problem p = problem("bias_column+relu");
  p.alpha = 0;
  expect_pass(p);
  p = problem("bias_column+relu");
  p.k = 0;
  expect_pass(p);
}

// The driver's loops end before such a sum does: the plain kernel adds ranges of k, the fused one
// cannot.
TEST_F(DevicePassTest, SumsThatAreTooLongForATunedKernelThatFusesAreRight) {
  Problem p = problem("bias_column+relu", "f32", 0.5f, 9, 5);  // small: its sums are long
  p.k = 600'001;
  p.lda = p.ldb = p.k + 3;
  if (device_.limits.max_loop_trips == 0) return;
  open_deterministic();
  expect_pass(p);
  write_test_database(folder_ / fmt::format("{}.db", databases_ + 1), device_, {best_});
  open_deterministic({}, compiled_part(p.epilogue));
  expect_pass(p);
  // Without a tuned plain kernel the fallback makes the sums.
  open_deterministic({}, compiled_part(p.epilogue));
  for (const char* types : {"f32", "f16_f16"}) {
    Problem other = problem("bias_column+relu", types, 0.5f, p.m, p.n);
    other.k = p.k;
    other.lda = other.ldb = p.lda;
    Product product(other);
    const rooftile_resident_operands operands = operands_of(product, 4);
    EXPECT_EQ(prepared(product, operands).kernel, short_name(fallback_variant()));
    expect_right(product, operands);
    release_buffers();
  }
  p.k = 65;
  Product fused(p);
  EXPECT_EQ(prepared(fused, operands_of(fused, 4)).workspace_bytes, 0u);
  expect_right(fused, 4);
}

// Equal bits show that C is rounded once: a plain kernel with a half-precision C would also round
// before the epilogue.
TEST_F(DevicePassTest, GivesTheBitsOfTheKernelThatFusesTheEpilogue) {
  constexpr const char* kLong = "row_scale+column_scale+bias_column+relu";
  for (const auto& [types, epilogue] :
       {std::pair{"f32", "relu"}, {"f32", kLong}, {"f16_f16", kLong}, {"bf16_bf16", kLong}}) {
    const Problem p = problem(epilogue, types, 0.0f);
    open_deterministic(sums_signature(signature_of(p)).types);
    const std::vector<char> with_pass = result(p);
    open_deterministic(p.types, p.epilogue);
    EXPECT_EQ(with_pass, result(p)) << to_string(p);
  }
}

TEST_F(DevicePassTest, ListsRunThePassRepeatedly) {
  open_deterministic();
  Product product(problem("bias_column+gelu_tanh", "f32", 0.0f));
  const rooftile_resident_operands operands = operands_of(product, 4);
  const ProblemArgs problem(product);
  rooftile_list* list = nullptr;
  ok(rooftile_list_create(context_, &list));
  ok(rooftile_list_gemm(list, &problem.args, &operands));
  ok(rooftile_list_gemm(list, &problem.args, &operands));
  for (int turn = 0; turn < 3; ++turn) {
    run(list);
    download_c(product, operands.c);
    product.expect_right();
  }
  ok(rooftile_list_release(list));
}

TEST_F(DevicePassTest, APackedOperandIsReadFromItsPackedLayout) {
  const Variant packing = parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 packed_b=yes");
  {
    const ScopedEnvironment deterministic("ROOFTILE_DETERMINISTIC", "1");
    open({packing});
  }
  Problem plain = problem("");
  Product product(problem("bias_column+relu"));
  rooftile_resident_operands operands = operands_of(product, 4);
  const ProblemArgs fused(product);
  Product unfused(plain);
  const ProblemArgs unfused_args(unfused);
  const rooftile_pack_args pack = {
      .struct_size = sizeof pack, .operand = ROOFTILE_OPERAND_B, .call = &unfused_args.args};
  rooftile_resident_operands stored = {.struct_size = sizeof stored, .b = operands.b};
  rooftile_packed* packed = nullptr;
  ok(rooftile_resident_pack(context_, &pack, &stored, &packed));
  operands.b = {};
  rooftile_gemm_args args = fused.args;
  args.packed = packed;
  expect_right(product, operands, args);
  ok(rooftile_packed_release(packed));
}

TEST_F(DevicePassTest, AWrongPassIsRefusedAndTheFallbackComputes) {
  open_deterministic();
  const Problem p = problem("bias_column+silu");
  make_pass_wrong(p);
  Product product(p);
  const rooftile_resident_operands operands = operands_of(product, 4);
  testing::internal::CaptureStderr();
  const rooftile_prepared chosen = prepared(product, operands);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the pass over C for f32.nt"));
  EXPECT_EQ(chosen.kernel, short_name(fallback_variant()));
  expect_right(product, operands);
}

TEST_F(DevicePassTest, TheFallbackComputesWhereTheWorkspaceHoldsNoSums) {
  open_deterministic();
  Product product(problem("bias_column+relu"));
  rooftile_resident_operands operands = operands_of(product, 4);
  operands.workspace_bytes = 16;
  EXPECT_EQ(prepared(product, operands).kernel, short_name(fallback_variant()));
  expect_right(product, operands);
}

TEST_F(DevicePassTest, TheFallbackComputesWhereNoPlainKernelIsTuned) {
  open_deterministic();
  Product product(problem("relu", "f16"));
  const rooftile_resident_operands operands = operands_of(product, 4);
  EXPECT_EQ(prepared(product, operands).kernel, short_name(fallback_variant()));
  expect_right(product, operands);
}

TEST_F(DevicePassTest, ExplainNamesThePassAndPredictsItFromItsBytes) {
  open_deterministic();
  const Residencies on_device = {Residency::kDevice, Residency::kDevice, Residency::kDevice};
  Problem p = packed_problem(64, 64, 64, Transpose::kNo, Transpose::kYes);
  const double plain_ns = context().decide(p, on_device).kernel_ns;
  p.epilogue = parse_epilogue("bias_column+relu+residual");
  const Explanation e = context().explain({.problem = p}, on_device);
  EXPECT_EQ(e.means, "device_pass");
  EXPECT_EQ(e.kernel, short_name(best_));
  EXPECT_EQ(e.decision.veto, "");
  // The pass reads sums and residual and writes C, at the calibrated 12 GB/s.
  EXPECT_DOUBLE_EQ(e.decision.pass_ns, 3.0 * 64 * 64 * 4 / 12);
  EXPECT_DOUBLE_EQ(e.decision.kernel_ns, plain_ns);
}

TEST_F(DevicePassTest, AKernelCertifiedOnDemandReplacesThePassWherePredictedFaster) {
  open({best_});
  const Problem p = problem("bias_column+relu");
  const Residencies on_device = {Residency::kDevice, Residency::kDevice, Residency::kDevice};
  Product first(p), product(p);
  const auto means = [&] { return context().explain({.problem = p}, on_device).means; };
  EXPECT_EQ(means(), "device_pass");
  expect_right(first, 4);  // by the pass: this call does not wait
  context().wait_for_certificates();
  EXPECT_EQ(means(), "certified");
  const rooftile_resident_operands operands = operands_of(product, 4);
  EXPECT_EQ(prepared(product, operands).workspace_bytes, 0u);
  expect_right(product, operands);
}

TEST(PutFastestFirst, ThePassComesFirstOnlyWhereItIsPredictedToBeFaster) {
  const auto first = [](double certified_ns, double pass_ns) {
    std::vector<KernelChoice> choices = {
        {.means = Means::kCertified, .kernels = {{nullptr, certified_ns}, {nullptr, 0.5}}},
        {.means = Means::kDevicePass, .kernels = {{nullptr, pass_ns}}}};
    put_fastest_first(choices);
    return choices.front().means;
  };
  EXPECT_EQ(first(2, 1), Means::kDevicePass);
  EXPECT_EQ(first(1, 2), Means::kCertified);
  EXPECT_EQ(first(1, 1), Means::kCertified);
}

/// The kernels store their sums in different ways. The certification problems check the pass after
/// each.
TEST_F(DevicePassTest, IsCertifiedBehindSplitPackedAndTiledKernels) {
  const auto device = Device::open(device_);
  const ShaderCache cache(folder_ / "cache");
  for (const char* text :
       {"family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 split_k=3",
        "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
        "vector_width_b=4 packed_a=yes packed_b=yes",
        "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared "
        "vector_width_a=4 vector_width_b=4 edge=exact",
        "family=batched_small tile_m=8 tile_n=8 tile_batch=4 reg_m=4 reg_n=4 unroll_k=4"})
    for (const char* types : {"f32", "f16_f16", "i8"}) {
      const Signature s = {.types = parse_types(types),
                           .epilogue = parse_epilogue("row_scale+bias_column+gelu_erf+residual")};
      const Variant v = parse_variant(text);
      if (illegal_reason(v, device->profile().limits, sums_signature(s))) continue;
      const Certificate certificate =
          certify(*device, Kernel(device, v, s, cache, SumsIn::kWorkspace), s);
      EXPECT_TRUE(certificate.passed) << text << " " << types << ": " << certificate.detail;
    }
}

}  // namespace
}  // namespace rooftile
