// The device tier with a synthetic database: certified kernels compute right results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "core/error.h"
#include "db/store.h"
#include "generator/emit.h"
#include "generator/family_defaults.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/product.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/swiftshader.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class TunedContext : public ::testing::Test {
 protected:
  void write_database(const std::vector<Variant>& ranked, const Epilogue& epilogue = {},
                      const Types& types = {}) {
    write_test_database(folder_ / "tuned.db", device_, ranked, epilogue, types);
  }
  /// Stores times of kernels on packed problems. As in write_database, generator_version decides
  /// whether the kernels are certified.
  void write_portfolio(const std::vector<MeasuredKernel>& kernels,
                       std::string_view generator_version) {
    Store store(folder_ / "tuned.db");
    const RowId row = store.device_id(device_);
    std::vector<PortfolioRecord> records;
    for (const MeasuredKernel& kernel : kernels) {
      const RowId candidate = candidate_row(store, kernel.variant, {});
      store.put_certificate(row, candidate, generator_version, true, "planted");
      records.push_back({.candidate = candidate,
                         .place = static_cast<int>(records.size()),
                         .times = kernel.times});
    }
    store.put_portfolio(row, to_string(Signature{}), records, std::nullopt);
  }
  ScratchFolder folder_;
  DeviceProfile device_ = first_device();
};

TEST_F(TunedContext, DeviceTierIsRightForEveryTransposeAtOddSizes) {
  write_database({fast_kernel(device_), fallback_variant()});
  Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
  for (Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
    for (Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
      for (float beta : {0.0f, 0.5f}) {
        Product product(padded_problem(65, 33, 127, trans_a, trans_b, -1.0f, beta));
        context.gemm(call_of(product, TierChoice::kDevice));
        product.expect_right();
        // The same database and operands give the same bits.
        Product again(product.problem);
        context.gemm(call_of(again, TierChoice::kDevice));
        for (std::size_t i = 0; i < again.c.size(); ++i)
          ASSERT_EQ(std::bit_cast<std::uint32_t>(again.c[i]),
                    std::bit_cast<std::uint32_t>(product.c[i]));
      }
    }
  }
  EXPECT_TRUE(context.device_state().opened);
  EXPECT_FALSE(context.device_state().lost);
}

TEST_F(TunedContext, DeviceTierRunsBatches) {
  const Variant split = parse_variant(
      "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 split_k=3");
  for (const Variant& variant : {fast_kernel(device_), fallback_variant(), split}) {
    write_database({variant});
    Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
    for (bool shared_b : {false, true}) {
      Product product(padded_batch(
          padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 2.0f, 0.5f), 5, shared_b));
      context.gemm(call_of(product, TierChoice::kDevice));
      product.expect_right();
    }
  }
}

TEST_F(TunedContext, DeviceTierFusesTheEpilogueThatIsTuned) {
  const Epilogue epilogue =
      parse_epilogue("row_scale+column_scale+bias_column+gelu_tanh+residual+clamp");
  for (const char* types : {"f32", "f64"}) {
    if (!computes(device_, parse_types(types))) continue;
    write_database({fast_kernel(device_)}, epilogue, parse_types(types));
    Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
    Problem p =
        with_epilogue(padded_batch(padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 2.0f,
                                                  0.5f, parse_types(types)),
                                   3, false),
                      epilogue);
    Product product(p);
    context.gemm(call_of(product, TierChoice::kDevice));
    product.expect_right();

    p.epilogue = parse_epilogue("relu");
    Product other(p);
    // No plain kernel is tuned, so that a pass of the host is impossible, too.
    EXPECT_THAT(context.explain(call_of(other, TierChoice::kAuto)).decision.veto,
                HasSubstr(std::string(types) + ".nt.relu"));
    context.gemm(call_of(other, TierChoice::kAuto));  // The host answers.
    other.expect_right();
  }
}

