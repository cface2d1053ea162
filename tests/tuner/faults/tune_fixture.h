// Short tuning runs that fail on purpose, and what must hold of the database behind them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "generator/version.h"
#include "tests/support/file_text.h"
#include "tests/support/scratch.h"
#include "tests/tuner/faults/made_up_tune.h"
#include "tests/tuner/scripted_worker.h"

namespace rooftile {

/// A run of two problems over a few candidates, with a made-up device.
class TuneFaults : public ::testing::Test {
 protected:
  TuneFaults() {
    device_.device_uuid = "00";
    device_.kind = DeviceKind::kSoftware;  // Compiles ahead, on threads.
    set_small_workgroups(device_.limits);
    device_.limits.shared_memory_bytes = 1024;
    options_ = {.problems = {{packed_problem(17, 40, 48), ""}, {packed_problem(33, 7, 65), ""}},
                .budget_s = kBudgetS,
                .candidates = 1,
                .worker = ROOFTILE_MADE_UP_WORKER};
  }

  /// A database with a calibration. Replaces the one that is there.
  void make_database() {
    for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(file_.string() + part);
    Store store(file_);
    store_calibration(store, device_);
  }
  /// Tunes; what was said to be finished is added to finished_, and given to say().
  void run(
      const std::atomic<bool>& stop = never_,
      const std::function<void(const std::string&)>& say = [](const std::string&) {}) {
    Store store(file_);
    tune(store, device_, options_,
         {.problem_finished =
              [&](const TuneResult& result) {
                if (result.winner.empty()) return;
                finished_.insert(to_string(result.problem));
                say(to_string(result.problem));
              }},
         stop);
  }
  /// Tunes as run() does, in a process that another process may outlive.
  void run_and_note(const std::atomic<bool>& stop = never_) {
    run(stop, [&](const std::string& problem) {
      std::ofstream(noted_, std::ios::app) << problem << std::endl;
    });
  }
  /// What that process said to be finished, once.
  void read_notes() {
    const std::vector<std::string> lines = lines_of_file(noted_);
    finished_ = {lines.begin(), lines.end()};
    std::filesystem::remove(noted_);
  }
  /// Whether a schedule tries each of its points, or a sample of them.
  static bool every_point() { return std::getenv("ROOFTILE_EVERY_POINT") != nullptr; }
  /// The file is sound, nothing was set aside, and what was said to be finished has a winner.
  void expect_nothing_lost() {
    const Store store(file_);
    EXPECT_EQ(store.note(), "");
    EXPECT_THAT(store.check(), ::testing::IsEmpty());
    const std::optional<RowId> device = store.find_device(device_);
    ASSERT_TRUE(device);
    std::set<std::string> won;
    for (const TunedKernel& kernel : store.tuned_kernels(*device, kGeneratorVersion))
      won.insert(to_string(kernel.problem));
    for (const std::string& problem : finished_)
      EXPECT_TRUE(won.contains(problem)) << problem << " was finished and has no winner";
    EXPECT_THAT(store.latest_calibration(*device), ::testing::Not(::testing::IsEmpty()));
  }

  static constexpr double kBudgetS = 1;  // Of a run, which ends by itself in less.
  static inline const std::atomic<bool> never_ = false;
  ScratchFolder folder_;
  const std::filesystem::path file_ = folder_ / "rooftile.db", noted_ = folder_ / "finished";
  DeviceProfile device_;
  TuneOptions options_;
  std::set<std::string> finished_;
};

}  // namespace rooftile
