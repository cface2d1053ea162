// Many threads, all kinds of calls at once. Two seconds, or ROOFTILE_STRESS_S of them:
//   ROOFTILE_STRESS_S=600 build-tsan/tests/runtime_test --gtest_filter='Stress.*'
#include <array>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/random.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "tests/runtime/c_api_fixture.h"
#include "tests/runtime/planted_database.h"

namespace rooftile {
namespace {

constexpr int kThreads = 8;

double stress_s() {
  const char* const text = std::getenv("ROOFTILE_STRESS_S");
  return text != nullptr ? std::stod(text) : 2;
}

class Stress : public CApi {
 protected:
  void SetUp() override {
    const Enumeration found = enumerate_devices();
    ASSERT_FALSE(found.devices.empty()) << found.note;
    plant_database(folder_ / "planted.db", found.devices.front(),
                   {default_variant(found.devices.front()), fallback_variant()}, {}, {},
                   slow_host());
    context_ = open();
  }
  rooftile_context* open() const {
    const std::string database = (folder_ / "planted.db").string();
    const rooftile_options options = {.struct_size = sizeof options,
                                      .database_path = database.c_str()};
    rooftile_context* context = nullptr;
    EXPECT_EQ(rooftile_open(&options, &context), ROOFTILE_OK) << rooftile_last_error();
    return context;
  }

  static Transpose any_transpose(Random& random) {
    return random.below(2) == 0 ? Transpose::kNo : Transpose::kYes;
  }

  /// Sizes around tile edges and thin ones; any scalars, ld, batch, epilogue and tier.
  static void call(rooftile_context* context, Random& random) {
    constexpr std::array<std::int64_t, 10> kSizes = {1, 2, 7, 16, 31, 33, 64, 65, 100, 129};
    constexpr std::array kTiers = {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_AUTO,  ROOFTILE_TIER_DEVICE,
                                   ROOFTILE_TIER_HOST, ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64};
    const auto size = [&] { return kSizes[random.below(kSizes.size())]; };
    Problem p =
        padded_problem(size(), size(), size(), any_transpose(random), any_transpose(random),
                       random.below(2) == 0 ? 1.0f : -0.5f, random.below(2) == 0 ? 0.0f : 0.75f);
    const rooftile_tier tier = kTiers[random.below(kTiers.size())];
    switch (random.below(3)) {
      case 0: {
        Product product(p);
        rooftile_sgemm_args args = args_of(product);
        args.tier = tier;
        ASSERT_EQ(rooftile_sgemm(context, &args), ROOFTILE_OK) << rooftile_last_error();
        product.expect_right();
        break;
      }
      case 1: {
        // What no tuned kernel fuses goes to the host.
        p = padded_batch(p, 1 + static_cast<std::int64_t>(random.below(3)), random.below(2) == 0);
        if (tier != ROOFTILE_TIER_DEVICE && random.below(2) == 0)
          p.epilogue = parse_epilogue("bias_column+relu");
        Product product(p);
        rooftile_gemm_args args = gemm_args_of(product);
        args.tier = tier;
        const rooftile_epilogue epilogue = epilogue_of(product);
        if (any(p.epilogue)) args.epilogue = &epilogue;
        ASSERT_EQ(rooftile_gemm(context, &args), ROOFTILE_OK) << rooftile_last_error();
        product.expect_right();
        break;
      }
      default: {
        Product product(p);
        const rooftile_sgemm_args args = args_of(product);
        rooftile_decision decision = {.struct_size = sizeof decision};
        ASSERT_EQ(rooftile_explain(context, &args, &decision), ROOFTILE_OK)
            << rooftile_last_error();
        rooftile_sgemm_args wrong = args;
        wrong.lda = 0;
        ASSERT_EQ(rooftile_sgemm(context, &wrong), ROOFTILE_INVALID_ARGUMENT);
        ASSERT_THAT(rooftile_last_error(), ::testing::HasSubstr("lda"));
        ASSERT_TRUE(product.c_is_untouched());
      }
    }
  }
};

TEST_F(Stress, ManyThreadsMixCallsOnSharedAndOwnContexts) {
  const double end_s = now_s() + stress_s();
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Random random(static_cast<std::uint64_t>(t));
      while (now_s() < end_s && !HasFailure()) {
        // Contexts come and go beside the one that all share.
        rooftile_context* const own = t % 4 == 3 ? open() : nullptr;
        for (int i = 0; i < 20 && now_s() < end_s && !HasFailure(); ++i)
          call(own != nullptr ? own : context_, random);
        rooftile_close(own);
      }
    });
}

}  // namespace
}  // namespace rooftile