TEST_F(TunedContext, DeviceTierTakesEveryType) {
  for (const std::string& text : other_types_of(device_)) {
    const Types types = parse_types(text);
    write_database({fast_kernel(device_), fallback_variant()}, {}, types);
    Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
    const bool integers = types.c == DataType::kI32;
    const Problem p =
        padded_batch(padded_problem(33, 17, 65, Transpose::kYes, Transpose::kNo,
                                    integers ? 1.0f : 2.0f, integers ? 1.0f : 0.5f, types),
                     2, false);
    Product product(p);
    context.gemm(call_of(product, TierChoice::kDevice));
    product.expect_right();
  }
}

/// Returns n x k weights at the ends of float16's range: large ones of both signs, equal ones, and
/// nearly equal ones, whose float zero points are far from the values.
std::vector<float> weights_at_the_ends(std::int64_t n, std::int64_t k) {
  Random random(7);
  std::vector<float> weights;
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t step = 0; step < k; ++step) {
      const float x = random.symmetric();
      const float end = row % 2 == 0 ? 65504.0f : -65504.0f;
      weights.push_back(row % 3 == 0 ? end * x : row % 3 == 1 ? end : end * (1 - 0x1p-10f * x * x));
    }
  return weights;
}

TEST_F(TunedContext, DeviceTierTakesQuantizedWeightsAtTheEndsOfTheirRange) {
  // SwiftShader compiles for ten times as long and meets each type and family, but not all pairs.
  const std::size_t every = is_swiftshader(device_) ? 3 : 1;
  std::size_t pair = 0;
  for (const char* text : {"f16xq4b16", "f16xq4b32z", "f16xq8b16z", "f16xq4b16zf", "f16xq8b32zf"})
    for (const Family family :
         {Family::kNaive, Family::kRegister, Family::kTiled, Family::kBroadcast, Family::kVector}) {
      if (pair++ % every != 0) continue;
      const Types types = parse_types(text);
      Product product(padded_problem(9, 13, 65, Transpose::kNo, Transpose::kYes, 1, 0, types));
      const Problem& p = product.problem;
      const std::vector<float> weights = weights_at_the_ends(p.n, p.k);
      const QuantizedMatrix matrix = quantize(types, p.n, p.k, weights.data(), p.k, 1);
      product.stored_b_elements.assign(matrix.values.begin(), matrix.values.end());
      product.quantization = {matrix.scales, matrix.zero_points};
      const auto [variant, reason] = complete(
          family, {}, device_.limits, {},
          [&](const Variant& v) { return illegal_reason(v, device_.limits, p, own_buffers(p)); });
      ASSERT_EQ(reason.value_or(""), "");
      write_database({variant}, {}, types);
      Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
      context.gemm(call_of(product, TierChoice::kDevice));
      product.expect_right();
      const std::optional<Answer> answer = context.last_answer();
      ASSERT_TRUE(answer && answer->kernel != nullptr) << text;
      EXPECT_EQ(*answer->kernel, variant) << text;
    }
}

TEST_F(TunedContext, MatricesOfABatchMayBeAnywhere) {
  write_database({fast_kernel(device_)});
  Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
  std::vector<Product> products;
  std::vector<const void*> a, b;
  std::vector<void*> c;
  for (int i = 0; i < 3; ++i)
    products.emplace_back(padded_problem(9, 21, 13, Transpose::kYes, Transpose::kNo));
  for (Product& product : products) {
    a.insert(a.begin(), product.a.data());  // in another order than C
    b.push_back(product.b.data());
    c.push_back(product.c.data());
  }
  Problem p = padded_batch(products.front().problem, 3, false);
  context.gemm({.problem = p,
                .a_array = a.data(),
                .b_array = b.data(),
                .c_array = c.data(),
                .tier = TierChoice::kDevice});
  for (std::size_t i = 0; i < products.size(); ++i) {
    Product expected = products[i];
    expected.a = products[products.size() - 1 - i].a;
    expected.expect_right();
  }
}

