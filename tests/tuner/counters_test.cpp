// Counters of winners, from the driver to the report. Tuning continues without them after any
// failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/runtime_view.h"
#include "generator/space.h"
#include "generator/version.h"
#include "report/problem.h"
#include "tests/support/counting_driver.h"
#include "tests/support/first_device.h"
#include "tests/support/scratch.h"
#include "tests/tuner/tune_alone.h"
#include "tuner/stored/refresh.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kBudgetS = 600;  // exceeds the time of every test here

class TunedCounters : public ::testing::Test {
 protected:
  void SetUp() override {
    profile_ = first_device();
    for (const Variant& variant : legal_variants(profile_.limits))
      if (variant.family == Family::kNaive && variant != fallback_variant() && space_.size() < 2)
        space_.push_back(variant);
    Calibration calibration;
    calibration.device = rates_;
    store_.add_calibration(store_.device_id(profile_), to_figures(calibration));
  }

  /// Makes a runner for this device, with a new worker.
  void with_runner(const DeviceProfile& profile, bool counters,
                   const std::function<void(CandidateRunner&, RowId)>& body) {
    const RowId device = store_.device_id(profile);
    WorkerProcess worker(ROOFTILE_COUNTING_WORKER,
                         {{"operation", "open"}, {"device_uuid", profile.device_uuid}});
    const Budget budget(kBudgetS);
    const std::atomic<bool> stop = false;
    CandidateRunner runner(store_, worker, budget, stop,
                           {.device = device,
                            .run = store_.begin_run(device, kGeneratorVersion, "{}"),
                            .rotate_bytes = 3e6,
                            .counters = counters,
                            .message = [&](const std::string& text) { said_.push_back(text); },
                            // Beside other tests a kernel was seen to take over 5 s to compile.
                            .watchdog = {.compilation = {20, 12}, .counting_s = 2}});
    body(runner, device);
  }
  std::vector<TuneResult> tune(const std::vector<Problem>& problems, bool counters = true) {
    std::vector<TuneResult> results;
    with_runner(profile_, counters, [&](CandidateRunner& runner, RowId device) {
      const TuneOptions options = {.strategy = "exhaustive"};
      for (const Problem& problem : problems)
        results.push_back(tune_alone({.store = store_,
                                      .runner = runner,
                                      .device = profile_,
                                      .rates = rates_,
                                      .space = space_,
                                      .options = options},
                                     device, problem, kBudgetS));
    });
    return results;
  }

  CandidateRecord winner(const Problem& problem) const {
    for (const TunedKernel& kernel :
         store_.tuned_kernels(*store_.find_device(profile_), kGeneratorVersion))
      if (kernel.problem == problem) return kernel.candidate;
    ADD_FAILURE() << "no winner";
    return {};
  }
  std::optional<CounterSetRecord> counters(const Problem& problem) const {
    return store_.counters(*store_.find_device(profile_), winner(problem).id,
                           *store_.find_problem(problem));
  }
  std::size_t rows(const std::string& table) const {
    return std::stoul(store_.query("SELECT count(*) FROM " + table).rows.at(0).at(0));
  }
  Report report() const { return make_report(store_, runtime_view()); }

  ScratchFolder folder_;
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  std::vector<Variant> space_;
  std::vector<std::string> said_;
  const Problem problem_ = packed_problem(35, 29, 41), other_ = packed_problem(19, 67, 23);
  const DeviceRates rates_ = {.dispatch_ns = 1,
                              .fma_gflops = 1e6,
                              .levels = {{.name = "cache", .gbps = 1e6, .footprint_bytes = 1e3},
                                         {.name = "memory", .gbps = 1}},
                              .compute_units = 1};
};

TEST_F(TunedCounters, AreStoredForTheWinnerOfEachProblem) {
  tune({problem_, other_});
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(rows("counter_sets"), 2u);
  for (const Problem& problem : {problem_, other_}) {
    const double workgroups = waves(problem, winner(problem).variant, 1).workgroups;
    const auto counted = counters(problem);
    ASSERT_TRUE(counted.has_value());
    EXPECT_EQ(counted->passes, 4);
    std::vector<std::pair<std::string, double>> values;
    for (const PerformanceCounter& counter : counted->counters)
      values.emplace_back(counter.name, counter.value);
    using Value = std::pair<std::string, double>;
    EXPECT_THAT(values, ElementsAre(Value("Waves", workgroups), Value("VALU Busy", 87.5),
                                    Value("GPU active cycles", kCountedCycles * workgroups),
                                    Value("VRAM read size", kCountedReadBytes * workgroups),
                                    Value("VRAM write size", kCountedWrittenBytes * workgroups),
                                    Value("Headroom", -40)));
  }
}

