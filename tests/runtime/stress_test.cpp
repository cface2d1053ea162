// Many threads make all kinds of calls at once, on contexts of several kinds that are opened and
// closed. The test is meant for the sanitizers. It takes two seconds, or $ROOFTILE_STRESS_S:
// ROOFTILE_STRESS_S=600 build-tsan/tests/runtime_test --gtest_filter='Stress.*'
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/numbers/random.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "tests/support/await.h"
#include "tests/support/c_api_fixture.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/on_device.h"
#include "tests/support/opened.h"
#include "tests/support/shared_work.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

constexpr int kThreads = 8;
// Calls of each thread in a round, besides those that all threads begin with. A small number gives
// many rounds and so many first uses of a context.
constexpr int kCallsInARound = 8;

double stress_s() {
  const char* const text = std::getenv("ROOFTILE_STRESS_S");
  return text != nullptr ? std::stod(text) : 2;
}

/// Names of the threads of this process, in alphabetical order, but for those of Mesa's shader
/// cache on disk: it keeps one to four of them, the more, the more kernels have waited to be
/// written at once, which depends on how busy the machine is.
std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  std::error_code ended;  // threads that end while the folder is read
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", ended)) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm") >> std::ws, name);
    if (!name.empty() && name.find(":disk$") == std::string::npos) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Options that a context is opened with.
struct Kind {
  const char* database;
  int deterministic = 0;
};
constexpr std::array kKinds = {Kind{"staging.db"}, Kind{"even.db"}, Kind{"small.db"},
                               Kind{"importing.db"}, Kind{"staging.db", 1}};

class Stress : public CApi {
 protected:
  void SetUp() override {
    const DeviceProfile device = first_device();
    DeviceProfile small = device;  // The largest operands are sliced.
    small.limits.max_storage_buffer_range_bytes = 64 << 10;
    // Importing host memory is predicted to be cheap, and staging to be slow.
    Calibration importing = slow_host();
    importing.device.upload_gbps = importing.device.download_gbps = 1e-3;
    importing.device.import_ns = 1;
    importing.device.import_upload_gbps = importing.device.import_download_gbps = 1;
    plant("staging.db", device, slow_host());
    plant("even.db", device, even_host());
    plant("small.db", small, slow_host());
    plant("importing.db", device, importing);
  }
  void plant(const char* name, const DeviceProfile& device, const Calibration& calibration) const {
    for (const char* types : {"f32", "f16"})
      write_test_database(folder_ / name, device, {fast_kernel(device), fallback_variant()}, {},
                          parse_types(types), calibration);
  }
  rooftile_context* open(const Kind& kind) const {
    return opened(folder_ / kind.database, {.deterministic = kind.deterministic});
  }

  /// Returns a problem with thin sizes or sizes around tile edges, and any scalars and leading
  /// dimensions.
  static Problem any_problem(Random& random, std::string_view type_text) {
    constexpr std::array<std::int64_t, 10> kSizes = {1, 2, 7, 16, 31, 33, 64, 65, 100, 129};
    const auto size = [&] { return kSizes[random.below(kSizes.size())]; };
    const auto transpose = [&] { return random.below(2) == 0 ? Transpose::kNo : Transpose::kYes; };
    const Types types = parse_types(type_text);
    const bool integers = types.c == DataType::kI32;
    const float alpha = integers || random.below(2) == 0 ? 1.0f : -0.5f;
    const float beta = random.below(2) == 0 ? 0.0f : integers ? 1.0f : 0.75f;
    const std::int64_t m = size(), n = size(), k = size();
    const Transpose trans_a = quantized(types) ? Transpose::kNo : transpose();
    return padded_problem(m, n, k, trans_a, transpose(), alpha, beta, types);
  }
  /// A call that is forced to the device has no other tier that could provide a higher precision.
  static rooftile_guard any_guard(Random& random, rooftile_tier tier) {
    rooftile_guard guard = {.struct_size = sizeof guard,
                            .scan_range = static_cast<int>(random.below(2)),
                            .check_spots = static_cast<int>(random.below(2))};
    if (tier != ROOFTILE_TIER_DEVICE) {
      guard.precision = static_cast<rooftile_precision>(random.below(7));
      guard.kappa = random.below(4) == 0 ? 1e5 : 0;
    }
    return guard;
  }
  /// Expects that the requested tier answered, that no device failed, and that float64 was used
  /// only on request.
  static void expect_answered(rooftile_context* context, rooftile_tier tier,
                              const rooftile_guard* guard) {
    rooftile_decision decision = {.struct_size = sizeof decision};
    ASSERT_EQ(rooftile_last_decision(context, &decision), ROOFTILE_OK) << rooftile_last_error();
    EXPECT_NE(decision.reason, ROOFTILE_REASON_FAILED);
    const bool plain =
        guard == nullptr || (guard->precision <= ROOFTILE_PRECISION_STANDARD && guard->kappa == 0);
    if (tier != ROOFTILE_TIER_AUTO && decision.reason != ROOFTILE_REASON_PRECISION) {
      EXPECT_EQ(decision.tier, tier);
      EXPECT_EQ(decision.reason, ROOFTILE_REASON_FORCED);
    }
    if (tier != ROOFTILE_TIER_AUTO && decision.reason == ROOFTILE_REASON_PRECISION) {
      EXPECT_EQ(decision.tier, ROOFTILE_TIER_HOST64);
    }
    if (plain) {
      EXPECT_NE(decision.reason, ROOFTILE_REASON_PRECISION);
    }
  }

