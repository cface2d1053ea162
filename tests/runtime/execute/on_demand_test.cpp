// Kernels that are certified on demand (runtime/tuned/on_demand_kernels.h): how they are found,
// stored and used, and what happens when they fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "db/store.h"
#include "generator/version.h"
#include "runtime/abi/handles.h"
#include "runtime/execute/device_tier.h"
#include "runtime/tuned/kernel_ranking.h"
#include "tests/support/changed_shader.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faults_fixture.h"
#include "tests/support/resident_fixture.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using DriverCall = FaultyDriver::Call;

/// Only plain float32 GEMMs are tuned, on a device that is always predicted to be faster.
class OnDemand : public Faults {
 protected:
  void SetUp() override {
    Faults::SetUp();
    plant({fallback_variant()});
    fused_ = problem_;
    fused_.epilogue = parse_epilogue("bias_column+relu");
  }

  /// Repeats calls of the same problem, in a class that is not tuned, until a kernel is certified.
  static void expect_certified(Context& context, const Problem& p) {
    multiply(context, p);
    context.wait_for_certificates();
    EXPECT_EQ(means(context, p), "certified");
    const Answer answer = multiply(context, p);
    expect(answer, Tier::kDevice, Reason::kPredicted);
    EXPECT_NE(answer.kernel, nullptr);
  }
  static std::string means(const Context& context, const Problem& p) {
    Product product(p);
    return context.explain(call_of(product)).means;
  }
  std::optional<bool> stored_verdict(const Problem& p, const Variant& variant) const {
    Store store(database_);
    const RowId candidate = candidate_row(store, variant, signature_of(p));
    return store.certificate(store.find_device(device_).value(), candidate, kGeneratorVersion);
  }
  /// Replaces the kernel's module in the shader cache by one with a slightly larger alpha.
  void make_wrong(const Variant& variant, const Problem& p) const {
    ShaderCache(cache_).spirv(
        changed(emit_gemm(variant, signature_of(p)), "alpha * sum", "1.01 * alpha * sum"));
  }

  Problem fused_;
};

TEST_F(OnDemand, APassAnswersUntilAKernelIsCertified) {
  const auto context = open();
  EXPECT_EQ(means(*context, fused_), "host_pass");
  EXPECT_GT(context->decide(fused_).pass_ns, 0);
  expect(multiply(*context, fused_), Tier::kDevice, Reason::kPredicted);
  context->wait_for_certificates();
  EXPECT_EQ(means(*context, fused_), "certified");
  EXPECT_EQ(context->decide(fused_).pass_ns, 0);
  expect(multiply(*context, fused_), Tier::kDevice, Reason::kPredicted);
  EXPECT_EQ(stored_verdict(fused_, fallback_variant()), true);
}

TEST_F(OnDemand, EveryKindOfEpilogueAndTypeIsCertified) {
  const auto context = open();
  for (const char* epilogue :
       {"gelu_erf", "row_scale+column_scale+bias_row+gelu_tanh+residual+clamp", "silu"}) {
    for (const char* types : {"f32", "f64"}) {
      Problem p = problem_;
      p.types = parse_types(types);
      if (computes(device_, p.types))
        expect_certified(*context, with_epilogue(p, parse_epilogue(epilogue)));
    }
  }
  for (const char* types : {"f16", "bf16", "f16_f16", "f64"})
    expect_certified(*context, padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f,
                                              parse_types(types)));
}

TEST_F(OnDemand, ABatchTakesTheCertifiedKernel) {
  const auto context = open();
  expect_certified(*context, padded_batch(fused_, 3, false));
}

TEST_F(OnDemand, TheNextContextFindsTheCertificate) {
  expect_certified(*open(), fused_);
  const auto context = open();
  EXPECT_EQ(means(*context, fused_), "certified");
  const int compiled = FaultyDriver::calls(DriverCall::kOpen);
  expect(multiply(*context, fused_), Tier::kDevice, Reason::kPredicted);
  context->wait_for_certificates();
  // Only the device for calls is opened, not the one for certificates.
  EXPECT_EQ(FaultyDriver::calls(DriverCall::kOpen), compiled + 1);
}

TEST_F(OnDemand, WithoutTheDatabaseTheKernelIsUsedAndNotStored) {
  const auto context = open();
  std::filesystem::remove(database_);
  expect_certified(*context, fused_);
  EXPECT_FALSE(std::filesystem::exists(database_));
}

