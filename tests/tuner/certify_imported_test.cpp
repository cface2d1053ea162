// Imported ranked lists and portfolios of another machine with the same product and driver: this
// machine certifies and times the kernels, and uses them in the other machine's order. A shell
// script is the fake worker; each test sets the kernels' times.
#include "tuner/stored/certify_imported.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "generator/emit.h"
#include "generator/space.h"
#include "generator/version.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/portfolio.h"
#include "runtime/tuned/imported_data.h"
#include "tests/support/scratch.h"
#include "tests/support/synthetic_database.h"
#include "tests/tuner/scripted_worker.h"
#include "tuner/stored/imported_lists.h"
#include "tuner/worker/candidate_runner.h"
#include "tuner/worker/compiler_pool.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Order = std::vector<Variant>;

class CertifyImportedTest : public ::testing::Test {
 protected:
  CertifyImportedTest() {
    profile_.device_uuid = profile_.pipeline_cache_uuid = "00";
    profile_.name = "fake";
    profile_.driver_info = "driver 1";
    profile_.vendor_id = 1;
    profile_.device_id = 2;
    profile_.driver_version = 1;
    set_small_workgroups(profile_.limits);
    for (const Variant& variant : legal_variants(profile_.limits))
      if (variant.family == Family::kRegister && kernels_.size() < 4) kernels_.push_back(variant);
    kernels_.push_back(fallback_variant());
    device_ = store_.device_id(profile_);
  }

  static RowId row(Store& store, const Variant& variant, const Problem& problem) {
    return candidate_row(store, variant, signature_of(problem));
  }
  static void put_list(Store& store, RowId device, const Problem& problem, const Order& kernels,
                       double first_ns) {
    std::vector<PlantedKernel> list;
    for (const Variant& variant : kernels)
      list.push_back(
          {.variant = variant, .kernel_ns = first_ns + static_cast<double>(list.size())});
    plant_winners(store, device, problem, list);
  }
  /// Data of another machine with this device: a list of all kernels for both problems, and a
  /// portfolio of the first two kernels.
  void import_from(const std::string& name, const Order& kernels) {
    const std::filesystem::path target = folder_ / (name + "-export.db");
    {
      Store machine(folder_ / (name + ".db"));
      const RowId device = machine.device_id(profile_);
      put_list(machine, device, problem_, kernels, 1000);
      put_list(machine, device, other_, kernels, 1000);
      std::vector<PortfolioRecord> portfolio;
      for (int i = 0; i < std::min(3, static_cast<int>(kernels.size())); ++i) {
        const Variant& variant = kernels[static_cast<std::size_t>(i)];
        const double ns = 1e6 * (i + 1);
        portfolio.push_back({.candidate = row(machine, variant, problem_),
                             .place = i,
                             .times = {{.m = 33, .n = 17, .k = 65, .ns = ns / 1e3},
                                       {.m = 99, .n = 98, .k = 97, .ns = ns}}});
      }
      machine.put_portfolio(device, "f32.nn", portfolio, std::nullopt);
      machine.export_to(target, std::vector<RowId>{device});
    }
    store_.import_from(target);
  }

