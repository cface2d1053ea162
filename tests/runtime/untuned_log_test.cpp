// Calls without a tuned bucket are counted and written to the database, and never disturb other
// work.
#include "runtime/dispatch/untuned_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rooftile/rooftile.h>
#include <signal.h>
#include <sys/resource.h>

#include <thread>
#include <vector>

#include "db/store.h"
#include "generator/emit.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/call/grouped_call.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/context.h"
#include "runtime/model/calibration.h"
#include "tests/db/file_bytes.h"
#include "tests/support/call_of.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/first_device.h"
#include "tests/support/forked_child.h"
#include "tests/support/forked_threads.h"
#include "tests/support/opened.h"
#include "tests/support/product.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class UntunedLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    profile_ = first_device();
    Store store(file());
    device_ = store.device_id(profile_);
  }

  /// Tunes a device that is ten times as fast as the host, with one kernel for problems of size
  /// 64.
  void tune() {
    Store store(file());
    const HostRates host = {.call_ns = 100, .gbps = 20, .gemm = {{64, 64, 64, 20}}};
    store.add_calibration(device_, to_figures({.device = {.submit_ns = 1e4,
                                                          .upload_gbps = 100,
                                                          .download_gbps = 100,
                                                          .fma_gflops = 200,
                                                          .fma_f64_gflops = 200,
                                                          .levels = {{"memory", 100}},
                                                          .compute_units = 2},
                                               .host = host,
                                               .host1 = host}));
    plant_winners(store, device_, packed_problem(64, 64, 64), {{fast_kernel(profile_)}});
  }

  std::filesystem::path file() const { return folder_ / "tuned.db"; }
  Context context(std::optional<LogUntuned> log = {}) const {
    return Context({.database = file(), .cache_folder = folder_ / "cache", .log_untuned = log});
  }
  std::vector<UntunedProblem> logged() const {
    return Store(file(), OpenMode::kReadOnly).untuned_problems(device_);
  }
  static void multiply(Context& context, std::int64_t m, std::int64_t n, std::int64_t k,
                       float alpha = 1.0f) {
    Product product(padded_problem(m, n, k, Transpose::kNo, Transpose::kNo, alpha));
    context.gemm({.problem = product.problem,
                  .a = product.a.data(),
                  .b = product.b.data(),
                  .c = product.c.data()});
    product.expect_right();
  }

  ScratchFolder folder_;
  DeviceProfile profile_;
  RowId device_ = 0;
};

TEST_F(UntunedLogTest, CallsReachTheFileWhenTheContextIsClosed) {
  tune();
  {
    Context context = this->context();
    for (int call = 0; call < 3; ++call) multiply(context, 130, 260, 200);
    multiply(context, 140, 260, 200);
    EXPECT_THAT(logged(), IsEmpty()) << "the counts were written during a call";
  }
  const std::vector<UntunedProblem> found = logged();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].problem, packed_problem(130, 260, 200))
      << "the leading dimensions of the caller were stored";
  EXPECT_EQ(found[0].calls, 3);
  EXPECT_EQ(found[1].calls, 1);
}

TEST_F(UntunedLogTest, CallsWithFloat64SumsCountForTheKernelThatTheyNeed) {
  tune();
  {
    Context context({.database = file(),
                     .cache_folder = folder_ / "cache",
                     .deterministic = Deterministic::kYes,
                     .precision = Precision::kExact64});
    multiply(context, 530, 560, 500);
    Product integers(
        packed_problem(530, 560, 500, Transpose::kNo, Transpose::kNo, 1, parse_types("i8_f16")));
    context.gemm(call_of(integers));
    GroupedCall grouped = {{.problem = grouped_problem(530, 560, 500, {.experts = 2, .groups = 2})},
                           {{0, 300}, {1, 230}}};
    Product rows(packed_problem(530, 2 * 560, 500));
    grouped.call.a = rows.a.data(), grouped.call.b = rows.b.data(), grouped.call.c = rows.c.data();
    context.grouped(grouped);
  }
  std::vector<std::string> types;
  for (const UntunedProblem& one : logged()) types.push_back(to_string(one.problem.types));
  EXPECT_THAT(types, testing::UnorderedElementsAre("f64", "i8_i32"));
}