TEST_F(OnDemand, ADeterministicContextCertifiesNothing) {
  expect_certified(*open(), fused_);
  ContextOptions same = options();
  same.deterministic = Deterministic::kYes;
  Context context(same);
  // A deterministic context does not use the kernels that other contexts have certified.
  EXPECT_EQ(means(context, fused_), "host_pass");
  expect(multiply(context, fused_), Tier::kDevice, Reason::kPredicted);
}

TEST_F(OnDemand, CallsStillCountAsUntuned) {
  {
    const auto context = open();
    expect_certified(*context, fused_);
    context->write_counts();
  }
  Store store(database_);
  const auto untuned = store.untuned_problems(store.find_device(device_).value());
  ASSERT_EQ(untuned.size(), 1u);
  EXPECT_EQ(untuned.front().problem.epilogue, compiled_part(fused_.epilogue));
}

TEST_F(OnDemand, AWrongKernelIsRefusedOnceAndThePassAnswers) {
  make_wrong(fallback_variant(), fused_);
  const auto context = open();
  expect_one_line(said_by([&] {
                    multiply(*context, fused_);
                    context->wait_for_certificates();
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context, fused_), Tier::kDevice, Reason::kPredicted);
                    context->wait_for_certificates();
                  }),
                  "is not certified on");
  EXPECT_EQ(means(*context, fused_), "host_pass");
  EXPECT_EQ(stored_verdict(fused_, fallback_variant()), false);
  // The next context does not try the rejected kernel again.
  const auto next = open();
  EXPECT_THAT(said_by([&] {
                multiply(*next, fused_);
                next->wait_for_certificates();
              }),
              IsEmpty());
  EXPECT_EQ(means(*next, fused_), "host_pass");
}

TEST_F(OnDemand, TheNextBestKernelIsTriedAfterOneThatFails) {
  plant({fast_kernel(device_), fallback_variant()});
  make_wrong(fast_kernel(device_), fused_);
  const auto context = open();
  for (int call = 0; call < 3; ++call) {
    multiply(*context, fused_);
    context->wait_for_certificates();
  }
  EXPECT_EQ(means(*context, fused_), "certified");
  EXPECT_EQ(*multiply(*context, fused_).kernel, fallback_variant());
}

TEST_F(OnDemand, ADeviceLostWhileAKernelIsCertifiedLeavesThePass) {
  const auto context = open();
  multiply(*context, problem_);  // This opens the device for calls.
  multiply(*context, fused_);
  context->wait_for_certificates();
  Problem other = fused_;
  other.epilogue = parse_epilogue("silu");
  FaultyDriver::fail_once(DriverCall::kOpen, VK_ERROR_DEVICE_LOST);
  expect_one_line(said_by([&] {
                    multiply(*context, other);
                    context->wait_for_certificates();
                  }),
                  "is not certified on");
  EXPECT_EQ(means(*context, other), "host_pass");
  expect(multiply(*context, other), Tier::kDevice, Reason::kPredicted);
  EXPECT_FALSE(context->device_state().lost);
}

TEST_F(OnDemand, AContextMayBeClosedWhileAKernelIsCertified) {
  for (int i = 0; i < 3; ++i) {
    const auto context = open();
    Problem p = fused_;
    p.epilogue = parse_epilogue(i == 0 ? "silu" : i == 1 ? "gelu_erf" : "bias_row");
    multiply(*context, p);
  }
  Store store(database_);
  EXPECT_TRUE(store.journal(store.find_device(device_).value()).empty());
}

TEST_F(OnDemand, AKernelWithAnOrphanedJournalEntryIsNotTried) {
  {
    Store store(database_);
    const RowId candidate = candidate_row(store, fallback_variant(), signature_of(fused_));
    store.journal_begin(store.find_device(device_).value(), candidate, 1 << 29);
  }
  const auto context = open();
  multiply(*context, fused_);
  context->wait_for_certificates();
  EXPECT_EQ(means(*context, fused_), "host_pass");
}

TEST_F(OnDemand, ManyThreadsGetRightResults) {
  const auto context = open();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i) multiply(*context, i % 2 == 0 ? fused_ : problem_);
    });
  threads.clear();
  context->wait_for_certificates();
  EXPECT_EQ(means(*context, fused_), "certified");
}

TEST_F(OnDemand, AGuardChecksTheKernelBeforeThePass) {
  const auto context = open();
  expect(multiply(*context, fused_, {.scan_range = true, .check_spots = true}), Tier::kDevice,
         Reason::kPredicted);
}