  /// A fake worker that refuses the kernels in refused_ and answers a kernel's times one after the
  /// other; the last time repeats. A kernel without times takes 1000 ns.
  std::filesystem::path worker() {
    const auto text = [](double ns) {
      return to_json(TimeReply{.hash = "x", .kernel_ns = {ns}, .estimate_ns = ns}).dump();
    };
    const std::filesystem::path file = folder_ / "worker";
    WorkerScript script(file);
    script << "while read -r request; do\n"
           << "  echo \"$request\" >>'" << requests_.string() << "'\n  case \"$request\" in\n";
    for (const Variant& variant : uncompiled_)
      script << "    *'\"compile\"'*'" << to_string(variant)
             << "'*) echo '{\"error\":5,\"message\":\"no\"}' ;;\n";
    script << "    *'\"compile\"'*) echo '"
           << to_json(CompileReply{.compile_ns = 1, .code = "c"}).dump() << "' ;;\n";
    for (const Variant& variant : refused_)
      script << "    *certify*'" << to_string(variant) << "'*) echo '"
             << to_json(Certificate{.passed = false, .detail = "wrong"}).dump() << "' ;;\n";
    script << "    *certify*) echo '" << to_json(Certificate{.passed = true, .cases = 3}).dump()
           << "' ;;\n";
    for (const auto& [variant, ns] : times_)
      script << "    *'" << variant << "'*) echo '" << text(ns) << "' ;;\n";
    script << "    *) echo '" << text(1000) << "' ;;\n  esac\ndone\n";
    script.close();
    return file;
  }
  void takes(const Variant& variant, double ns) { times_[to_string(variant)] = ns; }
  ImportedReport certify(const std::function<bool()>& over = [] { return false; }) {
    const std::filesystem::path program = this->worker();
    WorkerProcess worker(program, {{"operation", "open"}});
    const Budget budget(600);
    const std::atomic<bool> stop = false;
    std::vector<std::unique_ptr<WorkerProcess>> compile_workers;
    for (int i = 0; i < compilers_; ++i)
      compile_workers.push_back(
          std::make_unique<WorkerProcess>(program, Json{{"operation", "open"}}));
    CompilerPool compilers(std::move(compile_workers), budget);
    CandidateRunner runner(store_, worker, budget, stop,
                           {.device = device_,
                            .run = store_.begin_run(device_, "1", "{}"),
                            .compilers = &compilers,
                            .shared_processors = compilers_ == 0});
    return certify_imported(
        store_, runner, device_, imported_work(store_, profile_, device_),
        {.over = over, .message = [&](const std::string& text) { messages_.push_back(text); }});
  }
  std::size_t requests(const std::string& text) const { return lines_with(requests_, text); }
  ImportedWork work() { return imported_work(store_, profile_, device_); }
  std::vector<TunedKernel> dispatchable(const Problem& problem) {
    std::vector<TunedKernel> kernels = store_.tuned_kernels(device_, kGeneratorVersion);
    std::erase_if(kernels, [&](const TunedKernel& kernel) { return kernel.problem != problem; });
    return kernels;
  }
  Order order(const Problem& problem) {
    Order variants;
    for (const TunedKernel& kernel : dispatchable(problem))
      variants.push_back(kernel.candidate.variant);
    return variants;
  }

  ScratchFolder folder_;
  std::filesystem::path requests_ = folder_ / "requests";
  Store store_{folder_ / "rooftile.db"};
  DeviceProfile profile_;
  RowId device_ = 0;
  Order kernels_, refused_, uncompiled_;
  int compilers_ = 0;
  std::map<std::string, double> times_;
  std::vector<std::string> messages_;
  const Problem problem_ = packed_problem(33, 17, 65), other_ = packed_problem(500, 300, 20);
};

TEST_F(CertifyImportedTest, ListsAndPortfolioKeepTheImportedOrderWithLocalTimes) {
  import_from("theirs", kernels_);
  EXPECT_THAT(store_.tuned_kernels(device_, kGeneratorVersion), IsEmpty());
  for (const Variant& variant : kernels_) takes(variant, 2000);
  takes(kernels_[1], 4000);
  takes(kernels_[2], 6000);
  const ImportedReport report = certify();
  EXPECT_EQ(report.lists, 2u);
  EXPECT_EQ(report.usable, 2u);
  EXPECT_EQ(report.portfolios_usable, 1u);
  EXPECT_EQ(order(problem_), kernels_) << "equal and slower times do not change the order";
  EXPECT_EQ(order(other_), kernels_);
  EXPECT_EQ(dispatchable(problem_)[0].kernel_ns, 2000);
  EXPECT_EQ(dispatchable(problem_)[1].kernel_ns, 4000);

  const auto portfolio = store_.portfolio(device_, kGeneratorVersion);
  ASSERT_THAT(portfolio, SizeIs(3));
  EXPECT_EQ(portfolio[0].candidate.variant, kernels_[0]);
  EXPECT_EQ(portfolio[1].candidate.variant, kernels_[1]);
  // The local times are 2000 ns instead of 1e6, 4000 instead of 2e6, and 6000 instead of 3e6.
  EXPECT_NEAR(report.ratio, 0.002, 1e-12);
  EXPECT_NEAR(portfolio[0].times[0].ns, 2, 1e-9);
  EXPECT_NEAR(portfolio[1].times[1].ns, 4000, 1e-9);

  EXPECT_TRUE(work().empty());
  const std::size_t before = requests("variant");
  EXPECT_EQ(certify().lists, 0u);
  EXPECT_EQ(requests("variant"), before) << "the kernels are timed only once";
}

