// What the programs of bench/ share: their options for problems, the device, and tables on disk.
#pragma once

#include <CLI/CLI.hpp>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "tuner/problems/problem_sets.h"

namespace rooftile {

/// Parses the options, then runs. Returns the exit code: 2 for wrong options, of which run() may
/// throw CLI::ParseError too, and 1 for an error that it throws, which stderr says.
int run_program(CLI::App& app, int argc, char** argv, const std::function<void()>& run);

/// Vulkan devices, all or those that match $ROOFTILE_DEVICE, the best one first. Throws kDevice
/// where there is none.
std::vector<DeviceProfile> wanted_devices();

/// The problems that the options of a program ask for. It must outlive the parsing of its options.
class WantedProblems {
 public:
  /// --m, --n, --k, --trans-a and --trans-b. Returns --m, which needs --n and --k.
  CLI::Option* add_sizes(CLI::App& app, const std::string& what = "One problem");
  /// Those and --set, --shapes, --batch, --type and --epilogue.
  void add_options(CLI::App& app);

  /// The problem of the sizes; no value: none are given.
  std::optional<Problem> one() const;
  /// That one, else those of the file or set, else those of the set `otherwise`, none for "".
  std::vector<TuneProblem> problems(const std::string& otherwise = "") const;

 private:
  std::string set_, shapes_, type_ = "f32", epilogue_;
  std::int64_t m_ = 0, n_ = 0, k_ = 0, batch_ = 1;
  bool trans_a_ = false, trans_b_ = false;
};

/// A table on disk, whose lines are there as soon as they are added; without a path it is none.
class CsvFile {
 public:
  /// Throws kIo where the file cannot be written.
  CsvFile(const std::string& path, const std::string& header);
  /// A line, without its end. Throws kIo.
  void add(const std::string& line);

 private:
  std::string path_;
  std::ofstream file_;
};

/// "a ""b"", c": text that may hold a comma, for a cell of a CSV file.
std::string quoted(std::string text);

}  // namespace rooftile