TEST_F(OnDemand, APassStaysWhereItIsPredictedToBeFasterThanTheKernel) {
  // Rows of 136 bytes are staged, which is very slow here. The pass uses a widened copy of the
  // operands, which is imported.
  std::filesystem::remove(database_);
  Calibration calibration = no_host();
  calibration.device.upload_gbps = 1e-3;
  calibration.device.import_ns = 10;
  write_test_database(database_, device_, {fallback_variant()}, {}, {}, calibration);
  const auto context = open();
  Problem p = packed_problem(33, 17, 64, Transpose::kNo, Transpose::kYes, 1, parse_types("f16"));
  p.lda = p.ldb = 68;
  for (int call = 0; call < 2; ++call) {
    expect(multiply(*context, p), Tier::kDevice, Reason::kPredicted);
    context->wait_for_certificates();
  }
  EXPECT_EQ(stored_verdict(p, default_kernel(device_, p)), true);
  EXPECT_EQ(means(*context, p), "host_pass");
  p.lda = p.ldb = 64;  // These operands are imported without a copy.
  EXPECT_EQ(means(*context, p), "certified");
}

TEST_F(OnDemand, AForcedDeviceWaitsForACertificateWhereNoPassCanAnswer) {
  // 8-bit sums in float32 are not exact, so that no pass is possible. A kernel can be certified.
  const auto context = open();
  const Problem p =
      padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 1, parse_types("i8_i32"));
  EXPECT_EQ(means(*context, p), "");
  EXPECT_EQ(context->decide(p).veto_name, Veto::kNoKernel);
  Product product(p);
  context->gemm(call_of(product, TierChoice::kDevice));
  product.expect_right();
  EXPECT_EQ(context->last_answer()->tier, Tier::kDevice);
  EXPECT_EQ(means(*context, p), "certified");
}

/// Only float32 GEMMs without transposes are tuned.
class OtherTransposes : public OnDemand {
 protected:
  void SetUp() override {
    OnDemand::SetUp();
    std::filesystem::remove(database_);
    Store store(database_);
    const RowId device = store.device_id(device_);
    store.add_calibration(device, to_figures(no_host()));
    const Problem plain = packed_problem(64, 64, 64);
    plant_winners(store, device, plain, {{fallback_variant()}});
  }
};

TEST_F(OtherTransposes, AreAnsweredByTheHostUntilAKernelIsCertified) {
  const auto context = open();
  for (const char* epilogue : {"", "bias_column+relu"}) {
    Problem p = padded_problem(33, 17, 65, Transpose::kYes, Transpose::kNo);
    p.epilogue = parse_epilogue(epilogue);
    EXPECT_EQ(means(*context, p), "");
    const Decision d = context->decide(p);
    EXPECT_EQ(d.veto_name, Veto::kNoKernel);
    EXPECT_THAT(d.veto, HasSubstr("calls that would gain by one have it certified"));
    EXPECT_NE(multiply(*context, p).tier, Tier::kDevice);
    expect_certified(*context, p);
  }
}

TEST_F(OtherTransposes, OfHalfPrecisionAreCertifiedAsWell) {
  const auto context = open();
  expect_certified(*context, padded_problem(33, 17, 65, Transpose::kYes, Transpose::kYes, 1, 0.5f,
                                            parse_types("f16_f16")));
}

TEST_F(OtherTransposes, StayWithTheHostInADeterministicContextAndExplainSaysSo) {
  ContextOptions same = options();
  same.deterministic = Deterministic::kYes;
  Context context(same);
  const Problem p = padded_problem(33, 17, 65, Transpose::kYes, Transpose::kNo);
  EXPECT_THAT(context.decide(p).veto, HasSubstr("a deterministic context certifies none"));
  EXPECT_NE(multiply(context, p).tier, Tier::kDevice);
}

TEST_F(OtherTransposes, ExplainSaysWhereNoneCouldBeCertified) {
  Problem p = padded_problem(33, 17, 65, Transpose::kYes, Transpose::kNo);
  p.epilogue = parse_epilogue("bias_column+relu");
  make_wrong(fallback_variant(), p);
  const auto context = open();
  said_by([&] {
    multiply(*context, p);
    context->wait_for_certificates();
  });
  EXPECT_THAT(context->decide(p).veto, HasSubstr("none could be certified"));
  EXPECT_NE(multiply(*context, p).tier, Tier::kDevice);
}