TEST_F(TunedCounters, AreShownBesideTheModelAndInItsPlace) {
  tune({problem_});
  const Report all = report();
  const auto found = find_problem(all, problem_);
  const ProblemReport& p = *found.at(0).problem;
  const double bytes = (kCountedReadBytes + kCountedWrittenBytes) *
                       waves(problem_, winner(problem_).variant, 1).workgroups;
  const LevelReport& memory = p.levels.at(0);
  EXPECT_EQ(memory.bytes, bytes);
  EXPECT_EQ(memory.modelled_bytes, p.roofline.traffic.memory_bytes);
  EXPECT_DOUBLE_EQ(memory.intensity, flops(problem_) / bytes);
  EXPECT_DOUBLE_EQ(memory.bound_ns, bytes / 1.0) << "memory transfers one byte per ns";
  EXPECT_EQ(p.limiter_name(), "memory:memory");
  EXPECT_DOUBLE_EQ(p.limiter.ns, bytes);
  EXPECT_EQ(p.largest_bound(), "memory:memory");
  EXPECT_EQ(p.levels.at(1).modelled_bytes, std::nullopt);

  const std::string text = problem_text(found);
  EXPECT_THAT(text, AllOf(HasSubstr("counted by the driver in 4 passes"),
                          ::testing::ContainsRegex("\n  VALU Busy +87.5 +percent +Shader"),
                          ::testing::ContainsRegex("\n  memory .*  counted; the model says [0-9]+"),
                          ::testing::ContainsRegex("\n  cache .*  modelled\n")));
  EXPECT_THAT(report_text(all), HasSubstr("memory:memory *"));
  const auto json = nlohmann::json::parse(problem_json(all, found));
  const auto& counted = json.at("devices").at(0).at("problem").at("counted");
  EXPECT_EQ(counted.at("passes"), 4);
  EXPECT_EQ(counted.at("counters").at(3).at("name"), "VRAM read size");
  EXPECT_EQ(counted.at("counters").at(3).at("unit"), "bytes");
  EXPECT_EQ(json["devices"][0]["problem"]["levels"][0]["source"], "counted");
  EXPECT_EQ(json["devices"][0]["problem"]["levels"][1]["source"], "modelled");
}

TEST_F(TunedCounters, WithoutTheExtensionNothingIsSaidOrShown) {
  const ScopedEnvironment environment("ROOFTILE_TEST_COUNTERS", "absent");
  tune({problem_});
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(rows("counter_sets"), 0u);
  const Report all = report();
  const auto found = find_problem(all, problem_);
  EXPECT_THAT(problem_text(found), AllOf(Not(HasSubstr("counted")), Not(HasSubstr("modelled"))));
  EXPECT_THAT(report_text(all), AllOf(Not(HasSubstr("counted")), Not(HasSubstr("memory *"))));
  const auto json = nlohmann::json::parse(problem_json(all, found));
  EXPECT_TRUE(json["devices"][0]["problem"]["counted"].is_null());
}

TEST_F(TunedCounters, AreNotReadWhereTheyAreTurnedOff) {
  tune({problem_}, false);
  EXPECT_EQ(rows("counter_sets"), 0u);
}

TEST_F(TunedCounters, ThatCannotBeReadAreSaidOnceAndCostTheTuneNothing) {
  const std::pair<const char*, const char*> faults[] = {
      {"lock_refused", "perf_stream_paranoid"},
      {"not_ready", "no result"},
      {"lost", "the device is lost"},
      {"crash", "the worker was killed by signal 11"}};
  for (const auto& [fault, says] : faults) {
    SCOPED_TRACE(fault);
    const ScopedEnvironment environment("ROOFTILE_TEST_COUNTERS", fault);
    said_.clear();
    for (const TuneResult& result : tune({problem_, other_})) {
      EXPECT_NE(result.winner, "");
      EXPECT_EQ(result.rejected, 0u);
    }
    EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("counters are not read: "), HasSubstr(says))));
    EXPECT_EQ(rows("counter_sets"), 0u);
    EXPECT_EQ(rows("black_list"), 0u);
    EXPECT_EQ(rows("journal"), 0u);
  }
}

TEST_F(TunedCounters, AHangWhileCountingIsEndedAndTuningGoesOn) {
  const ScopedEnvironment environment("ROOFTILE_TEST_COUNTERS", "hang");
  const std::vector<TuneResult> results = tune({problem_, other_});
  EXPECT_THAT(said_, ElementsAre(HasSubstr("counters are not read: no answer within")));
  for (const TuneResult& result : results) EXPECT_NE(result.winner, "");
  EXPECT_EQ(rows("black_list"), 0u);
}

TEST_F(TunedCounters, OfARefreshedListAreTheNewDrivers) {
  tune({problem_}, false);
  DeviceProfile updated = profile_;
  ++updated.driver_version;
  with_runner(updated, true, [&](CandidateRunner& runner, RowId device) {
    const auto lists = stale_lists(store_, updated, device);
    ASSERT_THAT(lists, SizeIs(1));
    refresh(store_, runner, device, lists, {.over = [] { return false; }, .progress = {}});
  });
  EXPECT_EQ(store_.query("SELECT DISTINCT device_id FROM kernel_counters").rows,
            store_.query("SELECT max(id) FROM devices").rows);
}

}  // namespace
}  // namespace rooftile
