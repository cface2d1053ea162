// What can break beneath a context, one test a fault (docs/faults.md): the call gets right numbers,
// it is said on stderr once, and later calls go where they still can.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "db/store.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "generator/space.h"
#include "runtime/context.h"
#include "runtime/device/device.h"
#include "runtime/shader_cache.h"
#include "runtime/step_time.h"
#include "tests/runtime/call_of.h"
#include "tests/runtime/faulty_driver.h"
#include "tests/runtime/gate.h"
#include "tests/runtime/planted_database.h"
#include "tests/runtime/product.h"
#include "tests/runtime/resident_fixture.h"
#include "tests/runtime/scratch.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using DriverCall = FaultyDriver::Call;

/// What body says on stderr.
std::string said_by(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  try {
    body();
  } catch (...) {
    testing::internal::GetCapturedStderr();
    throw;
  }
  return testing::internal::GetCapturedStderr();
}

void expect_one_line(const std::string& said, const std::string& text) {
  EXPECT_THAT(said, HasSubstr(text));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
}

/// On which the device always wins, whatever it is predicted to take; the guard costs nothing.
Calibration no_host() {
  Calibration calibration = slow_host();
  for (HostRates* host : {&calibration.host, &calibration.host1})
    host->call_ns = 1e12, host->gbps = 1000;
  return calibration;
}

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    const Enumeration found = enumerate_devices();
    ASSERT_FALSE(found.devices.empty()) << found.note;
    device_ = found.devices.front();
    plant({default_variant(device_), fallback_variant()});
  }
  void TearDown() override { FaultyDriver::heal(); }

  void plant(const std::vector<Variant>& ranked) const { plant(database_, device_, ranked); }
  static void plant(const std::filesystem::path& file, const DeviceProfile& device,
                    const std::vector<Variant>& ranked, double kernel_ns = 1e5) {
    std::filesystem::remove(file);
    plant_database(file, device, ranked, {}, {}, no_host(), kernel_ns);
  }
  /// Calls wait for their kernels, so that it is known which of them meets the fault.
  ContextOptions options() const {
    return {
        .database = database_, .cache_folder = cache_, .while_compiling = WhileCompiling::kWait};
  }
  std::unique_ptr<Context> open() const { return std::make_unique<Context>(options()); }

  /// Calls, checks the result, and says how it was answered.
  static Answer multiply(Context& context, const Problem& p, const Guard& guard = {}) {
    Product product(p);
    GemmCall call = call_of(product);
    call.guard = guard;
    context.gemm(call);
    product.expect_right();
    return context.last_answer().value();
  }
  Answer multiply(Context& context, const Guard& guard = {}) const {
    return multiply(context, problem_, guard);
  }
  static void expect(const Answer& answer, Tier tier, Reason reason) {
    EXPECT_EQ(answer.tier, tier);
    EXPECT_EQ(answer.reason, reason);
  }
  void expect_forced_device_fails(Context& context, const std::string& why) const {
    Product product(problem_);
    try {
      context.gemm(call_of(product, TierChoice::kDevice));
      FAIL() << "a device that is gone has answered";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
    EXPECT_TRUE(product.c_is_untouched());
  }
  /// In a context of its own, which finds nothing wrong.
  void expect_sound_again() const {
    FaultyDriver::heal();
    EXPECT_THAT(said_by([&] { expect(multiply(*open()), Tier::kDevice, Reason::kPredicted); }),
                IsEmpty());
  }

  /// Eight calls by each of four threads, all at once.
  void multiply_by_threads(Context& context, const Guard& guard = {}) const {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 8; ++i) multiply(context, guard);
      });
  }

  ScratchFolder folder_;
  const std::filesystem::path database_ = folder_ / "tuned.db", cache_ = folder_ / "cache";
  DeviceProfile device_;
  const Problem problem_ = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 1, 0.5f);
  const Guard checked_ = {.check_spots = true};
  // Of no tuned bucket, so that its calls are counted.
  const Problem untuned_ = padded_problem(200, 130, 40, Transpose::kNo, Transpose::kNo);
};

