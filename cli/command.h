// What the commands share: global options, exit codes, size options. One command is one .cpp with
// one function below.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/time_text.h"
#include "db/store.h"

namespace rooftile {

inline constexpr int kDone = 0, kFailure = 1, kUsage = 2, kInterrupted = 130;

struct Globals {
  std::string db;      // --db; empty: default_database_path()
  std::string device;  // --device; empty: any
  std::filesystem::path database() const;
  std::string wanted_device() const;  // --device, else $ROOFTILE_DEVICE; empty: any
  bool selects(const DeviceProfile& profile) const;
  /// " that matches 'TEXT'" of the wanted device, for messages; empty when any will do.
  std::string matching() const;
};

/// The chosen command's work; returns the exit code.
using Action = std::function<int()>;

struct ProblemOptions {
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  std::int64_t batch = 1;
  std::string epilogue, type = "f32";
  void add_to(CLI::App& command, bool required);
  void add_class_to(CLI::App& command);  // all but m, n and k
  Problem problem() const;               // throws kInvalidArgument
};

void add_devices(CLI::App& app, const Globals& globals, Action& action);
void add_calibrate(CLI::App& app, const Globals& globals, Action& action);
void add_tune(CLI::App& app, const Globals& globals, Action& action);
void add_report(CLI::App& app, const Globals& globals, Action& action);
void add_explain(CLI::App& app, const Globals& globals, Action& action);
void add_gemm(CLI::App& app, const Globals& globals, Action& action);
void add_emit(CLI::App& app, const Globals& globals, Action& action);
void add_db(CLI::App& app, const Globals& globals, Action& action);
void add_exchange(CLI::App& db, const Globals& globals, Action& action);  // export, import, merge
void add_black_list(CLI::App& db, const Globals& globals, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_query(CLI::App& app, const Globals& globals, Action& action);
void add_run(CLI::App& app, const Globals& globals, Action& action);
void add_worker(CLI::App& app, Action& action);

/// Those of this machine that --device selects; what the Vulkan loader left out is reported on
/// stderr. Throws kDevice when there is none.
std::vector<DeviceProfile> selected_devices(const Globals& globals);

/// True from the first SIGINT or SIGTERM on; the second one kills.
const std::atomic<bool>& stop_on_signals();

class Context;
/// Throws kUnsupported when --device is given and the context has no tuned device.
void refuse_missing_device(const Globals& globals, const Context& context);

/// Of the database, those that --device selects. Throws kUnsupported when it selects none of them.
std::vector<DeviceRecord> selected_records(const Globals& globals, const Store& store);

/// The values of --tier.
std::vector<std::string> tier_names();

struct CalibrationRun;
/// What has moved since the last calibration; nothing when there was none.
void print_drift(const CalibrationRun& run);

/// Says on stderr when OpenBLAS runs kernels that are too old for this processor.
void print_host_advice();

}  // namespace rooftile
