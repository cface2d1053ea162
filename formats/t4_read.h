// Reads auto-tuning results in the format T4, of Rooftile or of another tuner that tuned Rooftile's
// kernels. The file comes from a stranger: everything is checked before it is used.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/variant.h"
#include "db/tables/records.h"

namespace rooftile {

/// One measurement, or one failure; run, candidate and problem of the sample are not set.
struct T4Result {
  Variant variant;
  std::size_t problem = 0, device = 0;  // positions in T4Results
  SampleRecord sample;
};
struct T4Results {
  std::vector<DeviceProfile> devices;
  std::vector<Problem> problems;  // each once
  std::vector<T4Result> results;
  std::size_t never_run = 0;  // configurations that the tuner's constraints excluded: left out
  std::string origin;         // key of the database that exported them; empty: another program's
  std::string identity;       // a hash of the content, whatever the file's name and spaces
};

/// What a file of another tuner does not say.
struct T4Defaults {
  std::optional<Problem> problem;  // of results that name none
  /// The device of results that name none; called once when there is one. It may throw.
  std::function<DeviceProfile()> device;
};

/// Whether a file begins as T4 does: a JSON object with "results" or "schema_version" before any
/// "format". False for a file that cannot be read.
bool is_t4_file(const std::filesystem::path& file);

/// Throws kIo for a file that cannot be read, and kInvalidArgument, naming the file, the result and
/// what is wrong, for anything that is not T4 of Rooftile's kernels with times that they can take.
T4Results read_t4(const std::filesystem::path& file, const T4Defaults& defaults);
/// Same from the text. name: of the file, for messages.
T4Results parse_t4(std::istream& text, const std::string& name, const T4Defaults& defaults);

}  // namespace rooftile