TEST_F(CertifyImportedTest, NothingIsTimedOrStoredBeforeItIsCertified) {
  import_from("theirs", kernels_);
  refused_ = {kernels_[0]};
  certify();
  EXPECT_EQ(order(problem_), Order(kernels_.begin() + 1, kernels_.end()));
  ASSERT_THAT(store_.portfolio(device_, kGeneratorVersion), SizeIs(2));
  EXPECT_EQ(store_.portfolio(device_, kGeneratorVersion)[0].candidate.variant, kernels_[1]);
  std::map<std::string, bool> certified;
  for (const std::string& line : lines_of_file(requests_))
    for (const Variant& variant : kernels_) {
      if (line.find('"' + to_string(variant) + '"') == std::string::npos) continue;
      if (line.find("certify") != std::string::npos) certified[to_string(variant)] = true;
      EXPECT_TRUE(certified[to_string(variant)]) << line;
    }
  EXPECT_TRUE(work().empty()) << "refused kernels are not certified again";
}

TEST_F(CertifyImportedTest, AFasterLaterKernelDoesNotChangeTheOrderOfAnImportedList) {
  import_from("theirs", kernels_);
  takes(kernels_[2], 500);
  certify();
  EXPECT_EQ(order(problem_), kernels_);
  EXPECT_EQ(dispatchable(problem_)[2].kernel_ns, 500);
}

TEST_F(CertifyImportedTest, ALocalWinnerIsReplacedOnlyAfterAPairedComparison) {
  put_list(store_, device_, problem_, {kernels_[3], kernels_[4]}, 1e9);  // as on a busy machine
  import_from("theirs", kernels_);
  const ImportedReport kept = certify();
  EXPECT_EQ(kept.kept, 1u);
  EXPECT_EQ(kept.usable, 2u);
  EXPECT_EQ(order(problem_), (Order{kernels_[3], kernels_[4]}));
  EXPECT_EQ(order(other_), kernels_);
  EXPECT_TRUE(work().empty()) << "the comparison runs only once";

  const Order better = {kernels_[1], kernels_[2], kernels_[0]};
  takes(kernels_[1], 900);
  import_from("better", better);
  const ImportedReport report = certify();
  EXPECT_EQ(report.replaced, 1u);
  EXPECT_EQ(order(problem_), (Order{kernels_[1], kernels_[3], kernels_[4]}));
  EXPECT_EQ(dispatchable(problem_)[0].kernel_ns, 900);
  EXPECT_EQ(dispatchable(problem_)[1].kernel_ns, 1000)
      << "the time is that of the paired comparison";
}

TEST_F(CertifyImportedTest, ALocalWinnerIsReplacedByAnySignificantGainOfTheJointComparison) {
  put_list(store_, device_, problem_, {kernels_[3]}, 1e9);
  takes(kernels_[0], 990);  // 1 % in every pair
  import_from("theirs", kernels_);
  EXPECT_EQ(certify().replaced, 1u);
  EXPECT_EQ(order(problem_), (Order{kernels_[0], kernels_[3]}));
}

TEST_F(CertifyImportedTest, ALocalPortfolioIsKept) {
  const std::vector<PortfolioRecord> own = {{.candidate = row(store_, kernels_[3], problem_),
                                             .place = 0,
                                             .times = {{.m = 5, .n = 6, .k = 7, .ns = 1}}}};
  store_.put_portfolio(device_, "f32.nn", own, std::nullopt);
  import_from("theirs", kernels_);
  EXPECT_EQ(certify().portfolios, 0u);
  ASSERT_THAT(store_.measured_portfolio(device_, "f32.nn"), SizeIs(1));
}