TEST_F(OnDemand, AHostThatIsFasterThanThePassButNotThanAKernelHasOneCertified) {
  // The calibrated time of the host lies between the kernel's and the pass's, since the pass is
  // very slow.
  std::filesystem::remove(database_);
  Calibration calibration = slow_host();
  for (HostRates* host : {&calibration.host, &calibration.host1})
    *host = {.call_ns = 5e5, .gbps = 0.02, .gemm = {{64, 64, 64, 1}}};
  write_test_database(database_, device_, {fallback_variant()}, {}, {}, calibration);
  const auto context = open();
  Problem p = packed_problem(64, 64, 64, Transpose::kNo, Transpose::kYes);
  p.epilogue = parse_epilogue("relu");
  const Answer first = multiply(*context, p);
  context->wait_for_certificates();
  EXPECT_EQ(means(*context, p), "certified");
  EXPECT_EQ(multiply(*context, p).tier, Tier::kDevice) << static_cast<int>(first.tier);
}

// Calls on device buffers have no pass of the host. A plain kernel and a pass of the device
// (device_pass_test.cpp), or the fallback, compute them until another kernel is certified.

class OnDemandResident : public ResidentTest {
 protected:
  std::string kernel_of(const Product& product, const rooftile_resident_operands& operands) {
    return prepared(product, operands).kernel;
  }
};

TEST_F(OnDemandResident, APassOrTheFallbackComputesUntilAKernelIsCertified) {
  const Variant best = fast_kernel(device_);
  open({best});
  Problem fused = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 2.0f, 0.5f);
  fused.epilogue = parse_epilogue("bias_column+relu+residual");
  const Problem half =
      padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f, parse_types("f16_f16"));
  for (const Problem& p : {fused, half, padded_batch(fused, 3, false)}) {
    Product first(p), second(p);
    expect_right(first, 4);
    context_->context.wait_for_certificates();
    const rooftile_resident_operands operands = operands_of(second, 4);
    // Nothing is tuned of half precision, so that it gets the kernel of an untuned device.
    const Variant expected = p.types.a == DataType::kF32 ? best : default_kernel(device_, p);
    EXPECT_EQ(kernel_of(second, operands), short_name(expected));
    expect_right(second, operands);
    release_buffers();
  }
}

TEST_F(OnDemandResident, AnUntunedDeviceCertifiesTheKernelForEachKindOfProblem) {
  open({});
  const Problem row = packed_problem(1, 256, 128), square = packed_problem(64, 96, 32);
  for (const Problem& p : {row, square, retyped(row, parse_types("i8_i32"))}) {
    Product first(p), second(p);
    expect_right(first, 4);  // by the fallback
    context_->context.wait_for_certificates();
    const rooftile_resident_operands operands = operands_of(second, 4);
    EXPECT_EQ(kernel_of(second, operands), short_name(default_kernel(device_, p)));
    EXPECT_NE(kernel_of(second, operands), short_name(fallback_variant()));
    expect_right(second, operands);
    release_buffers();
  }
}

TEST_F(OnDemandResident, AnUntunedDeviceOfADeterministicContextKeepsTheFallback) {
  const ScopedEnvironment deterministic("ROOFTILE_DETERMINISTIC", "1");
  open({});
  Product product(packed_problem(64, 96, 32));
  const rooftile_resident_operands operands = operands_of(product);
  expect_right(product, operands);
  context_->context.wait_for_certificates();
  EXPECT_EQ(kernel_of(product, operands), short_name(fallback_variant()));
}

TEST_F(OnDemandResident, ADeterministicContextKeepsThePass) {
  open({fast_kernel(device_)});
  rooftile_close(context_);
  context_ = nullptr;
  const ScopedEnvironment deterministic("ROOFTILE_DETERMINISTIC", "1");
  open({fast_kernel(device_)});
  Problem p = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes);
  p.epilogue = parse_epilogue("relu");
  Product product(p);
  const rooftile_resident_operands operands = operands_of(product);
  expect_right(product, operands);
  context_->context.wait_for_certificates();
  EXPECT_EQ(kernel_of(product, operands), short_name(fast_kernel(device_)));
  EXPECT_GT(prepared(product, operands).workspace_bytes, 0u);
}

TEST_F(OnDemandResident, DataMayOutliveTheContextThatCertifies) {
  open({fast_kernel(device_)});
  Problem p = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes);
  p.epilogue = parse_epilogue("gelu_erf");
  Product product(p);
  expect_right_after_the_context(product);
}

}  // namespace
}  // namespace rooftile
