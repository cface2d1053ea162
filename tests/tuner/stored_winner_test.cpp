// A kernel replaces a stored winner only if it is faster in a direct comparison. A shell script is
// the fake worker: the stored kernel always takes 1000 ns, and the challenger's time depends on
// the number of requests.
#include "tuner/stored/stored_winner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "generator/emit.h"
#include "generator/space.h"
#include "generator/version.h"
#include "tests/support/scratch.h"
#include "tests/tuner/scripted_worker.h"
#include "tests/tuner/tune_alone.h"
#include "tuner/stored/refresh.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr double kStoredNs = 1000, kQuickNs = 500, kTrueNs = 1500;
constexpr double kFirstRunNs = 900;  // time of the stored kernel in the earlier run
constexpr int kAlways = 1'000'000;

/// The challenger takes kQuickNs in this many replies, and kTrueNs afterwards.
struct Challenger {
  int quick_before = kAlways;  // replies before its certification
  int quick_after = 0;
  bool stored_crashes = false;  // the stored kernel crashes once the challenger is certified
};

class StoredWinnerTest : public ::testing::Test {
 protected:
  StoredWinnerTest() {
    profile_.device_uuid = "00";
    set_small_workgroups(profile_.limits);
    device_ = store_.device_id(profile_);
    run_ = store_.begin_run(device_, kGeneratorVersion, "{}");
  }

  RowId candidate(const Variant& variant, const std::string& hash_prefix = "") {
    const Signature signature = signature_of(problem_);
    return store_.candidate_id({.hash = hash_prefix + emit_gemm(variant, signature).hash,
                                .signature = to_string(signature),
                                .variant = variant});
  }
  /// hash_prefix simulates a stored kernel from older templates.
  void store_winner(bool passed = true, const std::string& hash_prefix = "") {
    const RowId id = candidate(stored_, hash_prefix);
    store_.put_certificate(device_, id, kGeneratorVersion, passed, "");
    const WinnerRecord record = {
        .candidate = id, .problem = store_.problem_id(problem_), .kernel_ns = kFirstRunNs};
    store_.put_winners(device_, to_string(bucket_of(problem_)), {&record, 1});
  }

  std::filesystem::path worker(const Challenger& challenger) {
    const auto text = [](double ns) {
      return to_json(TimeReply{.hash = "x", .kernel_ns = {ns, ns}, .estimate_ns = ns}).dump();
    };
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript(file)
        << "quick=" << challenger.quick_before
        << "\nwhile read -r request; do\n  case \"$request\" in\n    *certify*)\n      case "
        << "\"$request\" in *'" << to_string(challenger_) << "'*) : >'" << certified_.string()
        << "'; quick=" << challenger.quick_after << " ;; esac\n      echo '"
        << to_json(Certificate{.passed = true}).dump() << "' ;;\n    *'" << to_string(challenger_)
        << "'*)\n      if [ $quick -gt 0 ]; then quick=$((quick - 1)); echo '" << text(kQuickNs)
        << "'; else echo '" << text(kTrueNs) << "'; fi ;;\n    *'" << to_string(stored_) << "'*) "
        << (challenger.stored_crashes ? "[ -e '" + certified_.string() + "' ] && kill -9 $$; " : "")
        << "echo '" << text(kStoredNs) << "' ;;\n    *) echo '" << text(8 * kTrueNs)
        << "' ;;\n  esac\ndone\n";
    return file;
  }
  bool challenger_is_certified() const { return std::filesystem::exists(certified_); }

  TuneResult tune(
      const Challenger& challenger, const std::function<bool()>& over = [] { return false; }) {
    WorkerProcess worker(this->worker(challenger), {{"operation", "open"}});
    CandidateRunner runner(store_, worker, budget_, stop_, {.device = device_, .run = run_});
    return tune_alone({.store = store_,
                       .runner = runner,
                       .device = profile_,
                       .rates = {.fma_gflops = 1e6},
                       .space = {stored_, challenger_},
                       .options = {.problems = {{problem_, ""}}},
                       .over = over,
                       .elapsed_s = [] { return 0.0; },
                       .progress = [](const TuneProgress&) {}},
                      device_, problem_, 60);
  }
  /// The first two kernels of the ranked list and their times.
  std::vector<std::pair<Variant, double>> best_two() {
    std::vector<std::pair<Variant, double>> list;
    for (const RankedKernel& entry : store_.winners(device_))
      if (list.size() < 2)
        list.emplace_back(entry.kernel.candidate.variant, entry.kernel.kernel_ns);
    return list;
  }

  ScratchFolder folder_;
  std::filesystem::path certified_ = folder_ / "challenger-is-certified";
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0, run_ = 0;
  Budget budget_{600};
  std::atomic<bool> stop_ = false;
  const Problem problem_ = packed_problem(33, 17, 65);
  const Variant stored_ = parse_variant("family=register tile_m=16 tile_n=32 reg_m=2 reg_n=4");
  const Variant challenger_ = parse_variant("family=register tile_m=32 tile_n=32 reg_m=4 reg_n=4");
};