// A device that is lost.

class LostDevice : public Faults, public ::testing::WithParamInterface<DriverCall> {};

TEST_P(LostDevice, AmidACallIsAnsweredByTheHost) {
  const auto context = open();
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  const std::string said = said_by([&] {
    FaultyDriver::fail(GetParam(), VK_ERROR_DEVICE_LOST);
    expect(multiply(*context), Tier::kHost, Reason::kFailed);
    FaultyDriver::heal();
    for (int call = 0; call < 3; ++call)
      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
    expect(multiply(*context, checked_), Tier::kHost, Reason::kPredicted);
  });
  expect_one_line(said, "the device " + device_.name + " was lost: ");
  const Decision decision = context->decide(problem_);
  EXPECT_EQ(decision.veto_name, Veto::kDeviceGone);
  EXPECT_THAT(decision.veto, HasSubstr("was lost"));
  expect_forced_device_fails(*context, "was lost");
  expect_sound_again();
}
INSTANTIATE_TEST_SUITE_P(Found, LostDevice,
                         ::testing::Values(DriverCall::kSubmit, DriverCall::kWait),
                         [](const auto& found) {
                           return std::string(found.param == DriverCall::kSubmit ? "AtItsSubmission"
                                                                                 : "AtItsEnd");
                         });

TEST_F(Faults, ALostDeviceIsSaidOnceByAllThreads) {
  const auto context = open();
  multiply(*context);
  FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST, 5);
  expect_one_line(said_by([&] { multiply_by_threads(*context); }), "was lost");
}

TEST_F(Faults, ADeviceLostInAGuardedCallIsAnsweredByTheHost) {
  const auto context = open();
  const Guard guard = {.scan_range = true, .check_spots = true};
  expect(multiply(*context, guard), Tier::kDevice, Reason::kPredicted);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST);
                    expect(multiply(*context, guard), Tier::kHost, Reason::kFailed);
                    expect(multiply(*context, guard), Tier::kHost, Reason::kPredicted);
                  }),
                  "was lost");
}

TEST_F(Faults, ADeviceLostBetweenTheStepsOfALongProductIsAnsweredByTheHost) {
  plant(database_, device_, {default_variant(device_)}, 8 * kStepNs);
  const auto context = open();
  Problem p = packed_problem(64, 64, 64);
  p.beta = 0.5f;
  expect(multiply(*context, p), Tier::kDevice, Reason::kPredicted);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST, 1);
                    expect(multiply(*context, p), Tier::kHost, Reason::kFailed);
                  }),
                  "was lost");
}

TEST_F(Faults, ADeviceLostBetweenThePartsOfALargeProductLeavesTheRestToTheHost) {
  DeviceProfile small = device_;
  small.limits.max_storage_buffer_range_bytes = 64 << 10;
  plant(database_, small, {default_variant(device_), fallback_variant()});
  const auto context = open();
  // 120,000 bytes of A.
  const Problem p = padded_problem(300, 60, 100, Transpose::kNo, Transpose::kNo, 1, 0.5f);
  expect(multiply(*context, p), Tier::kDevice, Reason::kPredicted);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST, 1);
                    expect(multiply(*context, p), Tier::kHost, Reason::kFailed);
                    expect(multiply(*context, p), Tier::kHost, Reason::kPredicted);
                  }),
                  "was lost");
}

TEST_F(Faults, ADeviceLostWhileKernelsAreCompiledEndsInTheHost) {
  Context context({.database = database_, .cache_folder = cache_});
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kWait, VK_ERROR_DEVICE_LOST);
                    expect(multiply(context), Tier::kHost, Reason::kCompiling);
                    expect_forced_device_fails(context, "lost");  // has waited for the compiler
                    multiply(context);
                    expect(multiply(context), Tier::kHost, Reason::kPredicted);
                  }),
                  "was lost");
}