TEST_F(CertifyImportedTest, APortfolioKernelWithImplausibleTimesIsSkipped) {
  import_from("theirs", kernels_);
  takes(kernels_[0], 1e6);
  takes(kernels_[1], 9e6);  // 2e6 on the other machine
  takes(kernels_[2], 3e6);
  certify();
  const auto portfolio = store_.portfolio(device_, kGeneratorVersion);
  ASSERT_THAT(portfolio, SizeIs(2));
  EXPECT_EQ(portfolio[0].candidate.variant, kernels_[0]);
  EXPECT_EQ(portfolio[1].candidate.variant, kernels_[2]);
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("4.50 times as long as on the other machine")));
  EXPECT_TRUE(work().empty());
}

TEST_F(CertifyImportedTest, AnInterruptionKeepsCertificatesAndTheNextRunContinues) {
  import_from("theirs", kernels_);
  std::size_t before = 0;
  for (int most = 1; most < 40 && !work().empty(); ++most) {
    int asked = 0;
    certify([&] { return ++asked > most; });
    const std::size_t now = store_.tuned_kernels(device_, kGeneratorVersion).size();
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_TRUE(work().empty());
  EXPECT_EQ(order(problem_), kernels_);
  EXPECT_EQ(order(other_), kernels_);
  EXPECT_THAT(store_.portfolio(device_, kGeneratorVersion), SizeIs(3));
}

TEST_F(CertifyImportedTest, TheBestKernelOfEveryListComesFirst) {
  import_from("theirs", kernels_);
  int asked = 0;
  // Each list calls it once before the list and once before each kernel.
  const ImportedReport report = certify([&] { return ++asked > 4; });
  EXPECT_EQ(report.usable, 2u);
  EXPECT_EQ(order(problem_), Order{kernels_[0]});
  EXPECT_EQ(order(other_), Order{kernels_[0]});
}

TEST_F(CertifyImportedTest, ImportsOfOtherDriversAreReportedAndNotCertified) {
  import_from("theirs", kernels_);
  profile_.driver_id = 7;
  profile_.driver_info = "driver 2";
  const RowId now = store_.device_id(profile_);
  EXPECT_TRUE(imported_work(store_, profile_, now).empty());
  EXPECT_THAT(other_imported_data(store_, profile_, now),
              ElementsAre(::testing::AllOf(HasSubstr("2 problems"), HasSubstr("driver 1"),
                                           HasSubstr("driver 2"), HasSubstr("rooftile tune"))));
  profile_.vendor_id = 9;
  EXPECT_THAT(other_imported_data(store_, profile_, store_.device_id(profile_)), IsEmpty());
}

TEST_F(CertifyImportedTest, AnotherCardOfTheProductWithAnotherVersionOfTheDriverIsCertified) {
  import_from("theirs", kernels_);
  profile_.device_uuid = "01";
  profile_.driver_version = 2;
  device_ = store_.device_id(profile_);
  EXPECT_THAT(other_imported_data(store_, profile_, device_), IsEmpty());
  const ImportedReport report = certify();
  EXPECT_EQ(report.usable, 2u);
  EXPECT_EQ(report.portfolios_usable, 1u);
  EXPECT_EQ(order(problem_), kernels_);
  EXPECT_TRUE(work().empty());

  profile_.device_id = 3;  // another product
  EXPECT_TRUE(imported_work(store_, profile_, store_.device_id(profile_)).empty());
}

TEST_F(CertifyImportedTest, WhatAnEqualDeviceBlackListedIsNotTakenFromAnotherCard) {
  import_from("theirs", {kernels_[0], kernels_[1]});
  profile_.device_uuid = "01";
  {
    Store equal(folder_ / "equal.db");
    const RowId device = equal.device_id(profile_);
    for (const Problem& problem : {problem_, other_})
      equal.black_list(device, row(equal, kernels_[0], problem), "hangs");
    equal.export_to(folder_ / "equal-export.db", std::vector<RowId>{device});
  }
  store_.import_from(folder_ / "equal-export.db");
  device_ = store_.device_id(profile_);
  certify();
  EXPECT_EQ(order(problem_), Order{kernels_[1]});
  EXPECT_THAT(store_.portfolio(device_, kGeneratorVersion), SizeIs(1));
}

// Those of bench/results/, which come with the program.
TEST(ShippedDatabases, AreTakenAndTheirKernelsUnderstood) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(ROOFTILE_BINARY_DIR "/share/rooftile/devices")) {
    const ScratchFolder folder;
    Store store(folder / "rooftile.db");
    const ImportReport added = store.import_from(entry.path());
    ASSERT_EQ(added.devices, 1) << entry.path();
    EXPECT_GT(added.winners, 0) << entry.path();
    DeviceProfile card = store.devices()[0].profile;
    card.device_uuid = "another";
    const RowId row = store.device_id(card);
    EXPECT_EQ(store.imported_kernels(certifiable_rows(store, row).at(1)).size(),
              static_cast<std::size_t>(added.winners))
        << entry.path();
    EXPECT_FALSE(imported_work(store, card, row).empty()) << entry.path();
    const KernelRanking untuned = imported_data({}, entry.path().parent_path(), card).ranking;
    for (const ImportedKernel& imported :
         store.imported_kernels(certifiable_rows(store, row).at(1)))
      EXPECT_THAT(untuned.ranked(kernel_problem(imported.kernel.problem)), Not(IsEmpty()))
          << to_string(imported.kernel.problem);
    ++files;
  }
  EXPECT_GE(files, 2u);
}