TEST_F(StoredWinnerTest, IsKeptWhereTheChallengerIsNotSignificantlyFaster) {
  store_winner();
  const TuneResult result = tune({});
  EXPECT_TRUE(challenger_is_certified());
  EXPECT_THAT(best_two(), ElementsAre(Pair(stored_, kStoredNs), Pair(challenger_, kTrueNs)));
  EXPECT_EQ(result.winner, short_name(stored_));
  EXPECT_EQ(result.kernel_ns, kStoredNs);
}

TEST_F(StoredWinnerTest, IsReplacedByAKernelThatIsFasterInThePairedComparison) {
  store_winner();
  const TuneResult result = tune({.quick_after = kAlways});
  EXPECT_THAT(best_two(), ElementsAre(Pair(challenger_, kQuickNs), Pair(stored_, kStoredNs)));
  EXPECT_EQ(result.winner, short_name(challenger_));
}

TEST_F(StoredWinnerTest, IsKeptInTheNextRunAsWell) {
  store_winner();
  tune({});
  std::filesystem::remove(certified_);
  EXPECT_EQ(tune({.quick_before = 1}).winner, short_name(stored_));
}

TEST_F(StoredWinnerTest, OfOtherTemplatesIsReplacedAtOnce) {
  store_winner(true, "old");
  EXPECT_EQ(tune({}).winner, short_name(challenger_));
  EXPECT_EQ(best_two().front(), std::pair(challenger_, kTrueNs)) << "its time beside the default";
}

TEST_F(StoredWinnerTest, IsReplacedAtOnceIfItsCertificationFails) {
  store_winner(false);
  EXPECT_EQ(tune({}).winner, short_name(challenger_));
}

TEST_F(StoredWinnerTest, IsReplacedAtOnceIfItIsBlocked) {
  store_winner();
  store_.black_list(device_, candidate(stored_), "hung");
  EXPECT_EQ(tune({}).winner, short_name(challenger_));
}

TEST_F(StoredWinnerTest, IsReplacedIfItCrashesInTheComparison) {
  store_winner();
  EXPECT_EQ(tune({.stored_crashes = true}).winner, short_name(challenger_));
  for (const auto& [variant, ns] : best_two()) EXPECT_NE(variant, stored_);
}

TEST_F(StoredWinnerTest, IsKeptWithItsTimesWhenTheRunEndsBeforeTheComparison) {
  store_winner();
  const TuneResult result =
      tune({.quick_after = kAlways}, [&] { return challenger_is_certified(); });
  EXPECT_THAT(best_two(), ElementsAre(Pair(stored_, kFirstRunNs), Pair(challenger_, kQuickNs)));
  EXPECT_EQ(result.winner, short_name(stored_));
  EXPECT_EQ(result.kernel_ns, kFirstRunNs);
}

TEST_F(StoredWinnerTest, IsKeptWhenTheRunEndsBeforeAnyMeasurement) {
  store_winner();
  EXPECT_EQ(tune({}, [] { return true; }).winner, "") << "the problem is not begun";
  EXPECT_THAT(best_two(), ElementsAre(Pair(stored_, kFirstRunNs)));
  bool begun = false;
  EXPECT_EQ(tune({}, [&] { return std::exchange(begun, true); }).winner, short_name(stored_));
  EXPECT_THAT(best_two(), ElementsAre(Pair(stored_, kFirstRunNs)));
}

class RefreshedWinnerTest : public StoredWinnerTest {
 protected:
  void refresh_list(
      const Challenger& challenger, const std::function<bool()>& over = [] { return false; }) {
    WorkerProcess worker(this->worker(challenger), {{"operation", "open"}});
    CandidateRunner runner(store_, worker, budget_, stop_, {.device = device_, .run = run_});
    refresh(store_, runner, device_, {{.problem = problem_, .kernels = {stored_, challenger_}}},
            {.over = over});
  }
};

TEST_F(RefreshedWinnerTest, IsKeptWhereTheChallengerIsNotSignificantlyFaster) {
  store_winner();
  refresh_list({.quick_after = 1});
  EXPECT_THAT(best_two(), ElementsAre(Pair(stored_, kStoredNs), Pair(challenger_, kTrueNs)));
}

TEST_F(RefreshedWinnerTest, IsReplacedByAKernelThatIsFasterInThePairedComparison) {
  store_winner();
  refresh_list({.quick_after = kAlways});
  EXPECT_THAT(best_two(), ElementsAre(Pair(challenger_, kQuickNs), Pair(stored_, kStoredNs)));
}

TEST_F(RefreshedWinnerTest, OfOtherTemplatesIsReplacedAtOnce) {
  store_winner(true, "old");
  refresh_list({.quick_after = 1});
  EXPECT_EQ(best_two().front(), std::pair(challenger_, kQuickNs));
}

TEST_F(RefreshedWinnerTest, IsKeptWhenTheRunEndsBeforeTheComparison) {
  store_winner();
  refresh_list({.quick_after = kAlways}, [&] { return challenger_is_certified(); });
  EXPECT_EQ(best_two().front().first, stored_);
}

}  // namespace
}  // namespace rooftile
