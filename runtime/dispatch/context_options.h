// What a program may say when it opens a context.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "runtime/call/call.h"

namespace rooftile {

class Device;

/// Whether the database counts problems without a tuned bucket.
enum class LogUntuned : std::uint8_t { kYes, kNo };
/// Whether repeated calls are measured and moved to the fastest tier
/// (runtime/dispatch/tier_times.h).
enum class MeasureCalls : std::uint8_t { kYes, kNo };
struct ContextOptions {
  std::filesystem::path database;  ///< Empty: default_database_path().
  /// Substring of a name or UUID. Empty: $ROOFTILE_DEVICE, else the best tuned device.
  std::string device;
  bool needs_device = false;       ///< Without a tuned device that matches, kUnsupported is thrown.
  std::optional<TierChoice> tier;  ///< No value: $ROOFTILE_TIER, else auto.
  std::filesystem::path cache_folder;     ///< Empty: default_cache_folder().
  std::optional<LogUntuned> log_untuned;  ///< No value: $ROOFTILE_LOG_UNTUNED, else yes.
  /// No value: $ROOFTILE_MEASURE_CALLS, else yes, but no in a rank of an MPI program.
  std::optional<MeasureCalls> measure_calls;
  std::optional<Deterministic> deterministic;  ///< No value: $ROOFTILE_DETERMINISTIC, else no.
  /// A deterministic context always uses kWait, and so does one of several MPI ranks that says
  /// nothing of `deterministic`.
  WhileCompiling while_compiling = WhileCompiling::kHostAnswers;
  /// Precision of calls that do not set one. No value: $ROOFTILE_PRECISION, else standard.
  std::optional<Precision> precision;
  std::optional<Devices> devices = {};  ///< No value: $ROOFTILE_DEVICES, else one.
  /// Split calls even where that is not predicted to be faster, and on no account leave a split
  /// that is not: for benches that show what a split costs.
  bool split_always = false;
  /// Device of the program, or null. resident() then runs on it, and only kernels that were tuned
  /// for the same device are used.
  std::shared_ptr<Device> adopted = nullptr;
};

}  // namespace rooftile