class FaultsDeathTest : public Faults {
 protected:
  /// Exit status 0 when everything is as promised. Does not wait for what the device still does.
  [[noreturn]] void hang() {
    ::alarm(60);  // a hang of this program itself becomes a failure
    Context* const context = open().release();
    multiply(*context);
    expect_one_line(said_by([&] {
                      FaultyDriver::fail(DriverCall::kWait, VK_TIMEOUT);
                      expect(multiply(*context), Tier::kHost, Reason::kFailed);
                      FaultyDriver::heal();
                      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                    }),
                    "the device is given up");
    std::filesystem::remove_all(folder_.path());
    std::_Exit(HasFailure() ? 1 : 0);
  }
};

TEST_F(FaultsDeathTest, ADeviceThatHangsIsGivenUpAndTheHostAnswers) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(hang(), testing::ExitedWithCode(0), "");
}

class ResidentFaults : public ResidentTest {
 protected:
  void TearDown() override {
    FaultyDriver::heal();
    ResidentTest::TearDown();
  }
};

TEST_F(ResidentFaults, WorkOnALostDeviceIsAnErrorAndHostPointersGoOn) {
  open({default_variant(device_)});
  Product product(padded_problem(33, 17, 65, Transpose::kNo, Transpose::kNo));
  const ProblemArgs problem(product);
  const rooftile_resident_operands operands = operands_of(product);
  FaultyDriver::fail(DriverCall::kSubmit, VK_ERROR_DEVICE_LOST);
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
              ROOFTILE_DEVICE_ERROR);
    EXPECT_THAT(rooftile_last_error(), HasSubstr("lost"));
    FaultyDriver::heal();  // what is lost stays so
  }
  rooftile_gemm_args args = problem.args;
  args.a = product.a.data();
  args.b = product.b.data();
  args.c = product.c.data();
  ok(rooftile_gemm(context_, &args));
  product.expect_right();
}

// A device without memory.

TEST_F(Faults, WithoutDeviceMemoryTheHostAnswersAsLongAsThatLasts) {
  const auto context = open();
  expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
  const Problem larger = packed_problem(300, 200, 50);
  expect_one_line(said_by([&] {
                    FaultyDriver::limit_memory(FaultyDriver::memory_in_use());
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context, larger), Tier::kHost, Reason::kFailed);
                    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                    FaultyDriver::heal();
                    expect(multiply(*context, larger), Tier::kDevice, Reason::kPredicted);
                  }),
                  "no memory on " + device_.name);
  EXPECT_EQ(context->decide(larger).veto_name, Veto::kNone);
}

TEST_F(Faults, BuffersKeptForOtherSizesAreGivenUpBeforeMemoryIsShort) {
  const auto context = open();
  expect(multiply(*context, packed_problem(600, 400, 20)), Tier::kDevice, Reason::kPredicted);
  FaultyDriver::limit_memory(FaultyDriver::memory_in_use());
  EXPECT_THAT(said_by([&] {
                expect(multiply(*context, packed_problem(200, 100, 100)), Tier::kDevice,
                       Reason::kPredicted);
              }),
              IsEmpty());
}