TEST_F(UntunedLogTest, HalfCountsForItsKernelsWhereMatrixUnitsRound) {
  const auto counted = [&] {
    std::filesystem::remove(file());
    device_ = Store(file()).device_id(profile_);
    tune();
    {
      Context context(
          {.database = file(), .cache_folder = folder_ / "cache", .precision = Precision::kHalf});
      // The plan of the first call is not that of the second.
      multiply(context, 530, 560, 500);
      Product usual(packed_problem(530, 560, 500));
      GemmCall call = call_of(usual);
      call.guard.precision = Precision::kStandard;
      context.gemm(call);
      Product integers(
          packed_problem(530, 560, 500, Transpose::kNo, Transpose::kNo, 1, parse_types("i8_f16")));
      context.gemm(call_of(integers));
    }
    std::vector<std::string> types;
    for (const UntunedProblem& one : logged()) types.push_back(to_string(one.problem.types));
    return types;
  };
  EXPECT_THAT(counted(), testing::UnorderedElementsAre("f32", "i8_f16"));
  profile_.limits.max_loop_trips = 0;
  profile_.limits.matrix_shapes = {{16, 16, 16, DataType::kBf16, DataType::kF32}};
  EXPECT_THAT(counted(), testing::UnorderedElementsAre("f32", "f32_half", "i8_f16"));
}

TEST_F(UntunedLogTest, TunedAndSmallProblemsAreNotCounted) {
  tune();
  {
    Context context = this->context();
    multiply(context, 65, 70, 100);          // belongs to the tuned bucket
    multiply(context, 8, 200, 9);            // A submission takes longer than the host.
    multiply(context, 130, 260, 200, 0.0f);  // This call reads neither A nor B.
  }
  EXPECT_THAT(logged(), IsEmpty());
}

TEST_F(UntunedLogTest, OnAnUncalibratedDeviceOnlyLargeProblemsAreCounted) {
  {
    Context context = this->context();
    multiply(context, 20, 30, 40);
    multiply(context, 100, 100, 100);
  }
  const std::vector<UntunedProblem> found = logged();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].problem.m, 100);
}

TEST_F(UntunedLogTest, OptionAndEnvironmentTurnItOff) {
  const auto call = [&](int off) {
    rooftile_context* const context = opened(file(), {.no_untuned_log = off});
    Product product(packed_problem(100, 100, 100));
    const rooftile_sgemm_args args = {.struct_size = sizeof args,
                                      .m = 100,
                                      .n = 100,
                                      .k = 100,
                                      .alpha = 1,
                                      .a = product.a.data(),
                                      .lda = 100,
                                      .b = product.b.data(),
                                      .ldb = 100,
                                      .c = product.c.data(),
                                      .ldc = 100};
    EXPECT_EQ(rooftile_sgemm(context, &args), ROOFTILE_OK) << rooftile_last_error();
    rooftile_close(context);
  };
  call(1);
  EXPECT_THAT(logged(), IsEmpty());
  {
    const ScopedEnvironment off("ROOFTILE_LOG_UNTUNED", "off");
    call(0);
  }
  EXPECT_THAT(logged(), IsEmpty());
  call(0);
  EXPECT_THAT(logged(), SizeIs(1));
}

TEST_F(UntunedLogTest, WritesOnlyWhatIsNew) {
  UntunedLog log(file(), profile_);
  *log.counter(packed_problem(9, 10, 11)) += 5;
  log.write();
  log.write();
  EXPECT_EQ(logged().at(0).calls, 5);
  *log.counter(packed_problem(9, 10, 11)) += 2;
  log.write();
  EXPECT_EQ(logged().at(0).calls, 7);
}

