// What calls leave of the caller's floating-point environment (rooftile.h, Floating-point flags).
#include <rooftile/grouped.h>
#include <rooftile/packed.h>

#include <algorithm>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "tests/support/fast_kernel.h"
#include "tests/support/grouped_product.h"
#include "tests/support/row_list.h"
#include "tests/support/swiftshader.h"

namespace rooftile {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max(),
                kInfinite = std::numeric_limits<float>::infinity(),
                kNoNumber = std::numeric_limits<float>::quiet_NaN(),
                kDenormal = std::numeric_limits<float>::denorm_min();
const std::vector<float> kExtremes = {0,        -0.0f,     kDenormal, -kDenormal, 1e-38f,
                                      -1e-38f,  1,         -1,        100,        -100,
                                      1e4f,     -1e4f,     65520,     1e20f,      -1e20f,
                                      kLargest, -kLargest, kInfinite, -kInfinite, kNoNumber};
const auto kRows = static_cast<std::int64_t>(kExtremes.size());

/// A call whose results are extremes, their products with random numbers, and what an epilogue
/// makes of them.
struct ExtremeCall {
  Product product;
  HostCall problem;

  explicit ExtremeCall(const char* types, const char* epilogue = "", float beta = 0)
      : product(problem_of(types, epilogue, beta)), problem(product) {
    const Problem& p = product.problem;
    for (std::int64_t i = 0; i < p.m; ++i) {
      float& value = product.a[static_cast<std::size_t>(i * p.lda)];
      char* const stored = product.stored_a_elements.data() + i * p.lda * bytes_of(p.types.a);
      narrow(p.types.a, &kExtremes[static_cast<std::size_t>(i)], stored, 1);
      widen(p.types.a, stored, &value, 1);
    }
  }

 private:
  static Problem problem_of(const char* types, const char* epilogue, float beta) {
    Problem p =
        padded_problem(kRows, 3, 1, Transpose::kNo, Transpose::kNo, 1, beta, parse_types(types));
    p.epilogue = parse_epilogue(epilogue);
    if (p.epilogue.clamp) p.epilogue.low = -2, p.epilogue.high = kInfinite;
    return p;
  }
};

using Call = std::function<rooftile_status()>;
using Attempt = std::function<void(const std::string& way, const Call& call)>;

class FloatingPointTest : public ResidentTest {
 protected:
  void gemm(const Attempt& attempt, const std::string& way, ExtremeCall& call,
            rooftile_status expected = ROOFTILE_OK) {
    rooftile_status got = ROOFTILE_OK;
    attempt(way, [&] { return got = rooftile_gemm(context_, &call.problem.args); });
    EXPECT_EQ(got, expected) << way << ": " << rooftile_last_error();
  }

  void on_host_memory(const Attempt& attempt) {
    for (const rooftile_tier tier :
         {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_HOST, ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64}) {
      const auto way = [&](const char* what) { return fmt::format("{}, tier {}", what, tier); };
      for (const char* const epilogue :
           {"relu", "gelu_erf", "gelu_tanh", "silu", "silu+residual+clamp"}) {
        ExtremeCall call("f32", epilogue, 0.5f);
        call.problem.args.tier = tier;
        gemm(attempt, way(epilogue), call);
      }
      for (const char* const types :
           {"f16", "f16_f16", "bf16_bf16", "f32_f16", "i8_i32", "u8", "f32xq4b32", "f16xq8b32"}) {
        ExtremeCall call(types, "", 1);
        call.problem.args.tier = tier;
        gemm(attempt, way(types), call);
      }
    }
    ExtremeCall plain("f32");
    plain.problem.args.tier = ROOFTILE_TIER_HOST64;
    gemm(attempt, "plain, tier 4", plain);
    for (const rooftile_precision precision : {ROOFTILE_PRECISION_HIGH, ROOFTILE_PRECISION_EXACT64})
      for (const char* const epilogue : {"", "silu"}) {
        const rooftile_guard guard = {
            .struct_size = sizeof guard, .precision = precision, .scan_range = 1, .check_spots = 1};
        ExtremeCall call("f32", epilogue);
        call.problem.args.guard = &guard;
        gemm(attempt, fmt::format("precision {} {}", precision, epilogue), call);
      }
    ExtremeCall refused("f32", "clamp");
    refused.problem.epilogue.high = kNoNumber;
    gemm(attempt, "refused", refused, ROOFTILE_INVALID_ARGUMENT);
    GroupedProduct grouped(grouped_case({{2, 1}, {3, 0}}, 2, {}, parse_epilogue("gelu_tanh")));
    auto* const a = reinterpret_cast<float*>(const_cast<void*>(grouped.args.a));
    std::copy_n(kExtremes.begin(), 20, a);
    attempt("grouped",
            [&] { return rooftile_grouped_gemm(context_, &grouped.args, &grouped.groups); });
    rooftile_decision decision = {.struct_size = sizeof decision};
    attempt("explain",
            [&] { return rooftile_explain_gemm(context_, &plain.problem.args, &decision); });
  }