TEST_F(Faults, WithoutMemoryForTheDeviceItselfTheHostAnswersAsLongAsThatLasts) {
  const auto context = open();
  Context in_background({.database = database_, .cache_folder = cache_});
  for (Context* user : {context.get(), &in_background}) {
    FaultyDriver::fail(DriverCall::kOpen, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    expect_one_line(said_by([&] {
                      while (FaultyDriver::failed(DriverCall::kOpen) < 3)
                        EXPECT_EQ(multiply(*user).tier, Tier::kHost);
                      expect_forced_device_fails(*user, "ran out of memory");
                      FaultyDriver::heal();
                      while (multiply(*user).tier != Tier::kDevice) {
                      }
                    }),
                    "no memory on " + device_.name);
  }
}

// The second kernel in line finds the device open and is compiled: the first one is still wanted.
TEST_F(Faults, MemoryThatIsBackForTheSecondKernelIsForTheFirstOneToo) {
  Context in_background({.database = database_, .cache_folder = cache_});
  FaultyDriver::fail_once(DriverCall::kOpen, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  expect_one_line(said_by([&] {
                    constexpr int kFarTooMany = 100'000;
                    int calls = 0;
                    while (multiply(in_background).tier != Tier::kDevice && calls < kFarTooMany)
                      ++calls;
                    EXPECT_LT(calls, kFarTooMany);
                  }),
                  "no memory on " + device_.name);
  EXPECT_EQ(FaultyDriver::failed(DriverCall::kOpen), 1);
}

TEST_F(Faults, WithoutMemoryForTheCompilerTheHostAnswersAsLongAsThatLasts) {
  const auto context = open();
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kCompile, VK_ERROR_OUT_OF_HOST_MEMORY);
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kHost, Reason::kFailed);
                    expect_forced_device_fails(*context, "ran out of memory");
                    FaultyDriver::heal();
                    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                  }),
                  "no memory on " + device_.name);
}

TEST_F(Faults, WithoutMemoryForTheCompilerInTheBackgroundItIsSaid) {
  Gate gate(cache_, default_variant(device_));
  auto context =
      std::make_unique<Context>(ContextOptions{.database = database_, .cache_folder = cache_});
  FaultyDriver::fail(DriverCall::kCompile, VK_ERROR_OUT_OF_HOST_MEMORY);
  expect_one_line(said_by([&] {
                    expect(multiply(*context, untuned_), Tier::kHost, Reason::kCompiling);
                    EXPECT_TRUE(gate.open());
                    context.reset();  // waits for the compiler
                  }),
                  "no memory on " + device_.name);
}

// Kernels that do not compile.

TEST_F(Faults, AKernelThatFailsIsPassedOverForTheNext) {
  // A cached module that was cut off, with a checksum that fits: the device layer refuses it.
  const Shader first = emit_gemm(default_variant(device_), signature_of(problem_));
  std::vector<std::uint32_t> words = compile(first);
  words.resize(words.size() / 2);
  std::filesystem::create_directories(cache_ / "spirv");
  std::ofstream(cache_ / "spirv" / (first.hash + ".spv"), std::ios::binary)
      << hash_hex(words)
      << std::string_view(reinterpret_cast<const char*>(words.data()),
                          words.size() * sizeof(std::uint32_t));
  const auto context = open();
  expect_one_line(said_by([&] {
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                  }),
                  short_name(default_variant(device_)));
  EXPECT_FALSE(context->device_state().last_failure.empty());
}

TEST_F(Faults, WhenEveryKernelFailsTheHostAnswersAndTheDecisionSaysWhy) {
  const auto context = open();
  const std::string said = said_by([&] {
    FaultyDriver::fail(DriverCall::kCompile, VK_ERROR_UNKNOWN);
    expect(multiply(*context), Tier::kHost, Reason::kFailed);
    for (int call = 0; call < 3; ++call)
      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  });
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
  for (const Variant& variant : {default_variant(device_), fallback_variant()})
    EXPECT_THAT(said, HasSubstr("kernel '" + short_name(variant) + "' fails"));
  const Decision decision = context->decide(problem_);
  EXPECT_EQ(decision.veto_name, Veto::kNoKernel);
  EXPECT_THAT(decision.veto, HasSubstr("has failed"));
  expect_forced_device_fails(*context, "has failed");
  expect_sound_again();
}

// A kernel that computes wrongly.