TEST_F(CertifyImportedTest, KernelsAreCompiledAheadInTheOrderInWhichTheyAreWanted) {
  import_from("theirs", kernels_);
  compilers_ = 1;
  certify();
  EXPECT_EQ(order(problem_), kernels_);
  std::vector<std::string> compiled;
  for (const std::string& line : lines_of_file(requests_))
    if (line.find("\"compile\"") != std::string::npos) compiled.push_back(line);
  ASSERT_THAT(compiled, SizeIs(kernels_.size())) << "each kernel once";
  for (std::size_t i = 0; i < compiled.size(); ++i)
    EXPECT_THAT(compiled[i], HasSubstr('"' + to_string(kernels_[i]) + '"'));
  std::size_t with_code = 0;
  for (const std::string& line : lines_of_file(requests_))
    with_code += line.find("\"certify\"") != std::string::npos &&
                 line.find("\"code\":\"63\"") != std::string::npos;
  EXPECT_EQ(with_code, kernels_.size()) << "the certifying worker gets the compilers' code";
}

TEST_F(CertifyImportedTest, AKernelThatFailsToCompileAheadIsBlockedAndTheOthersAreUsed) {
  import_from("theirs", kernels_);
  compilers_ = 1;
  uncompiled_ = {kernels_[0]};
  certify();
  EXPECT_EQ(order(problem_), Order(kernels_.begin() + 1, kernels_.end()));
  EXPECT_THAT(store_.black_listed(device_), SizeIs(1));
  EXPECT_TRUE(work().empty());
}

TEST_F(CertifyImportedTest, FirstKernelsOfAllMachinesAreCertifiedFirst) {
  import_from("theirs", {kernels_[0], kernels_[1]});
  import_from("more", {kernels_[2], kernels_[0]});
  const ImportedWork found = work();
  ASSERT_THAT(found.lists, SizeIs(2));
  EXPECT_EQ(found.lists[0].kernels, (Order{kernels_[0], kernels_[2], kernels_[1]}));
}

TEST_F(CertifyImportedTest, KernelsOfOlderTemplatesAreRegeneratedAndCertifiedOnce) {
  import_from("theirs", kernels_);
  SQLite::Database(store_.path().string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE candidates SET hash = 'old' || hash");
  certify();
  EXPECT_EQ(order(problem_), kernels_);
  for (const TunedKernel& kernel : dispatchable(problem_))
    EXPECT_EQ(kernel.candidate.hash,
              emit_gemm(kernel.candidate.variant, signature_of(problem_)).hash);
  EXPECT_TRUE(work().empty());
}

TEST_F(CertifyImportedTest, IllegalKernelsAreSkipped) {
  import_from("theirs", kernels_);
  profile_.limits.max_workgroup_invocations = 1;
  EXPECT_TRUE(work().empty());
}

}  // namespace
}  // namespace rooftile