  /// Makes the same call up to three times: from the second one on, the thread finds it as
  /// repeated.
  template <typename Args>
  void repeat(rooftile_status (*function)(rooftile_context*, const Args*),
              rooftile_context* context, const Args& args, Product& product, Random& random) {
    const auto times = static_cast<int>(1 + random.below(3));
    for (int i = 0; i < times; ++i) {
      product.c = product.c_before;
      product.stored_c_elements = product.stored_c_before;
      ASSERT_EQ(function(context, &args), ROOFTILE_OK)
          << rooftile_last_error() << ": " << to_string(product.problem);
      product.expect_right();
      expect_answered(context, args.tier, args.guard);
      ++calls_;
    }
  }
  void call_sgemm(rooftile_context* context, Random& random, rooftile_tier tier) {
    Product product(any_problem(random, "f32"));
    rooftile_sgemm_args args = args_of(product);
    args.tier = tier;
    const rooftile_guard guard = any_guard(random, args.tier);
    if (random.below(4) == 0) args.guard = &guard;
    repeat(rooftile_sgemm, context, args, product, random);
  }
  void call_gemm(rooftile_context* context, Random& random) {
    constexpr std::array kTypes = {"f32",        "f16",      "bf16_bf16", "i8_i32",
                                   "f32xq4b32z", "f32xq5_k", "f64"};
    const std::size_t types = random.below(kTypes.size());
    Problem p = padded_batch(any_problem(random, kTypes[types]),
                             1 + static_cast<std::int64_t>(random.below(3)), random.below(2) == 0);
    // No kernels are tuned for the other types, which the host computes.
    bool tuned = types < 2;
    if (p.types.c == DataType::kF32 && random.below(2) == 0) {
      p.epilogue = parse_epilogue("bias_column+relu");
      tuned = false;
    }
    Product product(p);
    rooftile_gemm_args args = gemm_args_of(product);
    const rooftile_epilogue epilogue = epilogue_of(product);
    if (any(p.epilogue)) args.epilogue = &epilogue;
    const rooftile_quantization quantization =
        quantized(p.types) ? quantization_of(product) : rooftile_quantization{};
    if (quantized(p.types)) args.quantization = &quantization;
    args.tier = tuned ? static_cast<rooftile_tier>(random.below(5)) : ROOFTILE_TIER_AUTO;
    const rooftile_guard guard = any_guard(random, args.tier);
    if (random.below(4) == 0) args.guard = &guard;
    repeat(rooftile_gemm, context, args, product, random);
  }
  void call_resident(rooftile_context* context, Random& random) {
    constexpr std::array kTypes = {"f32", "f16", "i8_i32", "f32xq4b32z", "f32xq5_k"};
    Product product(any_problem(random, kTypes[random.below(kTypes.size())]));
    const ProblemArgs problem(product);
    OnDevice there(context, product);
    const std::uint64_t way = random.below(4);
    if (way == 0) return there.run_and_forget(problem);
    way == 1 ? there.run_as_list(problem) : there.run_step_by_step(problem, way == 2);
    product.expect_right();
    ++calls_;
  }
  void ask_and_err(rooftile_context* context, Random& random) {
    Product product(any_problem(random, "f32"));
    const rooftile_sgemm_args args = args_of(product);
    rooftile_decision decision = {.struct_size = sizeof decision};
    ASSERT_EQ(rooftile_explain(context, &args, &decision), ROOFTILE_OK) << rooftile_last_error();
    rooftile_sgemm_args wrong = args;
    wrong.lda = 0;
    ASSERT_EQ(rooftile_sgemm(context, &wrong), ROOFTILE_INVALID_ARGUMENT);
    ASSERT_THAT(rooftile_last_error(), ::testing::HasSubstr("lda"));
    ASSERT_TRUE(product.c_is_untouched());
    if (random.below(8) == 0) rooftile_flush(context);
    calls_ += 2;
  }
  void call(rooftile_context* context, Random& random) {
    switch (random.below(8)) {
      case 0:
        return ask_and_err(context, random);
      case 1:
        return call_resident(context, random);
      case 2:
      case 3:
      case 4:
        return call_gemm(context, random);
      default:
        return call_sgemm(context, random, static_cast<rooftile_tier>(random.below(5)));
    }
  }

