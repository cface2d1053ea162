// Kernels that a new driver or a new generator makes stale are certified and timed again, and no
// others. A shell script is the fake worker.
#include "tuner/stored/refresh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "generator/emit.h"
#include "generator/space.h"
#include "generator/version.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"
#include "tests/tuner/scripted_worker.h"
#include "tuner/worker/candidate_runner.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class RefreshTest : public ::testing::Test {
 protected:
  RefreshTest() {
    profile_.device_uuid = profile_.pipeline_cache_uuid = "00";
    profile_.vendor_id = 1;
    profile_.device_id = 2;
    profile_.driver_version = 1;
    set_small_workgroups(profile_.limits);
    old_ = store_.device_id(profile_);
    for (const Variant& variant : legal_variants(profile_.limits))
      if (variant.family == Family::kRegister && kernels_.size() < 4) kernels_.push_back(variant);
    kernels_.push_back(fallback_variant());
  }

  /// A fake worker that refuses the third kernel and gives the second one the shortest time.
  std::filesystem::path worker() {
    const auto text = [](double ns) {
      return to_json(TimeReply{.hash = "x", .kernel_ns = {ns, ns}, .estimate_ns = ns}).dump();
    };
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript(file) << "while read -r request; do\n  case \"$request\" in\n"
                       << "    *certify*'" << to_string(kernels_[2]) << "'*) echo '"
                       << to_json(Certificate{.passed = false, .detail = "wrong"}).dump()
                       << "' ;;\n"
                       << "    *certify*) echo '"
                       << to_json(Certificate{.passed = true, .cases = 3}).dump() << "' ;;\n"
                       << "    *'" << to_string(kernels_[1]) << "'*) echo '" << text(500)
                       << "' ;;\n"
                       << "    *) echo '" << text(1000) << "' ;;\n  esac\ndone\n";
    return file;
  }
  /// Stores a ranked list of all kernels, certified. hash_prefix simulates kernels from older
  /// templates.
  void tuned(RowId device, const Problem& problem, const std::string& hash_prefix = "",
             std::string_view generator = kGeneratorVersion) {
    std::vector<WinnerRecord> list;
    for (const Variant& variant : kernels_) {
      const Signature signature = signature_of(problem);
      const RowId candidate =
          store_.candidate_id({.hash = hash_prefix + emit_gemm(variant, signature).hash,
                               .signature = to_string(signature),
                               .variant = variant});
      store_.put_certificate(device, candidate, generator, true, "");
      list.push_back({.candidate = candidate,
                      .problem = store_.problem_id(problem),
                      .rank = static_cast<int>(list.size()),
                      .kernel_ns = 100.0 * static_cast<double>(list.size() + 1)});
    }
    store_.put_winners(device, to_string(bucket_of(problem)), list);
  }
  RefreshReport refresh_on(
      RowId device, const std::function<bool()>& over = [] { return false; }) {
    WorkerProcess worker(this->worker(), {{"operation", "open"}});
    const Budget budget(600);
    const std::atomic<bool> stop = false;
    CandidateRunner runner(store_, worker, budget, stop,
                           {.device = device, .run = store_.begin_run(device, "1", "{}")});
    return refresh(store_, runner, device, stale_lists(store_, profile_, device), {.over = over});
  }
  std::vector<Variant> dispatchable(RowId device) {
    std::vector<Variant> variants;
    for (const TunedKernel& kernel : store_.tuned_kernels(device, kGeneratorVersion))
      variants.push_back(kernel.candidate.variant);
    return variants;
  }
  RowId new_driver() {
    profile_.driver_version = 2;
    return store_.device_id(profile_);
  }

  ScratchFolder folder_;
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId old_ = 0;
  std::vector<Variant> kernels_;
  const Problem problem_ = packed_problem(33, 17, 65), other_ = packed_problem(500, 300, 20);
};

TEST_F(RefreshTest, NothingIsStaleWithoutAChange) {
  tuned(old_, problem_);
  EXPECT_THAT(stale_lists(store_, profile_, old_), IsEmpty());
}