TEST_F(TunedContext, AlphaZeroDoesNotReadAAndB) {
  write_database({fast_kernel(device_), fallback_variant()});
  Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
  Product product(padded_problem(9, 10, 11, Transpose::kNo, Transpose::kNo, 0.0f, 0.5f));
  GemmCall call = call_of(product, TierChoice::kDevice);
  call.a = call.b = nullptr;
  context.gemm(call);
  product.expect_right();
}

TEST_F(TunedContext, AutoAndExplainAgreeAndHostCallsOpenNoDevice) {
  write_database({fast_kernel(device_), fallback_variant()});
  Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
  Product product(padded_problem(8, 9, 10, Transpose::kNo, Transpose::kNo));
  const Explanation explanation = context.explain(call_of(product, TierChoice::kAuto));
  EXPECT_NE(explanation.decision.tier, Tier::kDevice);
  double score = 1;
  for (const Factor& factor : explanation.decision.factors) score *= factor.value;
  EXPECT_NEAR(score, explanation.decision.score, 1e-9 * score);
  context.gemm(call_of(product, TierChoice::kAuto));
  product.expect_right();
  EXPECT_FALSE(context.device_state().opened);
}

// Sizes are no multiples of a fragment, rows are not divisible by the vector width, and offsets
// are arbitrary.
TEST_F(TunedContext, MatrixKernelsAnswerCallsOfAnyShape) {
  Variant matrix;
  const DeviceLimits& limits = device_.limits;
  for (const Variant& v : legal_variants(limits))
    if (v.family == Family::kMatrix && v.tile_m == 32 && v.tile_n == 32 && matrix.tile_k == 1 &&
        v.stage == Stage::kShared && !illegal_reason(v, limits, {parse_types("f16")}))
      matrix = v;
  if (matrix.family != Family::kMatrix) GTEST_SKIP() << device_.name << " has no matrix units";
  for (const char* types : {"f16", "f16_f16"}) {
    write_database({matrix, fallback_variant()}, {}, parse_types(types));
    Context context({.database = folder_ / "tuned.db"});
    for (const auto& [m, n, k] : {std::array{1, 1, 1}, std::array{33, 31, 17},
                                  std::array{40, 50, 60}, std::array{64, 64, 64}})
      for (Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
        Product product(
            padded_problem(m, n, k, trans_a, Transpose::kYes, 1.0f, 0.5f, parse_types(types)));
        context.gemm(call_of(product, TierChoice::kDevice));
        product.expect_right();
      }
    EXPECT_EQ(context.device_state().last_failure, "");
  }
}

/// A database in which the fallback kernel is the only winner, and which has one fault.
struct Planted {
  std::string what;
  std::string hash = {};                                      // Empty means the generator's hash.
  std::string certified_by = std::string(kGeneratorVersion);  // Empty means not certified.
  bool passed = true;
  std::function<void(Store&, RowId device, RowId candidate, const std::string& hash)> spoil = {};
};

void plant_winner(const std::filesystem::path& file, const DeviceProfile& profile,
                  const Planted& planted) {
  const Variant variant = fallback_variant();
  const Problem problem = packed_problem(64, 64, 64);
  Store store(file);
  const RowId device = store.device_id(profile);
  const std::string hash =
      planted.hash.empty() ? emit_gemm(variant, signature_of(problem)).hash : planted.hash;
  const RowId candidate = store.candidate_id(
      {.hash = hash, .signature = to_string(signature_of(problem)), .variant = variant});
  const WinnerRecord winner = {
      .candidate = candidate, .problem = store.problem_id(problem), .kernel_ns = 1e5};
  store.put_winners(device, to_string(bucket_of(problem)), {&winner, 1});
  if (!planted.certified_by.empty())
    store.put_certificate(device, candidate, planted.certified_by, planted.passed, "planted");
  if (planted.spoil) planted.spoil(store, device, candidate, hash);
}