  void on_the_device(const Attempt& attempt) {
    for (const char* const epilogue : {"", "silu"}) {
      ExtremeCall call("f32", epilogue);
      call.problem.args.tier = ROOFTILE_TIER_DEVICE;
      gemm(attempt, fmt::format("forced device, {}", epilogue), call);
    }
    ExtremeCall call("f32");
    const rooftile_resident_operands operands = operands_of(call.product);
    rooftile_run* run = nullptr;
    attempt("resident",
            [&] { return rooftile_resident_gemm(context_, &call.problem.args, &operands, &run); });
    attempt("wait", [&] { return rooftile_run_wait(run, ROOFTILE_FOREVER); });
    ok(rooftile_run_release(run));
    const rooftile_pack_args pack = {
        .struct_size = sizeof pack, .operand = ROOFTILE_OPERAND_B, .call = &call.problem.args};
    rooftile_packed* packed = nullptr;
    attempt("pack", [&] { return rooftile_pack(context_, &pack, &packed); });
    call.problem.args.packed = packed;
    call.problem.args.b = nullptr;
    call.problem.args.ldb = 0;
    gemm(attempt, "packed", call);
    ok(rooftile_packed_release(packed));
    in_a_list(attempt);
  }

  void in_a_list(const Attempt& attempt) {
    const rooftile_place x = put(kExtremes, 0, 4), y = put(kExtremes, 0, 4),
                         z = put(kExtremes, 0, 4);
    rooftile_list* list = nullptr;
    ok(rooftile_list_create(context_, &list));
    const rooftile_softmax_args softmax = softmax_args(2, kRows / 2, kNoNumber);
    attempt("softmax", [&] { return rooftile_list_softmax(list, &softmax, x, y); });
    const rooftile_multiply_args multiply = multiply_args(1, kRows, ROOFTILE_SILU);
    attempt("multiply", [&] { return rooftile_list_multiply(list, &multiply, x, y, z); });
    const rooftile_top_k_args top_k = top_k_args(1, kRows, 3);
    attempt("top_k", [&] { return rooftile_list_top_k(list, &top_k, x, y, z); });
    rooftile_run* run = nullptr;
    attempt("run of a list", [&] { return rooftile_list_run(list, &run); });
    attempt("wait", [&] { return rooftile_run_wait(run, ROOFTILE_FOREVER); });
    ok(rooftile_run_release(run));
    ok(rooftile_list_release(list));
  }

  void every_way(const Attempt& attempt) {
    open({});
    on_host_memory(attempt);
    open({fast_kernel(device_), fallback_variant()}, {}, {}, 1e5, slow_host());
    on_host_memory(attempt);
    on_the_device(attempt);
    const std::string database = (folder_ / "1.db").string();
    const rooftile_options options = {.struct_size = sizeof options,
                                      .database_path = database.c_str()};
    rooftile_context* context = nullptr;
    attempt("open", [&] { return rooftile_open(&options, &context); });
    attempt("close", [&] {
      rooftile_flush(context);
      rooftile_close(context);
      return ROOFTILE_OK;
    });
  }
};

TEST_F(FloatingPointTest, ExtremesBecomeOnEveryTierWhatTheFormulasOfTheHeadersSay) {
  open({});
  // The host's tiers do not depend on the driver. SwiftShader, which compiles for ten times as
  // long, meets each type and each epilogue, but not all pairs.
  const bool slow = is_swiftshader(device_);
  std::vector<rooftile_tier> tiers = {ROOFTILE_TIER_DEVICE};
  if (!slow)
    tiers.insert(tiers.end(), {ROOFTILE_TIER_HOST, ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64});
  std::size_t pair = 0;
  for (const char* const types : {"f32", "f16_f16", "bf16_bf16"})
    for (const char* const epilogue :
         {"", "relu", "gelu_erf", "gelu_tanh", "silu", "clamp", "relu+residual+clamp"}) {
      if (slow && pair++ % 2 != 0) continue;
      for (const rooftile_tier tier : tiers) {
        SCOPED_TRACE(fmt::format("tier {}", tier));
        ExtremeCall call(types, epilogue, 0.5f);
        call.problem.args.tier = tier;
        ok(rooftile_gemm(context_, &call.problem.args));
        call.product.expect_right();
      }
      SCOPED_TRACE("resident");
      ExtremeCall call(types, epilogue, 0.5f);
      expect_right(call.product);
    }
}

TEST_F(FloatingPointTest, NoCallRaisesFlagsOrDropsThoseOfTheCaller) {
  every_way([](const std::string& way, const Call& call) {
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_DIVBYZERO);
    const rooftile_status status = call();
    const int raised = std::fetestexcept(FE_ALL_EXCEPT);
    EXPECT_EQ(raised, FE_DIVBYZERO) << way << ", status " << status;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST) << way;
  });
}