TEST_F(RefreshTest, ANewDriverGetsTheListsOfTheOldOneCertifiedAndTimedAgain) {
  tuned(old_, problem_);
  tuned(old_, other_);
  const RowId now = new_driver();
  ASSERT_THAT(stale_lists(store_, profile_, now), SizeIs(2));
  EXPECT_EQ(stale_lists(store_, profile_, now)[0].kernels, kernels_);
  EXPECT_THAT(dispatchable(now), IsEmpty());
  const RefreshReport report = refresh_on(now);
  EXPECT_EQ(report.stale, 2u);
  EXPECT_EQ(report.refreshed, 2u);
  const std::vector<Variant> list = {kernels_[1], kernels_[0], kernels_[3], kernels_[4]};
  std::vector<Variant> twice = list;
  twice.insert(twice.end(), list.begin(), list.end());
  EXPECT_EQ(dispatchable(now), twice) << "the third is refused, the second is the fastest";
  EXPECT_EQ(store_.tuned_kernels(now, kGeneratorVersion)[0].kernel_ns, 500);
  EXPECT_THAT(store_.samples(now, store_.problem_id(problem_)), SizeIs(4));
  EXPECT_THAT(stale_lists(store_, profile_, now), IsEmpty()) << "lists are refreshed only once";
  EXPECT_THAT(dispatchable(old_), SizeIs(10)) << "the old driver's lists are kept";
}

TEST_F(RefreshTest, ListsOfTheNewDriverAreKept) {
  tuned(old_, problem_);
  tuned(old_, other_);
  const RowId now = new_driver();
  tuned(now, problem_);
  const auto lists = stale_lists(store_, profile_, now);
  ASSERT_THAT(lists, SizeIs(1));
  EXPECT_EQ(lists[0].problem, other_);
}

TEST_F(RefreshTest, NewTemplatesOrANewVersionMakeAListStale) {
  tuned(old_, problem_, "old");  // certified, but generated by older templates
  ASSERT_THAT(stale_lists(store_, profile_, old_), SizeIs(1));
  EXPECT_EQ(refresh_on(old_).refreshed, 1u);
  for (const TunedKernel& kernel : store_.tuned_kernels(old_, kGeneratorVersion))
    EXPECT_EQ(kernel.candidate.hash,
              emit_gemm(kernel.candidate.variant, signature_of(problem_)).hash);
  EXPECT_THAT(dispatchable(old_), SizeIs(4));
  EXPECT_THAT(stale_lists(store_, profile_, old_), IsEmpty());

  tuned(old_, other_, "older", "0");
  ASSERT_THAT(stale_lists(store_, profile_, old_), SizeIs(1));
  EXPECT_EQ(refresh_on(old_).refreshed, 1u);
  EXPECT_THAT(dispatchable(old_), SizeIs(8)) << "the other problem's list is kept";
}

TEST_F(RefreshTest, RejectedKernelsAreNotTriedAgain) {
  tuned(old_, problem_);
  const RowId now = new_driver();
  for (const Variant& variant : kernels_)
    store_.black_list(now, candidate_row(store_, variant, signature_of(problem_)), "hung");
  EXPECT_THAT(stale_lists(store_, profile_, now), IsEmpty());
}

TEST_F(RefreshTest, IllegalKernelsAreSkipped) {
  tuned(old_, problem_);
  profile_.limits.max_workgroup_invocations = 1;
  const RowId now = new_driver();
  EXPECT_THAT(stale_lists(store_, profile_, now), IsEmpty());
}

TEST_F(RefreshTest, OtherProductsAndImportedListsAreNotStale) {
  tuned(old_, problem_);
  DeviceProfile twin = profile_, stranger = profile_;
  twin.device_uuid = "01";
  stranger.device_uuid = "02";
  stranger.device_id = 99;
  EXPECT_THAT(stale_lists(store_, twin, store_.device_id(twin)), SizeIs(1))
      << "the device is the same product";
  EXPECT_THAT(stale_lists(store_, stranger, store_.device_id(stranger)), IsEmpty());

  store_.export_to(folder_ / "export.db", std::vector<RowId>{old_});
  Store fresh(folder_ / "fresh.db");
  fresh.import_from(folder_ / "export.db");
  profile_.driver_version = 2;
  EXPECT_THAT(stale_lists(fresh, profile_, fresh.device_id(profile_)), IsEmpty());
}

TEST_F(RefreshTest, TheNextRunContinuesWhereTheBudgetEnded) {
  tuned(old_, problem_);
  tuned(old_, other_);
  const RowId now = new_driver();
  int asked = 0;
  // Each list calls the function 1 + 5 times.
  const RefreshReport report = refresh_on(now, [&] { return ++asked > 6; });
  EXPECT_EQ(report.stale, 2u);
  EXPECT_EQ(report.refreshed, 1u);
  EXPECT_THAT(stale_lists(store_, profile_, now), SizeIs(1));
}

}  // namespace
}  // namespace rooftile
