// Candidates that loop, crash, exhaust memory, write out of bounds, compute wrong results or lose
// the device. Only such a candidate is black-listed, and tuning continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "core/clock.h"
#include "generator/packed_format.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"
#include "tests/db/child_process.h"
#include "tests/support/await.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/faulty_driver.h"
#include "tests/support/file_text.h"
#include "tests/support/first_device.h"
#include "tests/support/scratch.h"
#include "tests/tuner/tune_alone.h"
#include "tuner/worker/settle_journal.h"
#include "tuner/worker/shared_submission.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr double kMemoryLimitBytes = 0.5 * (1 << 30);

/// Processor time that a process has used; 0 when it does not exist or is a zombie.
double processor_s(pid_t pid) {
  const std::string stat = bytes_of_file(fmt::format("/proc/{}/stat", pid));
  if (stat.empty()) return 0;
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string state, skipped;
  fields >> state;
  for (int i = 0; i < 10; ++i) fields >> skipped;  // fields 4 to 13
  double user_ticks = 0;
  fields >> user_ticks;
  return state == "Z" ? 0 : user_ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class IsolationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    profile_ = first_device();
    for (const Variant& variant : legal_variants(profile_.limits))
      if (variant.family == Family::kNaive && variant != fallback_variant())
        naive_.push_back(variant);
    ASSERT_GE(naive_.size(), 7u);
    std::ranges::stable_sort(naive_, std::ranges::greater(),
                             [](const Variant& v) { return v.tile_m * v.tile_n; });
  }

  std::string hash(const Variant& variant) const {
    return emit_gemm(variant, signature_of(problem_)).hash;
  }
  std::string plant(const Variant& variant, const std::string& behaviour) const {
    return hash(variant) + "=" + behaviour + " ";
  }
  WorkerProcess worker() const {
    return {ROOFTILE_FAULTY_WORKER,
            {{"operation", "open"}, {"device_uuid", profile_.device_uuid}},
            kMemoryLimitBytes};
  }
  /// Two workers that compile ahead; none unless ahead_ is set.
  std::vector<std::unique_ptr<WorkerProcess>> compilers() const {
    std::vector<std::unique_ptr<WorkerProcess>> workers;
    for (int i = 0; ahead_ && i < 2; ++i)
      workers.push_back(std::make_unique<WorkerProcess>(
          ROOFTILE_FAULTY_WORKER,
          Json{{"operation", "open"}, {"device_uuid", profile_.device_uuid}}, kMemoryLimitBytes));
    return workers;
  }
  /// Messages while this problem is tuned with the default, the fallback and the naive kernels.
  std::vector<std::string> tune(Store& store, TuneResult& result) {
    std::vector<std::string> messages;
    const auto message = [&](const std::string& text) { messages.push_back(text); };
    const RowId device = store.device_id(profile_);
    settle_journal(store, device, message);
    WorkerProcess process = worker();
    const Budget budget(600);
    const std::atomic<bool> stop = false;
    CompilerPool pool(compilers(), budget);
    CandidateRunner runner(store, process, budget, stop,
                           {.device = device,
                            .run = store.begin_run(device, kGeneratorVersion, "{}"),
                            .message = message,
                            .compilers = &pool});
    const DeviceRates rates = {.fma_gflops = 100};
    const TuneOptions options = {.strategy = "exhaustive"};
    result = tune_alone({.store = store,
                         .runner = runner,
                         .device = profile_,
                         .rates = rates,
                         .space = naive_,
                         .options = options},
                        device, problem_, 600);
    lost_s_ = runner.lost_s();
    failures_ = runner.failures();
    return messages;
  }
  /// Black-list reasons by the kernel's hash.
  std::map<std::string, std::string> black_list(const Store& store) const {
    std::map<std::string, std::string> reasons;
    for (const BlackListRecord& entry : store.black_listed(*store.find_device(profile_)))
      reasons[store.candidate(entry.candidate)->hash] = entry.reason;
    return reasons;
  }

  ScratchFolder folder_;
  DeviceProfile profile_;
  std::vector<Variant> naive_;
  Problem problem_ = packed_problem(35, 29, 41);
  double lost_s_ = 0;
  std::size_t failures_ = 0;
  bool ahead_ = false;
};

