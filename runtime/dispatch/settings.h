// What a context is told by its options, and by the environment where they say nothing.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/dispatch/context_options.h"

namespace rooftile {

struct Settings {
  std::filesystem::path database, cache_folder;
  std::string device;  ///< As ContextOptions::device, or of the environment.
  bool names_database = false;
  TierChoice tier = TierChoice::kAuto;
  Precision precision = Precision::kStandard;
  Devices devices = Devices::kOne;  ///< Of calls that do not say. Not kDefault.
  Deterministic deterministic = Deterministic::kNo;
  WhileCompiling while_compiling = WhileCompiling::kHostAnswers;
  MeasureCalls measure_calls = MeasureCalls::kYes;
  LogUntuned log_untuned = LogUntuned::kYes;
  bool split_always = false;   ///< As ContextOptions::split_always.
  bool adopts_device = false;  ///< Calls on device buffers run on the program's own device.
  bool agrees_with_ranks =
      false;  ///< This is an MPI rank: timings must not change where calls run.
};

/// Throws kInvalidArgument as check_environment() and the parsers of options do.
Settings settings_of(const ContextOptions& options);

}  // namespace rooftile