TEST_F(UntunedLogTest, AFullTableCountsOnlyKnownProblems) {
  UntunedLog log(file(), profile_);
  for (std::size_t i = 0; i < UntunedLog::kEntries; ++i) {
    auto* calls = log.counter(packed_problem(static_cast<std::int64_t>(i) + 1, 3, 5));
    ASSERT_NE(calls, nullptr) << i;
    ++*calls;
  }
  EXPECT_EQ(log.counter(packed_problem(9999, 3, 5)), nullptr);
  ++*log.counter(packed_problem(7, 3, 5));
  log.write();
  const std::vector<UntunedProblem> found = logged();
  ASSERT_THAT(found, SizeIs(UntunedLog::kEntries));
  EXPECT_EQ(found[0].problem.m, 7);
  EXPECT_EQ(found[0].calls, 2);
}

TEST_F(UntunedLogTest, ALockedFileIsRetriedAndADeletedFileIsNotRecreated) {
  UntunedLog log(file(), profile_);
  ++*log.counter(packed_problem(9, 10, 11));
  {
    Store other(file());
    const Store::Transaction writing(other);
    log.write();
  }
  EXPECT_THAT(logged(), IsEmpty());
  log.write();
  EXPECT_THAT(logged(), SizeIs(1));
  ++*log.counter(packed_problem(9, 10, 11));
  std::filesystem::remove(file());
  log.write();
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(UntunedLogTest, ThreadsCountTogether) {
  tune();
  constexpr int kCallers = 3, kCalls = 10;
  {
    Context context = this->context();
    multiply(context, 130, 260, 200);
    std::vector<std::thread> team;
    for (int t = 0; t < kCallers; ++t)
      team.emplace_back([&] {
        Product product(packed_problem(130, 260, 200));
        for (int call = 0; call < kCalls; ++call)
          context.gemm({.problem = product.problem,
                        .a = product.a.data(),
                        .b = product.b.data(),
                        .c = product.c.data(),
                        .tier = TierChoice::kAuto});
      });
    for (std::thread& thread : team) thread.join();
  }
  // A call that finds the table locked for long is not counted, rather than waiting.
  EXPECT_GE(logged().at(0).calls, 1 + kCalls);
  EXPECT_LE(logged().at(0).calls, 1 + kCallers * kCalls);
}

/// Runs body in a child process. Returns false if it threw or died.
template <typename Body>
bool survives(const Body& body) {
  const auto returns = [&] {
    body();
    return true;
  };
  return in_a_child(returns) == 0;
}

TEST_F(UntunedLogTest, AForkedChildWritesNothingAndEnds) {
  auto log = std::make_unique<UntunedLog>(file(), profile_);
  ++*log->counter(packed_problem(9, 10, 11));
  EXPECT_TRUE(survives([&] {
    ++*log->counter(packed_problem(12, 13, 14));
    log.reset();
  }));
  EXPECT_THAT(logged(), IsEmpty());
  log.reset();
  EXPECT_THAT(logged(), SizeIs(1));
}

TEST_F(UntunedLogTest, NothingIsCountedInAReadOnlyFileOrOnAFullDisk) {
  SKIP_WITH_THREAD_SANITIZER();
  const auto count_and_write = [&] {
    UntunedLog log(file(), profile_);
    ++*log.counter(packed_problem(9, 10, 11));
    log.write();
  };
  EXPECT_TRUE(survives([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit nothing = {};
    if (::setrlimit(RLIMIT_FSIZE, &nothing) != 0) throw std::runtime_error("no limit");
    count_and_write();
  }));
  EXPECT_THAT(logged(), IsEmpty());
  EXPECT_TRUE(survives([&] {
    // Permissions do not restrict root, so that the child changes its user.
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 &&
        (::chown(file().c_str(), kNobody, kNobody) != 0 ||
         ::chown(folder_.path().c_str(), kNobody, kNobody) != 0 || ::setuid(kNobody) != 0))
      throw std::runtime_error("cannot give up root");
    std::filesystem::permissions(file(), std::filesystem::perms::owner_read);
    count_and_write();
  }));
  EXPECT_THAT(logged(), IsEmpty());
  EXPECT_TRUE(survives([&] {
    std::filesystem::permissions(file(), std::filesystem::perms::owner_all);
    count_and_write();
  }));
  EXPECT_THAT(logged(), SizeIs(1)) << "counts are not written without the fault, either";
}

}  // namespace
}  // namespace rooftile