TEST_F(IsolationTest, FaultsWhileKernelsAreCompiledAheadBlockTheseKernelsAndNoOther) {
  ahead_ = true;
  naive_.resize(5);
  const ScopedEnvironment environment(
      "ROOFTILE_TEST_FAULTS", plant(naive_[0], "hangs_in_the_compiler") +
                                  plant(naive_[1], "crashes") + plant(naive_[2], "fills_memory") +
                                  plant(naive_[3], "loses_the_device"));
  Store store(folder_ / "rooftile.db");
  TuneResult result;
  tune(store, result);
  EXPECT_THAT(
      black_list(store),
      UnorderedElementsAre(
          Pair(hash(naive_[0]), HasSubstr("timed out: no answer within")),
          Pair(hash(naive_[1]), HasSubstr("crashed: the worker")),
          Pair(hash(naive_[2]), HasSubstr("out of memory: the worker held")),
          Pair(hash(naive_[3]), HasSubstr("launch failed: compiling: the device is lost"))));
  EXPECT_THAT(store.journal(*store.find_device(profile_)), IsEmpty());
  EXPECT_NE(result.winner, "");
}

TEST_F(IsolationTest, EachInjectedFaultIsBlockedWithItsReasonAndNoOtherKernel) {
  naive_.resize(7);
  // Mesa's software device ends each loop; elsewhere a workgroup is enough, and burns one
  // processor.
  const char* const endless =
      profile_.driver_name == "llvmpipe" ? "loops" : "loops_in_one_workgroup";
  const std::map<std::string, std::pair<std::string, std::string>> plants = {
      {hash(naive_[0]), {endless, "timed out: no answer within"}},
      {hash(naive_[1]), {"hangs_in_the_compiler", "timed out: no answer within"}},
      {hash(naive_[2]), {"crashes", "crashed: the worker"}},
      {hash(naive_[3]), {"fills_memory", "out of memory: the worker held"}},
      {hash(naive_[4]), {"gives_nan", "wrong result: .* is -?nan, expected"}},
      {hash(naive_[5]), {"loses_the_device", "launch failed: compiling: the device is lost"}},
      {hash(fallback_variant()),
       {"writes_outside", "wrong result: " + to_string(problem_) + ": wrote outside of C"}}};
  std::string planted;
  for (const auto& [hash, plant] : plants) planted += hash + "=" + plant.first + " ";
  const ScopedEnvironment environment("ROOFTILE_TEST_FAULTS", planted);
  Store store(folder_ / "rooftile.db");
  TuneResult result;
  const std::vector<std::string> messages = tune(store, result);

  const std::map<std::string, std::string> reasons = black_list(store);
  double lost_s = 0;
  const std::regex with_cost(R"((.*) \(([\d.]+) s lost\))");
  for (const auto& [hash, plant] : plants) {
    ASSERT_TRUE(reasons.contains(hash)) << plant.first;
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(reasons.at(hash), parts, with_cost)) << reasons.at(hash);
    EXPECT_TRUE(std::regex_search(parts[1].str(), std::regex(plant.second))) << reasons.at(hash);
    lost_s += std::stod(parts[2]);
    std::printf("%-22s %5.1f s: %s\n", plant.first.c_str(), std::stod(parts[2]),
                parts[1].str().c_str());
    EXPECT_THAT(messages, Contains(AllOf(HasSubstr("black-listed"), HasSubstr(reasons.at(hash)))));
  }
  EXPECT_THAT(reasons, SizeIs(plants.size())) << "a kernel without a fault was black-listed";
  EXPECT_EQ(failures_, plants.size());
  EXPECT_GE(lost_s_, lost_s - 0.5);
  std::printf("%zu candidates failed, %.1f s lost to them, new workers included\n", failures_,
              lost_s_);

  EXPECT_NE(result.winner, "");
  const auto kernels = store.tuned_kernels(*store.find_device(profile_), kGeneratorVersion);
  ASSERT_THAT(kernels, ::testing::Not(IsEmpty()));
  for (const TunedKernel& kernel : kernels) EXPECT_FALSE(plants.contains(kernel.candidate.hash));
  std::size_t others_measured = 0;
  for (const SampleRecord& sample :
       store.samples(*store.find_device(profile_), store.problem_id(problem_)))
    others_measured += store.candidate(sample.candidate)->hash == hash(naive_[6]) ? 1 : 0;
  EXPECT_GT(others_measured, 0u);

  // The next run skips them.
  TuneResult again;
  tune(store, again);
  EXPECT_EQ(failures_, 0u);
  EXPECT_EQ(lost_s_, 0);
  EXPECT_NE(again.winner, "");
}

