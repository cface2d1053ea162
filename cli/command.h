// Shared by the commands: global options, exit codes, size options. Each command is one .cpp file
// with one of the add_ functions below.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/time_text.h"
#include "db/store.h"
#include "runtime/call/call.h"

namespace rooftile {

inline constexpr int kDone = 0, kFailure = 1, kUsage = 2, kInterrupted = 130;

struct Globals {
  std::string db;      // --db; empty: default_database_path()
  std::string device;  // --device; empty: any
  std::filesystem::path database() const;
  std::string wanted_device() const;  // --device, else $ROOFTILE_DEVICE; empty: any
  bool selects(const DeviceProfile& profile) const;
  /// " that matches 'TEXT'" for messages, with the text that selects devices; empty when there is
  /// none.
  std::string matching() const;
};

/// Runs the chosen command and returns the exit code.
using Action = std::function<int()>;

struct ProblemOptions {
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  std::int64_t batch = 1;
  std::string epilogue, type = "f32";
  std::int64_t groups = 0, experts = 0;  // experts 0: as many as groups
  double skew = 1;
  void add_to(CLI::App& command, bool required);
  void add_class_to(CLI::App& command);   ///< Adds all options except m, n, k and the groups.
  void add_groups_to(CLI::App& command);  ///< Adds those of grouped problems.
  Problem problem() const;                ///< Throws kInvalidArgument.
};

void add_devices(CLI::App& app, const Globals& globals, Action& action);
void add_calibrate(CLI::App& app, const Globals& globals, Action& action);
void add_tune(CLI::App& app, const Globals& globals, Action& action);
void add_report(CLI::App& app, const Globals& globals, Action& action);
void add_explain(CLI::App& app, const Globals& globals, Action& action);
void add_gemm(CLI::App& app, const Globals& globals, Action& action);
void add_embed(CLI::App& app, const Globals& globals, Action& action);
void add_emit(CLI::App& app, const Globals& globals, Action& action);
void add_inspect(CLI::App& app, const Globals& globals, Action& action);
void add_db(CLI::App& app, const Globals& globals, Action& action);
void add_exchange(CLI::App& db, const Globals& globals, Action& action);  // export, import, merge
void add_black_list(CLI::App& db, const Globals& globals, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_gguf(CLI::App& app, Action& action);
void add_query(CLI::App& app, const Globals& globals, Action& action);
void add_run(CLI::App& app, const Globals& globals, Action& action);
void add_web(CLI::App& app, const Globals& globals, Action& action);
void add_help(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);
void add_manual(CLI::App& app, Action& action);

/// Devices of this machine that --device selects. Devices that the Vulkan loader ignores are
/// reported on stderr. Throws kDevice when there is no device.
std::vector<DeviceProfile> selected_devices(const Globals& globals);

/// From now on SIGINT, SIGTERM and SIGHUP, unless the program was started with them ignored, end it
/// with kInterrupted and remove its temporary files. A file that exceeds the limit of its length
/// (ulimit -f) is an error of the function that writes it, not a signal.
void clean_up_at_signals();
/// Undoes the part of clean_up_at_signals() that a program inherits which takes this one's place.
void leave_signals_to_program();

/// Becomes true at the first SIGINT, SIGTERM, or SIGHUP that is not ignored, as above. A second one
/// ends the process as above. SIGINT is answered on stderr.
const std::atomic<bool>& stop_on_signals();

/// Devices of the database that --device selects. Throws kUnsupported when it selects none of them.
std::vector<DeviceRecord> selected_records(const Globals& globals, const Store& store);

/// A context's tier for this value of --tier: without a value ROOFTILE_TIER counts.
inline std::optional<TierChoice> asked_for(TierChoice tier) {
  return tier == TierChoice::kAuto ? std::nullopt : std::optional(tier);
}
/// The devices of a call for this value of --devices: without a value ROOFTILE_DEVICES counts.
inline Devices asked_for(const std::string& devices) {
  return devices.empty() ? Devices::kDefault : parse_devices(devices);
}
/// Adds --devices.
CLI::Option* add_devices_option(CLI::App& command, std::string& devices);
/// The values of --tier.
/// Adds --precision, of the context.
CLI::Option* add_precision_option(CLI::App& command, std::string& precision);
/// Its value; none where it was not given.
std::optional<Precision> asked_precision(const std::string& precision);
std::vector<std::string> tier_names();

struct CalibrationRun;
/// Prints the drift since the last calibration, or nothing when there was none.
void print_drift(const CalibrationRun& run);

/// Warns on stderr when OpenBLAS runs kernels that are too old for this processor.
void print_host_advice();

}  // namespace rooftile
