// While the device is being opened and a kernel is being compiled, the host answers. Only calls
// that ask for it wait.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "core/error.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/forked_child.h"
#include "tests/support/gate.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Compiling : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = first_device();
    write_test_database(database_, device_, {fast_kernel(device_)}, {}, {}, slow_host());
  }
  std::unique_ptr<Context> open() const {
    return std::make_unique<Context>(ContextOptions{.database = database_, .cache_folder = cache_});
  }
  /// Makes the call, checks its result and returns how it was answered.
  static Answer multiply(Context& context, TierChoice tier = TierChoice::kAuto) {
    Product product(padded_problem(70, 50, 90, Transpose::kNo, Transpose::kNo));
    context.gemm(call_of(product, tier));
    product.expect_right();
    return context.last_answer().value();
  }
  static void expect(const Answer& answer, Tier tier, Reason reason) {
    EXPECT_EQ(answer.tier, tier);
    EXPECT_EQ(answer.reason, reason);
  }

  ScratchFolder folder_;
  const std::filesystem::path database_ = folder_ / "tuned.db", cache_ = folder_ / "cache";
  DeviceProfile device_;
};

TEST_F(Compiling, TheHostAnswersUntilTheKernelIsCompiled) {
  Gate gate(cache_, fast_kernel(device_));
  const std::unique_ptr<Context> context = open();
  ASSERT_EQ(context->explain({.problem = packed_problem(70, 50, 90)}).decision.tier, Tier::kDevice);
  for (int call = 0; call < 3; ++call) expect(multiply(*context), Tier::kHost, Reason::kCompiling);
  EXPECT_TRUE(gate.open());
  expect(multiply(*context, TierChoice::kDevice), Tier::kDevice, Reason::kForced);
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  EXPECT_EQ(context->device_state().last_failure, "");
}

TEST_F(Compiling, AWaitingCallDoesNotBlockOtherCalls) {
  Gate gate(cache_, fast_kernel(device_));
  const std::unique_ptr<Context> context = open();
  expect(multiply(*context), Tier::kHost, Reason::kCompiling);
  std::optional<Answer> waited;
  std::thread waiting([&] { waited = multiply(*context, TierChoice::kDevice); });
  for (int call = 0; call < 3; ++call) expect(multiply(*context), Tier::kHost, Reason::kCompiling);
  EXPECT_TRUE(gate.open());
  waiting.join();
  expect(*waited, Tier::kDevice, Reason::kForced);
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
}

TEST_F(Compiling, ClosingWaitsForTheCompiler) {
  Gate gate(cache_, fast_kernel(device_));
  std::unique_ptr<Context> context = open();
  multiply(*context);
  gate.meet();  // Closing drops what the background thread has not begun.
  bool let_through = false;
  std::thread opening([&] { let_through = gate.open(); });
  context.reset();
  opening.join();
  EXPECT_TRUE(let_through) << "the context was destroyed while the compiler still used it";
}

TEST_F(Compiling, AKernelThatDoesNotCompileIsSkippedInTheBackground) {
  // The second kernel does not count as a quick kernel (quick_answers_test.cpp).
  Variant second = fast_kernel(device_);
  second.raster = second.raster == Raster::kRow ? Raster::kColumn : Raster::kRow;
  write_test_database(folder_ / "two.db", device_, {fast_kernel(device_), second}, {}, {},
                      slow_host());
  Gate gate(cache_, fast_kernel(device_));
  const auto context = std::make_unique<Context>(
      ContextOptions{.database = folder_ / "two.db", .cache_folder = cache_});
  testing::internal::CaptureStderr();
  expect(multiply(*context), Tier::kHost, Reason::kCompiling);
  EXPECT_TRUE(gate.open_with_damage());
  expect(multiply(*context, TierChoice::kDevice), Tier::kDevice, Reason::kForced);
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr(short_name(fast_kernel(device_))));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

TEST_F(Compiling, TheHostAnswersForAMissingDevice) {
  DeviceProfile other = device_;
  other.driver_version += 1;
  write_test_database(folder_ / "other.db", other, {fallback_variant()}, {}, {}, slow_host());
  Context context({.database = folder_ / "other.db", .cache_folder = cache_});
  expect(multiply(context), Tier::kHost, Reason::kCompiling);
  // This call waits until the attempt to open the device ends.
  EXPECT_THROW(multiply(context, TierChoice::kDevice), Error);
  EXPECT_EQ(context.last_answer(), std::nullopt);
  expect(multiply(context), Tier::kHost, Reason::kFailed);
  expect(multiply(context), Tier::kHost, Reason::kPredicted);
  const Decision d = context.decide(packed_problem(70, 50, 90));
  EXPECT_EQ(d.veto_name, Veto::kDeviceGone);
  EXPECT_THAT(d.veto, HasSubstr("not here or its driver has changed"));
}

TEST_F(Compiling, AForkedChildComputesOnTheHostAndEnds) {
  Gate gate(cache_, fast_kernel(device_));
  std::unique_ptr<Context> context = open();
  multiply(*context);  // A thread now blocks at the gate.
  const auto body = [&] {
    expect(multiply(*context), Tier::kHost, Reason::kFailed);
    expect(multiply(*context), Tier::kHost, Reason::kPredicted);
    EXPECT_EQ(context->decide(packed_problem(70, 50, 90)).veto_name, Veto::kDeviceGone);
    context.reset();
    return true;
  };
  EXPECT_EQ(in_a_child(body), 0);
  EXPECT_TRUE(gate.open());
  expect(multiply(*context, TierChoice::kDevice), Tier::kDevice, Reason::kForced);
}