// Mesa's software device drops writes outside of a buffer, so that C keeps its contents. On
// SwiftShader the write hits the worker's own memory.
TEST_F(IsolationTest, AKernelThatWritesFarOutsideIsBlockedAndNoOtherKernel) {
  naive_.resize(1);
  const bool drops_writes = profile_.driver_name == "llvmpipe";
  const ScopedEnvironment environment("ROOFTILE_TEST_FAULTS",
                                      plant(fallback_variant(), "writes_a_gibibyte_away"));
  Store store(folder_ / "rooftile.db");
  TuneResult result;
  tune(store, result);
  EXPECT_THAT(
      black_list(store),
      ElementsAre(Pair(hash(fallback_variant()),
                       HasSubstr(drops_writes ? "wrong result: 35x29x41 nn: C[34][28] is -inf"
                                              : "crashed: the worker was killed by signal 11"))));
  EXPECT_NE(result.winner, "");
}

// The default kernel runs first and leaves the right result in C, which the injected kernel does
// not overwrite.
TEST_F(IsolationTest, AKernelThatWritesNothingIsBlockedAndNoOther) {
  naive_.resize(2);
  const ScopedEnvironment environment("ROOFTILE_TEST_FAULTS", plant(naive_[0], "writes_nothing"));
  for (const float beta : {0.0f, 1.0f, 0.5f}) {
    problem_.beta = beta;
    Store store(folder_ / fmt::format("beta{}.db", beta));
    TuneResult result;
    tune(store, result);
    EXPECT_THAT(black_list(store),
                ElementsAre(Pair(hash(naive_[0]), HasSubstr("wrong result: 35x29x41 nn: C["))))
        << beta;
    EXPECT_NE(result.winner, "") << beta;
  }
}

// The test kills the tuner twice while its worker is in an endless kernel.
TEST_F(IsolationTest, AKilledTunerEndsItsWorkerAndTheCandidateIsTriedTwice) {
  naive_.resize(3);
  const Variant bad = naive_[0];
  const ScopedEnvironment environment("ROOFTILE_TEST_FAULTS", plant(bad, "loops"));
  const auto die_in = [&](const Variant& variant) {
    ChildProcess tuner([&] {
      Store store(folder_ / "rooftile.db");
      const RowId device = store.device_id(profile_);
      WorkerProcess process = worker();
      const Budget budget(600);
      const std::atomic<bool> stop = false;
      CandidateRunner runner(
          store, process, budget, stop,
          {.device = device, .run = store.begin_run(device, kGeneratorVersion, "{}")});
      for (const CandidateRecord& suspect : runner.suspects()) runner.release(suspect.id);
      runner.time(variant, problem_, {.samples = 2, .limit_ns = 60e9});
    });
    pid_t process = 0;
    const double in_the_kernel_s = 1;  // longer than opening and compiling
    ASSERT_TRUE(await("the worker runs the kernel", [&] {
      const std::vector<pid_t> children = children_of(tuner.pid());
      process = children.empty() ? 0 : children.front();
      return process != 0 && processor_s(process) > in_the_kernel_s;
    }));
    tuner.kill();
    EXPECT_EQ(tuner.wait(), -SIGKILL);
    EXPECT_TRUE(await("the worker is gone", [&] { return processor_s(process) == 0; }))
        << "a worker outlived its tuner";
  };

  die_in(bad);
  {
    Store store(folder_ / "rooftile.db");
    const RowId device = store.device_id(profile_);
    std::vector<std::string> messages;
    settle_journal(store, device, [&](const std::string& text) { messages.push_back(text); });
    EXPECT_THAT(messages, Contains(HasSubstr("is measured again, last")));
    EXPECT_THAT(store.black_listed(device), IsEmpty());
  }
  die_in(bad);
  Store store(folder_ / "rooftile.db");
  TuneResult result;
  tune(store, result);
  EXPECT_THAT(black_list(store),
              ElementsAre(Pair(hash(bad), HasSubstr("the tuner ended abnormally twice"))));
  EXPECT_THAT(store.dead_journal(*store.find_device(profile_)), IsEmpty());
  EXPECT_NE(result.winner, "");
}