TEST_F(TunedContext, UncertifiedKernelsAreNeverUsed) {
  // Whether the planted kernel runs. Where it does not, a call that is forced to the device fails,
  // or gets another kernel, which is certified for it.
  const auto runs = [&](const std::filesystem::path& file) {
    Context context({.database = file, .cache_folder = folder_ / "cache"});
    Product product(padded_problem(40, 50, 60, Transpose::kNo, Transpose::kNo));
    context.gemm(call_of(product, TierChoice::kAuto));
    product.expect_right();  // holds for every tier
    Product forced(product.problem);
    try {
      context.gemm(call_of(forced, TierChoice::kDevice));
    } catch (const Error&) {
      EXPECT_TRUE(forced.c_is_untouched());
      return false;
    }
    forced.expect_right();
    return *context.last_answer()->kernel == fallback_variant();
  };
  const ScopedEnvironment quiet("ROOFTILE_LOG", "off");
  plant_winner(folder_ / "sound.db", device_, {.what = "nothing"});
  EXPECT_TRUE(runs(folder_ / "sound.db")) << "the database without a fault must work";

  // The signature of the same kernel for a problem with B transposed.
  const std::string other_signature =
      emit_gemm(fallback_variant(),
                signature_of(packed_problem(64, 64, 64, Transpose::kNo, Transpose::kYes)))
          .hash;
  const Planted cases[] = {
      {.what = "no certificate", .certified_by = ""},
      {.what = "a failed certificate", .passed = false},
      {.what = "a certificate of another generator", .certified_by = "another"},
      {.what = "a certificate that failed later",
       .spoil =
           [](Store& store, RowId device, RowId candidate, const std::string&) {
             store.put_certificate(device, candidate, kGeneratorVersion, false, "planted");
           }},
      {.what = "a certificate of another driver",
       .certified_by = "",
       .spoil =
           [&](Store& store, RowId, RowId candidate, const std::string&) {
             DeviceProfile other = device_;
             other.driver_version += 1;
             store.put_certificate(store.device_id(other), candidate, kGeneratorVersion, true, "");
           }},
      {.what = "a revoked certificate",
       .spoil =
           [](Store& store, RowId device, RowId, const std::string& hash) {
             store.revoke_certificates(device, hash, "planted");
           }},
      {.what = "a black list",
       .spoil = [](Store& store, RowId device, RowId candidate,
                   const std::string&) { store.black_list(device, candidate, "planted"); }},
      {.what = "templates that have changed since", .hash = "0123456789abcdef0123456789abcdef"},
      {.what = "a certificate of another signature", .hash = other_signature},
  };
  int number = 0;
  for (const Planted& planted : cases) {
    const std::filesystem::path file = folder_ / fmt::format("planted{}.db", number++);
    plant_winner(file, device_, planted);
    EXPECT_FALSE(runs(file)) << planted.what;
  }

  // An import brings no certificates, neither into an empty database nor into one that knows
  // device, kernel and problem: a forced call certifies the kernel before it uses it.
  const auto verdict = [&](const char* name) {
    Store store(folder_ / name);
    return store.certificate(
        store.find_device(device_).value(),
        candidate_row(store, fallback_variant(), signature_of(packed_problem(1, 1, 1))),
        kGeneratorVersion);
  };
  Store(folder_ / "sound.db").export_to(folder_ / "export.db", std::vector<RowId>{1});
  plant_winner(folder_ / "knows.db", device_, {.what = "", .certified_by = ""});
  for (const char* name : {"empty.db", "knows.db"}) {
    for (const char* from : {"export.db", "sound.db"})
      Store(folder_ / name).import_from(folder_ / from);
    EXPECT_EQ(verdict(name), std::nullopt) << name;
    EXPECT_TRUE(runs(folder_ / name)) << name;
    EXPECT_EQ(verdict(name), true) << name;
  }
  EXPECT_FALSE(runs(folder_ / "export.db")) << "an export was used as a database";
}