/// A child process that runs first_call and must not hang. Its output lines are "tier reason
/// bits".
class Process {
 public:
  Process(const std::string& environment, const std::string& arguments)
      : pipe_(::popen(fmt::format("exec env {} timeout 60 {} {} {}", environment,
                                  ROOFTILE_FIRST_CALL, ROOFTILE_LIBRARY, arguments)
                          .c_str(),
                      "r")) {}
  std::string line() {
    std::array<char, 256> text = {};
    return std::fgets(text.data(), text.size(), pipe_) != nullptr ? text.data() : "";
  }
  /// Returns the status of waitpid.
  int end() { return ::pclose(pipe_); }

 private:
  std::FILE* pipe_;
};

class FirstCall : public Compiling {
 protected:
  std::string environment() const {
    return fmt::format("ROOFTILE_DB={} ROOFTILE_CACHE={}", database_.string(), cache_.string());
  }
  static std::string text(Tier tier, Reason reason) {
    return fmt::format("{} {} ", tier == Tier::kDevice ? 1 : 2, static_cast<int>(reason));
  }
};

TEST_F(FirstCall, DoesNotWaitForTheDeviceToOpen) {
  const std::filesystem::path manifest = folder_ / "icd.json", answer = folder_ / "answer.json",
                              go_on = folder_ / "go on";
  for (const auto& pipe : {manifest, go_on}) ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(answer) << "no manifest\n";
  Process process(fmt::format("{0} VK_DRIVER_FILES={1} VK_ICD_FILENAMES={1} WAIT_FOR='{2}'",
                              environment(), manifest.string(), go_on.string()),
                  "close");
  EXPECT_THAT(process.line(), StartsWith(text(Tier::kHost, Reason::kCompiling)));
  // This open() returns once the loader reads the pipe.
  const int fd = ::open(manifest.c_str(), O_WRONLY | O_CLOEXEC);
  // The loader reads this file the next time.
  std::filesystem::rename(answer, manifest);
  ::close(fd);
  // The process closes its context only now: earlier, this would have cancelled the opening.
  std::ofstream(go_on) << '\n';
  EXPECT_EQ(process.end(), 0);
}

/// How the process of first_call can end.
#ifdef __SANITIZE_THREAD__
// ThreadSanitizer runs a library's exit handlers at the end of the process, when an unloaded
// library is gone.
constexpr std::array kEndings = {"leave", "close"};
#else
constexpr std::array kEndings = {"leave", "close", "unload"};
#endif

TEST_F(FirstCall, AProcessMayEndWhileTheDeviceIsOpened) {
  for (int attempt = 0; attempt < 3; ++attempt)
    for (const char* mode : kEndings) {
      Process process(environment(), mode);
      EXPECT_THAT(process.line(), StartsWith(text(Tier::kHost, Reason::kCompiling))) << mode;
      EXPECT_EQ(process.end(), 0) << mode;
    }
}

TEST_F(FirstCall, AProcessMayEndWhileAKernelIsCompiled) {
  const std::filesystem::path go_on = folder_ / "go on", gate = folder_ / "gate";
  for (const auto& pipe : {go_on, gate}) ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const char* mode : kEndings) {
    Process process(
        fmt::format("{} WAIT_FOR='{}' GATE='{}'", environment(), go_on.string(), gate.string()),
        mode);
    EXPECT_THAT(process.line(), StartsWith(text(Tier::kHost, Reason::kCompiling))) << mode;
    std::ofstream compiler(gate);  // This returns once the thread that compiles reads the pipe.
    std::ofstream(go_on) << '\n';  // Lets the process end.
    compiler << '\n' << std::flush;
    EXPECT_EQ(process.end(), 0) << mode;
    std::filesystem::remove_all(cache_);
  }
}

TEST_F(FirstCall, AChildOfAProcessThatHasNotUsedTheDeviceUsesIt) {
  Process process(environment() + " ROOFTILE_TIER=device", "fork");
  const std::string child = process.line(), parent = process.line();
  EXPECT_THAT(child, StartsWith(text(Tier::kDevice, Reason::kForced)));
  EXPECT_EQ(child, parent);
  EXPECT_EQ(process.end(), 0);
}

// OpenBLAS splits a GEMM among its threads, and sums elements at the edges of the slices in
// another order.
TEST_F(FirstCall, DeterministicBitsDoNotDependOnThreads) {
  for (const char* tier : {"auto", "host", "host64"}) {
    std::vector<std::string> lines;
    for (const int threads : {1, 2, 5}) {
      Process process(fmt::format("{} ROOFTILE_DETERMINISTIC=1 ROOFTILE_TIER={} "
                                  "OPENBLAS_NUM_THREADS={}",
                                  environment(), tier, threads),
                      "close 501");
      lines.push_back(process.line());
      EXPECT_EQ(process.end(), 0);
    }
    EXPECT_NE(lines.front(), "");
    for (const std::string& line : lines) EXPECT_EQ(line, lines.front()) << tier;
  }
}

}  // namespace
}  // namespace rooftile