TEST_F(IsolationTest, AnUnverifiedCandidateIsMeasuredLastAndCleared) {
  naive_.resize(3);
  const ScopedEnvironment environment("ROOFTILE_TEST_FAULTS", "");
  const Variant variant = default_kernel(profile_, staged_problem(problem_));
  ChildProcess tuner([&] {
    Store store(folder_ / "rooftile.db");
    const RowId device = store.device_id(profile_);
    store.journal_begin(device,
                        store.candidate_id({.hash = hash(variant),
                                            .signature = to_string(signature_of(problem_)),
                                            .variant = variant}),
                        ::getpid());
  });
  EXPECT_EQ(tuner.wait(), 0);
  Store store(folder_ / "rooftile.db");
  TuneResult result;
  const std::vector<std::string> messages = tune(store, result);
  EXPECT_THAT(messages, Contains(HasSubstr("is measured again, last")));
  EXPECT_THAT(black_list(store), IsEmpty());
  EXPECT_GT(result.default_ns, 0);
  const RowId device = *store.find_device(profile_);
  EXPECT_THAT(store.journal(device), IsEmpty());
  std::vector<std::string> order;
  for (const SampleRecord& sample : store.samples(device, store.problem_id(problem_)))
    order.push_back(store.candidate(sample.candidate)->hash);
  const std::string suspect = hash(variant);
  const auto first = std::ranges::find(order, suspect);
  ASSERT_NE(first, order.end());
  EXPECT_THAT(std::vector<std::string>(order.begin(), first), Contains(hash(naive_[2])));
}

TEST(MeasurerTest, CallsThatAddToCAreRightWhereverTheHostSeesC) {
  const DeviceProfile profile = first_device();
  Problem problem =
      packed_problem(35, 29, 41, Transpose::kNo, Transpose::kNo, 3, parse_types("f16_f16"));
  for (const bool as_gpu : {false, true})
    for (const float beta : {0.0f, 0.5f}) {
      problem.beta = beta;
      Measurer measurer(Device::open(profile), nullptr, nullptr, as_gpu);
      // More samples than sets of operands: each C is computed twice.
      for (const int samples : {3, 9}) {
        const TimeReply reply = measurer.time({.variant = fast_kernel(profile),
                                               .problem = problem,
                                               .samples = samples,
                                               .rotate_bytes = 1e6});
        EXPECT_THAT(reply.kernel_ns, SizeIs(samples)) << as_gpu << " " << beta;
      }
    }
}

TEST(MeasurerTest, CallsOfOneSubmissionWaitForEachOther) {
  const Step clear = ClearStep{};
  std::vector<KernelSteps> calls(2, {.steps = {clear, BarrierStep{}, clear}, .first_gemm = 2});
  const SharedSubmission all = one_submission({clear}, calls);
  const auto is_barrier = [&](std::size_t i) {
    return std::holds_alternative<BarrierStep>(all.steps.at(i));
  };
  ASSERT_THAT(all.steps, SizeIs(1 + 2 * (1 + 3)));
  EXPECT_TRUE(is_barrier(1) && is_barrier(5));
  ASSERT_THAT(all.calls, SizeIs(2));
  EXPECT_EQ(all.calls[1].begin, 6u);
  EXPECT_EQ(all.calls[1].gemm, 8u);
  EXPECT_EQ(all.calls[1].end, 9u);
}

TEST(MeasurerTest, KernelsThatPackAndSplitAreRightInOneSubmission) {
  const DeviceProfile profile = first_device();
  const Problem problem = packed_problem(65, 34, 130);
  std::vector<Variant> kernels;
  for (const Variant& v : legal_variants(profile.limits)) {
    if (illegal_reason(v, profile.limits, problem, own_buffers(problem))) continue;
    const bool known = std::ranges::any_of(kernels, [&](const Variant& other) {
      return packs(other) == packs(v) && (other.split_k > 1) == (v.split_k > 1);
    });
    if (!known && v.reduction != Reduction::kAtomic) kernels.push_back(v);
  }
  EXPECT_THAT(kernels, SizeIs(3)) << "plain, packed, split-K";
  Measurer measurer(Device::open(profile), nullptr, nullptr, true);
  for (const Variant& variant : kernels)
    for (const bool prepacked : {false, true}) {
      if (prepacked && !packs(variant)) continue;
      const TimeReply reply = measurer.time({.variant = variant,
                                             .problem = problem,
                                             .samples = 4,
                                             .rotate_bytes = 1e6,
                                             .prepacked = prepacked});
      EXPECT_THAT(reply.kernel_ns, SizeIs(4)) << to_string(variant);
      EXPECT_EQ(reply.pack_ns > 0, packs(variant) || variant.split_k > 1) << to_string(variant);
    }
}