class WrongKernel : public Faults {
 protected:
  void SetUp() override {
    Faults::SetUp();
    // The best kernel's compiled shader becomes one that scales a little too much.
    Shader shader = emit_gemm(default_variant(device_), signature_of(problem_));
    const std::string_view right = "return alpha * sum + old;";
    const std::size_t at = shader.glsl.find(right);
    ASSERT_NE(at, std::string::npos);
    shader.glsl.replace(at, right.size(), "return alpha * sum * 1.01 + old;");
    ShaderCache(cache_).spirv(shader);
  }
};

TEST_F(WrongKernel, IsCaughtByASpotCheckAndTheHostAnswers) {
  {
    const auto context = open();
    Product unguarded(problem_);
    context->gemm(call_of(unguarded));  // nobody looks
    EXPECT_EQ(context->last_answer()->tier, Tier::kDevice);
    expect_one_line(said_by([&] {
                      expect(multiply(*context, checked_), Tier::kHost, Reason::kPrecision);
                      // Not used any more: the next kernel is, and is right.
                      expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                      expect(multiply(*context, checked_), Tier::kDevice, Reason::kPredicted);
                    }),
                    "spot check: element (");
    EXPECT_THAT(context->device_state().last_failure, HasSubstr("spot check"));
  }
  // Nor by any other process, until it is certified anew.
  expect(multiply(*open()), Tier::kDevice, Reason::kPredicted);
}

TEST_F(WrongKernel, IsSaidOnceByAllThreads) {
  const auto context = open();
  expect_one_line(said_by([&] { multiply_by_threads(*context, checked_); }),
                  "spot check: element (");
}

TEST_F(WrongKernel, OnAForcedDeviceIsAnErrorWithCUntouched) {
  const auto context = open();
  Product product(problem_);
  GemmCall call = call_of(product, TierChoice::kDevice);
  call.guard = checked_;
  try {
    context->gemm(call);
    FAIL() << "the wrong kernel passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDevice);
    EXPECT_THAT(error.what(), HasSubstr("spot check: element ("));
  }
  EXPECT_TRUE(product.c_is_untouched());
}

// A driver that is gone.

TEST_F(Faults, ADriverThatGoesAfterTheStartEndsInTheHost) {
  const auto context = open();
  ASSERT_EQ(context->decide(problem_).tier, Tier::kDevice);
  expect_one_line(said_by([&] {
                    FaultyDriver::fail(DriverCall::kEnumerate, VK_ERROR_INITIALIZATION_FAILED);
                    expect(multiply(*context), Tier::kHost, Reason::kFailed);
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                  }),
                  "is not here or its driver has changed");
  EXPECT_EQ(context->decide(problem_).veto_name, Veto::kDeviceGone);
  expect_forced_device_fails(*context, "is not here");
  expect_sound_again();
}

TEST_F(Faults, AForcedCallThatFindsNoDriverSaysItByItsErrorAndTheHostsFirstCallOnStderr) {
  const auto context = open();
  FaultyDriver::fail(DriverCall::kEnumerate, VK_ERROR_INITIALIZATION_FAILED);
  EXPECT_THAT(said_by([&] { expect_forced_device_fails(*context, "is not here"); }), IsEmpty());
  expect_one_line(said_by([&] {
                    for (int call = 0; call < 3; ++call)
                      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
                  }),
                  "is not here or its driver has changed");
}

TEST_F(Faults, NothingIsSaidWhereNobodyWantsToHear) {
  const ScopedEnvironment off("ROOFTILE_LOG", "off");
  const auto context = open();
  EXPECT_THAT(said_by([&] {
                FaultyDriver::fail(DriverCall::kEnumerate, VK_ERROR_INITIALIZATION_FAILED);
                expect(multiply(*context), Tier::kHost, Reason::kFailed);
              }),
              IsEmpty());
}

// The tuning database.

