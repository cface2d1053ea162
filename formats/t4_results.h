// Auto-tuning results in the format T4 as values.
#pragma once

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

}  // namespace rooftile