/// The first kernel is faster for few rows, the second one for many.
std::vector<MeasuredKernel> few_and_many() {
  const auto kernel = [](const char* variant, double few_ns, double many_ns) {
    MeasuredKernel measured{.variant = parse_variant(variant)};
    for (std::int64_t size : {40, 100, 300}) {
      measured.times.push_back({.m = 2, .n = size, .k = size, .ns = few_ns});
      measured.times.push_back({.m = 500, .n = size, .k = size, .ns = many_ns});
    }
    return measured;
  };
  return {kernel("family=register tile_m=4 tile_n=32 reg_m=2 reg_n=4 unroll_k=4", 1e4, 9e5),
          kernel("family=register tile_m=32 tile_n=32 reg_m=4 reg_n=4 unroll_k=4", 9e4, 1e5)};
}

TEST_F(TunedContext, UntunedProblemsRunThePortfoliosBestKernel) {
  write_database({fast_kernel(device_), fallback_variant()});
  const std::vector<MeasuredKernel> kernels = few_and_many();
  write_portfolio(kernels, kGeneratorVersion);
  Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
  const auto chosen = [&](const Problem& p) { return context.explain({.problem = p}).kernel; };
  EXPECT_EQ(chosen(packed_problem(3, 90, 110)), short_name(kernels[0].variant));
  EXPECT_EQ(chosen(packed_problem(450, 90, 110)), short_name(kernels[1].variant));
  // Sizes that were tuned, and classes that have no portfolio, keep their own kernels.
  EXPECT_EQ(chosen(packed_problem(64, 64, 64)), short_name(fast_kernel(device_)));
  EXPECT_EQ(chosen(packed_problem(3, 90, 110, Transpose::kYes)), short_name(fast_kernel(device_)));
  Product product(padded_problem(3, 90, 110, Transpose::kNo, Transpose::kNo));
  context.gemm(call_of(product, TierChoice::kDevice));
  product.expect_right();
  EXPECT_EQ(context.device_state().last_failure, "");
}

TEST_F(TunedContext, UntunedProblemsArePredictedByThePortfolio) {
  write_database({fast_kernel(device_), fallback_variant()});
  write_portfolio(few_and_many(), kGeneratorVersion);
  Context context({.database = folder_ / "tuned.db"});
  const auto kernel_ns = [&](std::int64_t m) {
    return context.explain({.problem = packed_problem(m, 100, 100)}).decision.kernel_ns;
  };
  EXPECT_NEAR(kernel_ns(2) / 1e4, 1, 0.5);
  EXPECT_NEAR(kernel_ns(500) / 1e5, 1, 0.5);
}

TEST_F(TunedContext, ResidentOperandsUseAKernelThatIsLegalForTheirOffsets) {
  write_database({fast_kernel(device_), fallback_variant()});
  const auto kernel = [](const char* vector_widths, double ns) {
    MeasuredKernel measured{
        .variant = parse_variant("family=register tile_m=32 tile_n=32 reg_m=4 reg_n=4 unroll_k=4" +
                                 std::string(vector_widths))};
    for (std::int64_t size : {40, 100, 300})
      measured.times.push_back({.m = size, .n = size, .k = size, .ns = ns});
    return measured;
  };
  const std::vector<MeasuredKernel> kernels = {kernel(" vector_width_a=4 vector_width_b=4", 1e5),
                                               kernel("", 1e6)};
  write_portfolio(kernels, kGeneratorVersion);
  const Context context({.database = folder_ / "tuned.db"});
  const Residencies there = {Residency::kDevice, Residency::kDevice, Residency::kDevice};
  const auto expect = [&](std::int64_t size, const Residencies& where, std::size_t chosen) {
    const Explanation explanation =
        context.explain({.problem = packed_problem(size, size, size)}, where);
    EXPECT_EQ(explanation.kernel, short_name(kernels[chosen].variant)) << size;
    EXPECT_NEAR(explanation.decision.kernel_ns / kernels[chosen].times.front().ns, 1, 0.5) << size;
  };
  expect(103, {}, 0);  // The operands are staged with a divisible leading dimension.
  expect(103, there, 1);
  expect(104, there, 0);
}