TEST(MeasurerTest, SamplesOfAGpuAreOneSubmissionWhereTheyAreShort) {
  const DeviceProfile profile = first_device();
  const Problem problem = packed_problem(5, 7, 9);
  for (const bool as_gpu : {false, true}) {
    Measurer measurer(Device::open(profile), nullptr, nullptr, as_gpu);
    const TimeRequest request = {
        .variant = fast_kernel(profile), .problem = problem, .samples = 5, .rotate_bytes = 1e6};
    measurer.time(request);
    const int before = FaultyDriver::calls(FaultyDriver::Call::kSubmit);
    const TimeReply reply = measurer.time(request);
    const int submissions = FaultyDriver::calls(FaultyDriver::Call::kSubmit) - before;
    // An untimed run, five samples and those that are repeated. Memory of its own also takes
    // copies: of spots before each submission of samples, of all that is checked at the end.
    const bool together = as_gpu && 6 * reply.estimate_ns <= kTogetherNs;
    const int of_samples = (together ? 1 : 6) + reply.retaken;
    const int spots = as_gpu ? of_samples - (together ? 1 : 0) : 0;
    EXPECT_EQ(submissions, of_samples + spots + (as_gpu ? 1 : 0)) << as_gpu << " " << together;
  }
}

TEST(TimedOperandsTest, AProblemsOperandsAreKeptWhereTheDeviceHasMemoryOfItsOwn) {
  const DeviceProfile profile = enumerate_devices().devices.at(0);
  const Problem one = staged_problem(packed_problem(35, 29, 41)),
                other = staged_problem(packed_problem(64, 8, 8));
  for (const bool unified : {true, false}) {
    const auto device = Device::open(profile);
    TimedOperands operands(device, unified);
    const auto made = [&](const Problem& p) {
      operands.prepare(p, 1e6);
      const Operands of_set = operands.operands(0, own_buffers(p), fast_kernel(profile));
      return std::pair(of_set.a, of_set.c);
    };
    const auto first = made(one);
    EXPECT_TRUE(made(other) != first || unified);
    const int before = FaultyDriver::calls(FaultyDriver::Call::kSubmit);
    const auto again = made(one);
    EXPECT_TRUE(unified || again == first);
    EXPECT_EQ(FaultyDriver::calls(FaultyDriver::Call::kSubmit), before) << "nothing is uploaded";
    EXPECT_EQ(operands.written_behind_c(), "");
  }
}

TEST(TimedOperandsTest, AResultThatIsMissingAndAWriteBehindCAreSeenWhereverTheHostSeesC) {
  const DeviceProfile profile = enumerate_devices().devices.at(0);
  for (const bool unified : {true, false}) {
    const auto device = Device::open(profile);
    const Problem p = staged_problem(packed_problem(35, 29, 41));
    TimedOperands operands(device, unified);
    operands.prepare(p, 1e6);
    ASSERT_GT(operands.sets(), 2u);
    EXPECT_EQ(operands.written_behind_c(), "");
    operands.overwrite_spots(2);
    EXPECT_THAT(operands.spot_check(2), HasSubstr("is -inf, expected")) << unified;
    EXPECT_THAT(operands.check(2), HasSubstr("is -inf, expected")) << unified;
    const Variant variant = fast_kernel(profile);
    const Operands of_set = operands.operands(2, own_buffers(p), variant);
    const std::vector<Step> steps = {ClearStep{{of_set.c, staged_bytes(p).c + 16, 16}}};
    run_steps(*device, steps);
    EXPECT_THAT(operands.check(2), HasSubstr("wrote outside of C")) << unified;
    EXPECT_EQ(operands.written_behind_c(), "") << unified;
    run_steps(*device, steps);
    EXPECT_THAT(operands.written_behind_c(), HasSubstr("wrote outside of C")) << unified;
    EXPECT_EQ(operands.written_behind_c(), "") << unified;
  }
}

TEST(WorkerTest, EndsWithItsInput) {
  EXPECT_EQ(std::system(ROOFTILE_FAULTY_WORKER " worker </dev/null"), 0);
}

TEST(WorkerTest, KeepsNoRequestWithoutEnd) {
  EXPECT_NE(std::system("head -c 8000000 /dev/zero | " ROOFTILE_FAULTY_WORKER " worker >/dev/null"),
            0);
}

}  // namespace
}  // namespace rooftile