/// Keeps every other connection out.
class LockedDatabase {
 public:
  explicit LockedDatabase(const std::filesystem::path& file) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &handle_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle_, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr,
                           nullptr, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(handle_);
  }
  ~LockedDatabase() { sqlite3_close(handle_); }
  LockedDatabase(const LockedDatabase&) = delete;
  LockedDatabase& operator=(const LockedDatabase&) = delete;

 private:
  sqlite3* handle_ = nullptr;
};

/// While it lives, no file grows beyond a kilobyte: for root, too.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit full = {.rlim_cur = 1024, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  sighandler_t handler_ = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before_ = {};
};

class DatabaseFaults : public WrongKernel {
 protected:
  /// Calls of the untuned problem that the database knows of.
  std::int64_t counted() const {
    const Store store(database_, OpenMode::kReadOnly);
    const auto row = store.find_device(device_);
    if (!row) return 0;
    std::int64_t calls = 0;
    for (const UntunedProblem& untuned : store.untuned_problems(*row))
      if (untuned.problem.m == untuned_.m) calls += untuned.calls;
    return calls;
  }
  static constexpr const char* kNotCounted = "problems without a tuned kernel are not counted: ";
};

TEST_F(DatabaseFaults, DeletedWhileOpenItIsNeitherMissedNorMadeAgain) {
  auto context = open();
  multiply(*context, untuned_);
  std::filesystem::remove(database_);
  const std::string said = said_by([&] {
    expect(multiply(*context, checked_), Tier::kHost, Reason::kPrecision);
    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
    for (int call = 0; call < 2; ++call) {
      expect(multiply(*context, untuned_), Tier::kDevice, Reason::kPredicted);
      context->write_counts();
    }
    context.reset();
  });
  EXPECT_THAT(said, HasSubstr(kNotCounted + database_.string() + " is gone\n"));
  EXPECT_THAT(said, HasSubstr("spot check"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
  EXPECT_FALSE(std::filesystem::exists(database_));

  context = open();
  expect(multiply(*context), Tier::kHost, Reason::kPredicted);
  EXPECT_THAT(context->note(), HasSubstr("no tuning database at"));
}

TEST_F(DatabaseFaults, ReplacedWhileOpenItGetsItsDevicesCountsAndVerdicts) {
  const auto context = open();
  DeviceProfile other = device_;
  other.driver_version += 1;
  const std::filesystem::path fresh = folder_ / "fresh.db";
  RowId other_row = 0;
  {
    Store store(fresh);
    other_row = store.device_id(other);  // where the first file has this device
    ASSERT_EQ(other_row, Store(database_).find_device(device_));
  }
  plant_database(fresh, device_, {default_variant(device_), fallback_variant()}, {}, {}, no_host());
  std::filesystem::rename(fresh, database_);
  expect_one_line(said_by([&] {
                    expect(multiply(*context, untuned_), Tier::kDevice, Reason::kPredicted);
                    expect(multiply(*context, checked_), Tier::kHost, Reason::kPrecision);
                    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                    context->write_counts();
                  }),
                  "spot check");
  EXPECT_EQ(counted(), 1);
  EXPECT_THAT(Store(database_, OpenMode::kReadOnly).untuned_problems(other_row), IsEmpty());
  EXPECT_EQ(open()->explain({.problem = problem_}).kernel, short_name(fallback_variant()));
}

TEST_F(DatabaseFaults, ReplacedByOneThatDoesNotKnowTheDeviceItCountsNothing) {
  auto context = open();
  std::filesystem::remove(database_);
  { const Store without_devices(database_); }
  expect_one_line(said_by([&] {
                    for (int call = 0; call < 2; ++call) {
                      expect(multiply(*context, untuned_), Tier::kDevice, Reason::kPredicted);
                      context->write_counts();
                    }
                    context.reset();
                  }),
                  kNotCounted + database_.string() + " was replaced");
  EXPECT_THAT(Store(database_, OpenMode::kReadOnly).devices(), IsEmpty());
}

TEST_F(DatabaseFaults, LockedAtTheStartItIsDoneWithout) {
  {
    const LockedDatabase locked(database_);
    std::unique_ptr<Context> context;
    expect_one_line(said_by([&] { context = open(); }), "database is locked");
    for (int call = 0; call < 2; ++call)
      expect(multiply(*context), Tier::kHost, Reason::kPredicted);
    const Decision decision = context->decide(problem_);
    EXPECT_EQ(decision.veto_name, Veto::kNotTuned);
    EXPECT_THAT(decision.veto, HasSubstr("another program keeps the file locked"));
  }
  expect(multiply(*open(), untuned_), Tier::kDevice, Reason::kPredicted);
}

TEST_F(DatabaseFaults, LockedWhileOpenItIsWrittenLater) {
  const auto context = open();
  const std::string said = said_by([&] {
    const LockedDatabase locked(database_);
    for (int call = 0; call < 2; ++call) {
      expect(multiply(*context, untuned_), Tier::kDevice, Reason::kPredicted);
      context->write_counts();
    }
    expect(multiply(*context, checked_), Tier::kHost, Reason::kPrecision);
    expect(multiply(*context, checked_), Tier::kDevice, Reason::kPredicted);
  });
  EXPECT_THAT(said, HasSubstr(kNotCounted));
  EXPECT_THAT(said, HasSubstr("spot check"));
  EXPECT_THAT(said, HasSubstr("a kernel that computes wrongly stays in the database"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 3) << said;
  EXPECT_EQ(counted(), 0);
  context->write_counts();
  EXPECT_EQ(counted(), 2);
}

TEST_F(DatabaseFaults, OnAFullDiskItIsWrittenLater) {
  const auto context = open();
  multiply(*context, untuned_);  // whose kernel is compiled, and stored, while that is possible
  expect_one_line(said_by([&] {
                    const FullDisk full;
                    for (int call = 0; call < 2; ++call) {
                      multiply(*context, untuned_);
                      context->write_counts();
                    }
                  }),
                  kNotCounted);
  EXPECT_EQ(counted(), 0);
  context->write_counts();
  EXPECT_EQ(counted(), 3);
}

// The cache of compiled kernels.

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

TEST_F(Faults, ACacheFolderThatCannotBeWrittenIsDoneWithout) {
  std::ofstream(cache_) << "a file in the way";
  expect_one_line(said_by([&] {
                    for (int context = 0; context < 2; ++context)
                      expect(multiply(*open()), Tier::kDevice, Reason::kPredicted);
                  }),
                  "kernels are compiled anew");
}

TEST_F(Faults, OnAFullDiskNoHalfOfAKernelIsKept) {
  std::unique_ptr<Context> context;  // which writes counts when it is closed
  expect_one_line(said_by([&] {
                    const FullDisk full;
                    context = open();
                    expect(multiply(*context), Tier::kDevice, Reason::kPredicted);
                  }),
                  "kernels are compiled anew");
  EXPECT_THAT(files_in(cache_ / "spirv"), IsEmpty());
  expect_sound_again();
  EXPECT_THAT(files_in(cache_ / "spirv"), Not(IsEmpty()));
}

TEST_F(Faults, ADamagedPipelineCacheIsSaidAndReplaced) {
  multiply(*open());
  std::filesystem::path damaged;
  for (const std::filesystem::path& file : files_in(cache_))
    if (file.filename().string().starts_with("pipelines-")) damaged = file;
  ASSERT_FALSE(damaged.empty());
  std::filesystem::resize_file(damaged, std::filesystem::file_size(damaged) - 1);
  expect_one_line(said_by([&] { expect(multiply(*open()), Tier::kDevice, Reason::kPredicted); }),
                  damaged.string() + " is ignored: ");
  EXPECT_TRUE(Device::open(device_, {.cache_folder = cache_})->pipeline_cache_state().loaded);
}

}  // namespace
}  // namespace rooftile