TEST_F(TunedContext, APortfolioOfAnotherGeneratorIsNotUsed) {
  write_database({fast_kernel(device_), fallback_variant()});
  write_portfolio(few_and_many(), "another");
  Context context({.database = folder_ / "tuned.db"});
  EXPECT_EQ(context.explain({.problem = packed_problem(3, 90, 110)}).kernel,
            short_name(fast_kernel(device_)));
}

TEST_F(TunedContext, APortfolioOfIllegalKernelsLeavesTheTunedOnes) {
  write_database({fast_kernel(device_), fallback_variant()});
  std::vector<MeasuredKernel> exact = few_and_many();
  for (MeasuredKernel& kernel : exact) kernel.variant.edge = Edge::kExact;
  write_portfolio(exact, kGeneratorVersion);
  Context context({.database = folder_ / "tuned.db"});
  EXPECT_EQ(context.explain({.problem = packed_problem(3, 91, 110)}).kernel,
            short_name(fast_kernel(device_)));
}

// SwiftShader's texel buffers hold 65536 texels. A driver with larger ones gets a database that
// says less.
TEST_F(TunedContext, WhereTheTunedKernelsHoldTooFewTexelsOneIsCertified) {
  const std::uint64_t texels =
      std::min<std::uint64_t>(device_.limits.max_texel_buffer_elements, 65'536);
  device_.limits.max_texel_buffer_elements = texels;
  const Variant tuned = parse_variant(
      "family=register tile_m=16 tile_n=32 reg_m=8 reg_n=8 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 load_path_a=texel load_path_b=texel");
  write_database({tuned});
  Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
  const auto kernel_of = [&](const Problem& p) {
    Product product(p);
    context.gemm(call_of(product, TierChoice::kDevice));
    product.expect_right();
    const Answer answer = context.last_answer().value();
    EXPECT_EQ(answer.tier, Tier::kDevice);
    return answer.kernel != nullptr ? *answer.kernel : Variant();
  };
  EXPECT_EQ(kernel_of(packed_problem(260, 4, 64)), tuned);
  // A has more elements than so many texels of four.
  EXPECT_NE(kernel_of(packed_problem(260, 4, static_cast<std::int64_t>(texels / 65) + 4)), tuned);
  EXPECT_EQ(kernel_of(packed_problem(260, 4, 64)), tuned);
  EXPECT_EQ(context.device_state().last_failure, "");
}

TEST_F(TunedContext, WithoutADriverAutoAnswersAndForcedDeviceSaysWhy) {
  write_database({fast_kernel(device_), fallback_variant()});
  DeviceProfile other = device_;
  other.driver_version += 1;  // The device of the database is not in this machine.
  device_ = other;
  {
    Store store(folder_ / "tuned.db");
    std::ignore = store.device_id(other);
  }
  write_database({fast_kernel(device_), fallback_variant()});
  Context context({.database = folder_ / "tuned.db", .cache_folder = folder_ / "cache"});
  Product product(padded_problem(40, 50, 60, Transpose::kNo, Transpose::kNo));
  EXPECT_THAT(message_of([&] { context.gemm(call_of(product, TierChoice::kDevice)); }),
              HasSubstr("not here or its driver has changed"));
  EXPECT_TRUE(product.c_is_untouched());
  context.gemm(call_of(product, TierChoice::kAuto));
  product.expect_right();
}

}  // namespace
}  // namespace rooftile