  /// State of one round. All threads use the same context for the first time at once, and note new
  /// problems in it; they also use the same buffers, list and runs.
  struct Round {
    rooftile_context* context = nullptr;
    // Set in every other round. It opens the device.
    std::unique_ptr<SharedWork> work = nullptr;
    bool over = false;
  };
  void end(Round& round) const {
    if (round.work != nullptr) round.work->expect_right();
    round.work = nullptr;
    rooftile_close(round.context);
    round.context = nullptr;
  }
  void begin(Round& round, std::size_t number) const {
    round.context = open(kKinds[number % kKinds.size()]);
    if (number % 2 == 1) round.work = std::make_unique<SharedWork>(round.context);
  }
  void call_together(const Round& round, std::size_t number, Random& random) {
    for (std::size_t i = 0; i < 4 && !HasFailure(); ++i) {
      if (round.work != nullptr) {
        round.work->use();
        ++calls_;
      } else if ((number / 2 + i) % 3 == 2) {
        call_resident(round.context, random);
      } else {
        call_sgemm(round.context, random, ROOFTILE_TIER_DEVICE);
      }
    }
  }

  /// Each thread makes some calls, and repeats this until end_s. Threads use shared contexts and
  /// open others; in each round, all threads begin with the same new context.
  void call_by_threads(double end_s, std::uint64_t seed) {
    const std::array shared = {open(kKinds[0]), open(kKinds[1])};
    Round round;
    std::size_t rounds = 0;
    std::barrier meeting(kThreads, [&]() noexcept {
      end(round);
      round.over = rounds > 0 && (now_s() >= end_s || HasFailure());
      if (!round.over) begin(round, rounds++);
    });
    const auto body = [&](int thread) {
      Random random(seed + static_cast<std::uint64_t>(thread));
      while (true) {
        meeting.arrive_and_wait();
        if (round.over) return;
        call_together(round, rounds - 1, random);
        rooftile_context* const own =
            thread % 4 == 3 ? open(kKinds[random.below(kKinds.size())]) : nullptr;
        for (int i = 0; i < kCallsInARound && !HasFailure(); ++i)
          call(own != nullptr ? own : shared[static_cast<std::size_t>(thread % 2)], random);
        rooftile_close(own);
      }
    };
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
    threads.clear();
    for (rooftile_context* context : shared) rooftile_close(context);
  }

  std::atomic<std::int64_t> calls_ = 0;
};

TEST_F(Stress, ManyThreadsMixCallsOnSharedAndOwnContexts) {
  const ScopedEnvironment cache("ROOFTILE_CACHE", (folder_ / "cache").string());
  const double end_s = now_s() + stress_s();
  call_by_threads(0, 0);  // Libraries that this loads stay loaded.
  const std::vector<std::string> threads_before = thread_names();
  const std::ptrdiff_t files_before = open_files();
  call_by_threads(end_s, kThreads);
  // A joined thread is listed in /proc until the kernel has removed it.
  EXPECT_TRUE(await("no more threads run than before",
                    [&] { return thread_names().size() <= threads_before.size(); }))
      << ::testing::PrintToString(thread_names()) << " after "
      << ::testing::PrintToString(threads_before);
  EXPECT_LE(open_files(), files_before);
  std::cout << calls_ << " calls\n";
}

}  // namespace
}  // namespace rooftile
