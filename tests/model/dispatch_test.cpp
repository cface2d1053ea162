#include "runtime/model/dispatch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tests/model/csv.h"
#include "tests/model/random_inputs.h"

namespace rooftile {
namespace {

constexpr double kNsPerMs = 1e6;

/// The published discrete and integrated devices. Published are the submission time 0.04 ms, the
/// bus time of 4 MB, 0.2 ms, memory at 272 and 50 GB/s, and the host's memory at 50 and 25 GB/s.
/// The integrated device's peak is not published, so the tests vary it.
Calibration published(DeviceKind kind, double fma_gflops, const std::vector<CsvRow>& rows) {
  const bool discrete = kind == DeviceKind::kDiscrete;
  Calibration c{.device = {.submit_ns = 0.04 * kNsPerMs,
                           .upload_gbps = discrete ? 20.0 : 0,
                           .download_gbps = discrete ? 20.0 : 0,
                           .fma_gflops = fma_gflops,
                           .levels = {{.name = "memory", .gbps = discrete ? 272.0 : 50.0}}},
                .host = {.call_ns = 100, .gbps = discrete ? 50.0 : 25.0},
                .host1 = {},
                .host64 = {}};
  for (const CsvRow& row : rows) {
    const double n = number(row, "n");
    const double ns = number(row, "host_8_threads_ms") * kNsPerMs;
    c.host.gemm.push_back({.m = n, .n = n, .k = n, .gflops = number(row, "flops") / ns});
  }
  return c;
}

TEST(Dispatch, ChoosesTheFasterTierInEveryPublishedRow) {
  const std::vector<CsvRow> rows = read_csv("seed_gemm_times.csv");
  ASSERT_EQ(rows.size(), 6u);
  int device_wins = 0, host_wins = 0;
  for (const DeviceKind kind : {DeviceKind::kDiscrete, DeviceKind::kIntegrated}) {
    const bool discrete = kind == DeviceKind::kDiscrete;
    const std::string column = discrete ? "device_discrete_ms" : "device_integrated_ms";
    for (const double fma_gflops : {400.0, 2000.0, 15110.0}) {
      const Calibration calibration = published(kind, fma_gflops, rows);
      std::vector<TunedTime> tuned;
      for (const CsvRow& row : rows) {
        const std::int64_t n = std::stoll(row.at("n"));
        const Problem p = packed_problem(n, n, n);
        // The published times include the whole call.
        const double transfer = discrete ? minimum_bytes(p) / calibration.device.upload_gbps : 0;
        tuned.push_back(
            {.problem = p,
             .ns = number(row, column) * kNsPerMs - transfer - calibration.device.submit_ns});
      }
      const DispatchModel model(calibration, kind, tuned);
      for (const CsvRow& row : rows) {
        const std::int64_t n = std::stoll(row.at("n"));
        const double device_ms = number(row, column), host_ms = number(row, "host_8_threads_ms");
        const Decision d = decide({.problem = packed_problem(n, n, n)}, model);
        EXPECT_EQ(d.tier == Tier::kDevice, device_ms < host_ms) << column << " " << n;
        EXPECT_NEAR(d.score, host_ms / device_ms, 1e-6 * d.score) << column << " " << n;
        ++(d.tier == Tier::kDevice ? device_wins : host_wins);
      }
    }
  }
  EXPECT_EQ(device_wins, 3 * 9);
  EXPECT_EQ(host_wins, 3 * 3);
}

TEST(Dispatch, AnElementWiseMultiplyOf100000StaysOnTheHost) {
  const std::vector<CsvRow> rows = read_csv("seed_gemm_times.csv");
  for (const DeviceKind kind : {DeviceKind::kDiscrete, DeviceKind::kIntegrated}) {
    const DispatchModel model(published(kind, 15110, rows), kind, {});
    const auto multiply = [&](double elements) {
      return decide_operation({.operation = elementwise(elements, 1, 2, 1, 4),
                               .upload_bytes = 2 * 4 * elements,
                               .download_bytes = 4 * elements},
                              model);
    };
    const Decision small = multiply(100'000);
    EXPECT_EQ(small.tier, Tier::kHost) << name(kind);
    EXPECT_LT(small.host_ns, small.device_ns);
  }
}

TEST(Dispatch, AResidentElementWiseOperationGoesToTheDevicePastItsBreakEven) {
  const DispatchModel model(
      published(DeviceKind::kDiscrete, 15110, read_csv("seed_gemm_times.csv")),
      DeviceKind::kDiscrete, {});
  // Submission time minus the host's call time, over the difference of the times for 12 bytes.
  const double elements = (0.04 * kNsPerMs - 100) / (12.0 / 50 - 12.0 / 272);
  EXPECT_EQ(decide_operation({.operation = elementwise(0.99 * elements, 1, 2, 1, 4)}, model).tier,
            Tier::kHost);
  EXPECT_EQ(decide_operation({.operation = elementwise(1.01 * elements, 1, 2, 1, 4)}, model).tier,
            Tier::kDevice);
}

Calibration calibrated() {
  return {.device = {.submit_ns = 50e3,
                     .fma_gflops = 10'000,
                     .levels = {{.name = "memory", .gbps = 200}}},
          .host = {.call_ns = 2000, .gbps = 40, .gemm = {{64, 64, 64, 100}, {512, 512, 512, 200}}},
          .host1 = {.call_ns = 100, .gbps = 20, .gemm = {{64, 64, 64, 50}, {512, 512, 512, 55}}},
          .host64 = {.call_ns = 2000, .gbps = 40, .gemm = {{64, 64, 64, 50}}}};
}

constexpr double kLeastSavingNs = 100;  // smallest gain that makes one thread the choice

RC_GTEST_PROP(Dispatch, TakesTheShortestPredictedTime, ()) {
  const Decision d =
      decide(random_call(), random_calibration(), DeviceKind::kDiscrete, random_tuned());
  const double chosen = d.tier == Tier::kDevice  ? d.device_ns
                        : d.tier == Tier::kHost1 ? d.host1_ns
                                                 : d.host_ns;
  const double host_ns = d.host_ns - d.host1_ns > kLeastSavingNs ? d.host1_ns : d.host_ns;
  RC_ASSERT(d.best_host_ns == host_ns);
  RC_ASSERT(chosen == std::min(d.device_ns, host_ns));
}

/// State of the device, which the runtime adds to a call.
enum class DeviceIs { kReady, kGone, kTooSmall };

void expect_the_same(const Call& call, const DispatchModel& model, DeviceIs device,
                     const Transfers& slice_transfers) {
  const auto ask_device = [&](Call& c) {
    c.max_binding_bytes = 1e6;
    if (device == DeviceIs::kGone) {
      c.device_veto = "lost";
      c.device_veto_name = Veto::kDeviceGone;
    } else if (device == DeviceIs::kTooSmall) {
      c.slices = 2;
      c.slice_transfers = slice_transfers;
    }
  };
  Call whole = call;
  ask_device(whole);
  const Decision decision = decide(whole, model);
  const Choice choice = choose(call, model, ask_device);
  RC_ASSERT(choice.tier == decision.tier);
  RC_ASSERT(choice.host_ns == decision.host_ns);
  RC_ASSERT(choice.host1_ns == decision.host1_ns);
  RC_ASSERT(choice.best_host_ns == decision.best_host_ns);
  if (choice.veto_name != Veto::kNone) RC_ASSERT(choice.veto_name == decision.veto_name);
  if (std::isfinite(choice.device_ns)) {
    RC_ASSERT(choice.device_ns == decision.device_ns);
    RC_ASSERT(std::isfinite(choice.least_device_ns));
  } else {
    RC_ASSERT(decision.device_ns >= decision.best_host_ns);
  }
}

RC_GTEST_PROP(Dispatch, ChooseMakesTheSameChoiceAsDecide, ()) {
  Call call = random_call();
  call.host_in_float64 = *rc::gen::inRange(0, 8) == 0;
  Calibration calibration = random_calibration();
  if (*rc::gen::inRange(0, 8) == 0) calibration.device = {};
  if (*rc::gen::inRange(0, 8) == 0) calibration.host = {};
  const double host_ns =
      std::min(decide(call, calibration, DeviceKind::kDiscrete, {}).best_host_ns, 1e12);
  // A measured time may contradict the rates, which are no bounds then, and slices may transfer
  // faster than the whole.
  std::vector<TunedTime> tuned = random_tuned();
  if (*rc::gen::arbitrary<bool>())
    tuned.push_back({.problem = call.problem, .ns = host_ns * log_uniform(1e-3, 1)});
  const Transfers slice_transfers = {.in_ns = host_ns * log_uniform(1e-3, 1)};
  for (const double share_of_submission : {0.01, 0.5, 0.9, 1.1}) {
    if (is_calibrated(calibration.device))
      calibration.device.submit_ns = share_of_submission * host_ns;
    const DispatchModel model(calibration, DeviceKind::kDiscrete, tuned);
    for (const DeviceIs device : {DeviceIs::kReady, DeviceIs::kGone, DeviceIs::kTooSmall})
      expect_the_same(call, model, device, slice_transfers);
  }
}

TEST(Dispatch, KernelsAreNotRankedWhereTheBoundAlreadyLoses) {
  Calibration c = calibrated();
  c.device.upload_gbps = c.device.download_gbps = 10;
  const DispatchModel model(c, DeviceKind::kDiscrete, {});
  const auto asked_and_choice = [&](const Problem& p) {
    bool asked = false;
    const Choice choice = choose({.problem = p}, model, [&](Call&) { asked = true; });
    return std::pair(asked, choice);
  };
  // The host finishes before a submission, before the operands arrive, or long after.
  const auto [tiny_asked, tiny] = asked_and_choice(packed_problem(3, 4, 5));
  EXPECT_FALSE(tiny_asked);
  EXPECT_EQ(tiny.least_device_ns, std::numeric_limits<double>::infinity());
  const auto [thin_asked, thin] = asked_and_choice(packed_problem(1, 2000, 2000));
  EXPECT_TRUE(thin_asked);
  EXPECT_GT(thin.best_host_ns, c.device.submit_ns);
  EXPECT_EQ(thin.device_ns, std::numeric_limits<double>::infinity());
  EXPECT_EQ(thin.least_device_ns, std::numeric_limits<double>::infinity());
  // Slices are imported where the whole operand cannot be, so that they may arrive earlier.
  const Choice parts = choose({.problem = packed_problem(1, 2000, 2000)}, model, [](Call& call) {
    call.slices = 2;
    call.slice_transfers = {.in_ns = 1000};
  });
  EXPECT_EQ(parts.tier, Tier::kDevice);
  const auto [large_asked, large] = asked_and_choice(packed_problem(1000, 1000, 1000));
  EXPECT_TRUE(large_asked);
  EXPECT_EQ(large.tier, Tier::kDevice);
  EXPECT_LE(large.least_device_ns, large.device_ns);
}

TEST(Dispatch, OneThreadIsChosenOnlyWhereItSavesMoreThanTheSwitch) {
  Calibration c = calibrated();
  c.host1.call_ns = c.host.call_ns - kLeastSavingNs;
  const Call tiny{.problem = packed_problem(1, 1, 1)};
  EXPECT_EQ(decide(tiny, c, DeviceKind::kIntegrated, {}).tier, Tier::kHost);
  c.host1.call_ns -= 1;
  EXPECT_EQ(decide(tiny, c, DeviceKind::kIntegrated, {}).tier, Tier::kHost1);
}

TEST(Dispatch, OneThreadIsChosenForTheSmallestProblems) {
  const Decision tiny =
      decide({.problem = packed_problem(3, 4, 5)}, calibrated(), DeviceKind::kIntegrated, {});
  EXPECT_EQ(tiny.tier, Tier::kHost1);
  EXPECT_EQ(tiny.best_host_ns, tiny.host1_ns);
  const Decision middle =
      decide({.problem = packed_problem(100, 120, 130)}, calibrated(), DeviceKind::kIntegrated, {});
  EXPECT_EQ(middle.tier, Tier::kHost);
}

TEST(Dispatch, Float64SumsAreTheFastestOfHost64AndAWidenedProduct) {
  Calibration calibration = calibrated();
  Call call{.problem = packed_problem(2000, 2000, 2000)};
  call.problem.types.sums = Sums::kF64;
  call.host_in_float64 = true;
  call.before_pass = packed_problem(2000, 2000, 2000, Transpose::kNo, Transpose::kNo, 1,
                                    {.a = DataType::kF64, .c = DataType::kF64});
  for (const double rate : {1.0 / 256, 1.0}) {
    calibration.device.fma_f64_gflops = rate * calibration.device.fma_gflops;
    const Decision d = decide(call, calibration, DeviceKind::kIntegrated, {});
    EXPECT_EQ(d.tier, rate < 1 ? Tier::kHost64 : Tier::kDevice) << rate << " " << d.score;
    EXPECT_EQ(d.best_host_ns, d.host64_ns);
    EXPECT_EQ(d.veto, "");
  }
}

TEST(Dispatch, HighPrecisionComparesTheDeviceWithFloat64OnTheHost) {
  Call call{.problem = packed_problem(2000, 2000, 2000), .host_in_float64 = true};
  const Decision high = decide(call, calibrated(), DeviceKind::kIntegrated, {});
  EXPECT_EQ(high.best_host_ns, high.host64_ns);
  ASSERT_LT(high.host_ns, high.host64_ns);
  call.kernel_ns = (high.host_ns + high.host64_ns) / 2;
  EXPECT_EQ(decide(call, calibrated(), DeviceKind::kIntegrated, {}).tier, Tier::kDevice);
  call.host_in_float64 = false;
  EXPECT_NE(decide(call, calibrated(), DeviceKind::kIntegrated, {}).tier, Tier::kDevice);
  call.host_in_float64 = true;
  Calibration without = calibrated();
  without.host64 = {};
  EXPECT_NE(decide(call, without, DeviceKind::kIntegrated, {}).tier, Tier::kDevice);
}

TEST(Dispatch, StaysOnTheHostWithoutCalibrationAndSaysWhy) {
  const Call call{.problem = packed_problem(2000, 2000, 2000)};
  Calibration c = calibrated();
  c.device = {};
  Decision d = decide(call, c, DeviceKind::kDiscrete, {});
  EXPECT_EQ(d.tier, Tier::kHost);
  EXPECT_EQ(d.veto, "the device is not calibrated");
  EXPECT_EQ(d.veto_name, Veto::kDeviceNotCalibrated);
  c = calibrated();
  c.host = c.host1 = {};
  d = decide(call, c, DeviceKind::kDiscrete, {});
  EXPECT_EQ(d.tier, Tier::kHost);
  EXPECT_EQ(d.veto, "the host is not calibrated");
}

TEST(Dispatch, EmptyCallsRunOnTheHost) {
  for (const auto& [m, n, k] : {std::array{0, 5, 7}, std::array{5, 0, 7}, std::array{5, 7, 0}}) {
    const Decision d =
        decide({.problem = packed_problem(m, n, k)}, calibrated(), DeviceKind::kDiscrete, {});
    EXPECT_NE(d.tier, Tier::kDevice);
    EXPECT_EQ(d.score, 0);
    EXPECT_TRUE(std::isfinite(d.best_host_ns));
  }
}

TEST(Dispatch, FactorsComeInOneOrderVetoedOrNot) {
  Call call{.problem = packed_problem(100, 90, 80)};
  for (const char* veto : {"", "lost"}) {
    call.device_veto = veto;
    const Decision d = decide(call, calibrated(), DeviceKind::kDiscrete, {});
    for (std::size_t i = 0; i < kFactorNames.size(); ++i)
      EXPECT_EQ(d.factors[i].name, kFactorNames[i]);
  }
}

TEST(Dispatch, PreparedAndUnpreparedAgree) {
  const Calibration c = calibrated();
  const DispatchModel model(c, DeviceKind::kDiscrete, {});
  const Call call{.problem = packed_problem(333, 222, 111)};
  EXPECT_EQ(decide(call, model).score, decide(call, c, DeviceKind::kDiscrete, {}).score);
  EXPECT_EQ(model.kind(), DeviceKind::kDiscrete);
}

TEST(Dispatch, AVetoOfTheCallerKeepsItsName) {
  Call call{.problem = packed_problem(2000, 2000, 2000)};
  EXPECT_EQ(decide(call, calibrated(), DeviceKind::kDiscrete, {}).veto_name, Veto::kNone);
  call.device_veto = "too large";
  EXPECT_EQ(decide(call, calibrated(), DeviceKind::kDiscrete, {}).veto_name, Veto::kOther);
  call.device_veto_name = Veto::kDoesNotFit;
  const Decision d = decide(call, calibrated(), DeviceKind::kDiscrete, {});
  EXPECT_EQ(d.veto_name, Veto::kDoesNotFit);
  EXPECT_EQ(d.veto, "too large");
  EXPECT_EQ(name(d.veto_name), "does_not_fit");
}

TEST(Dispatch, TiersHaveNames) {
  EXPECT_EQ(name(Tier::kDevice), "device");
  EXPECT_EQ(name(Tier::kHost), "host");
  EXPECT_EQ(name(Tier::kHost1), "host1");
  EXPECT_EQ(name(Tier::kHost64), "host64");
}

}  // namespace
}  // namespace rooftile