TEST_F(FloatingPointTest, RoundingIsToNearestInEveryModeOfTheCaller) {
  open({});
  const auto bits_of_c = [&](const char* types, const char* epilogue, rooftile_tier tier,
                             int mode) {
    ExtremeCall call(types, epilogue, 0.5f);
    call.problem.args.tier = tier;
    std::fesetround(mode);
    const rooftile_status status = rooftile_gemm(context_, &call.problem.args);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    ok(status);
    const Problem& p = call.product.problem;
    const auto* const c = static_cast<const char*>(call.problem.args.c);
    return std::string(c, c + span_c(p) * bytes_of(p.types.c));
  };
  for (const char* const types : {"f32", "f16_f16", "bf16_bf16"})
    for (const char* const epilogue : {"", "relu", "gelu_erf", "gelu_tanh", "silu", "clamp"})
      for (const rooftile_tier tier : {ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64}) {
        // What BLAS computes directly is rounded as in a direct call.
        if (std::string(types) == "f32" && *epilogue == 0 && tier == ROOFTILE_TIER_HOST1) continue;
        const std::string nearest = bits_of_c(types, epilogue, tier, FE_TONEAREST);
        for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
          EXPECT_TRUE(bits_of_c(types, epilogue, tier, mode) == nearest)
              << types << ' ' << epilogue << " tier " << tier << " mode " << mode;
      }
}

#ifdef __GLIBC__
TEST_F(FloatingPointTest, NoCallTrapsWhereTheCallerHasEnabledEveryTrap) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto in_child = [&] {
    every_way([](const std::string& way, const Call& call) {
      std::fprintf(stderr, "%s\n", way.c_str());  // The last line names what died.
      std::feclearexcept(FE_ALL_EXCEPT);
      const int wanted = feenableexcept(FE_ALL_EXCEPT) == 0 ? FE_ALL_EXCEPT : 0;
      call();
      const int traps = fegetexcept();
      fedisableexcept(FE_ALL_EXCEPT);
      EXPECT_EQ(traps, wanted) << way;
    });
    std::_Exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(in_child(), ::testing::ExitedWithCode(0), "");
}

#ifdef __x86_64__
TEST_F(FloatingPointTest, ADenormalAlphaReachesBlasWhereTheCallerFlushesDenormalResults) {
  open({});
  const float a = 1e18f, b = 1e18f, alpha = 1e-40f;
  float c = 0;
  rooftile_sgemm_args args = {.struct_size = sizeof args,
                              .m = 1,
                              .n = 1,
                              .k = 1,
                              .alpha = alpha,
                              .a = &a,
                              .lda = 1,
                              .b = &b,
                              .ldb = 1,
                              .c = &c,
                              .ldc = 1};
  const unsigned before = _mm_getcsr() & ~unsigned{_MM_EXCEPT_MASK};
  for (const float sign : {1.0f, -1.0f})
    for (int call = 0; call < 2; ++call) {  // The second one repeats the first.
      args.alpha = sign * alpha;
      _mm_setcsr(before | _MM_FLUSH_ZERO_ON);
      const rooftile_status status = rooftile_sgemm(context_, &args);
      const bool underflow = (_mm_getcsr() & _MM_EXCEPT_UNDERFLOW) != 0;
      _mm_setcsr(before);
      ok(status);
      EXPECT_NEAR(c, sign * 1e-4f, 1e-9f) << "call " << call;
      EXPECT_FALSE(underflow) << "call " << call;
    }
}
#endif

TEST_F(FloatingPointTest, FlagsOfAProductThatBlasComputesAreTheCallers) {
  // The second call is a repeated one.
  open({});
  std::vector<float> a(6, kLargest), b(6, 2), c(4);
  const rooftile_sgemm_args args = {.struct_size = sizeof args,
                                    .m = 2,
                                    .n = 2,
                                    .k = 3,
                                    .alpha = 1,
                                    .a = a.data(),
                                    .lda = 3,
                                    .b = b.data(),
                                    .ldb = 2,
                                    .c = c.data(),
                                    .ldc = 2};
  for (int call = 0; call < 3; ++call) {
    std::feclearexcept(FE_ALL_EXCEPT);
    ok(rooftile_sgemm(context_, &args));
    EXPECT_EQ(std::fetestexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO), FE_OVERFLOW) << call;
  }
  if (feenableexcept(FE_OVERFLOW) == -1) return;  // arm64 has flags, and need not have traps
  fedisableexcept(FE_OVERFLOW);
  const auto in_child = [&] {
    feenableexcept(FE_OVERFLOW);
    rooftile_sgemm(context_, &args);
    std::_Exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(in_child(), ::testing::KilledBySignal(SIGFPE), "");
}
#endif

}  // namespace
}  // namespace rooftile
