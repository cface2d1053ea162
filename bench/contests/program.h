// What the benches share: options for problems, the device, and tables on disk.
#pragma once

#include <CLI/CLI.hpp>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/device_profile.h"
#include "tuner/problems/problem_sets.h"

namespace rooftile {

/// A bench: gives the command line its options, parses the words, of which the first is its name,
/// and runs. Throws CLI::ParseError for wrong words, and other exceptions for what fails.
using Bench = void(CLI::App& app, int argc, char** argv);

/// The file of this build or bundle: beside this program, in the folder above or in lib/ there. The
/// bare name where it is in none of them.
std::string own_file(const std::string& name);
/// For a shell: this program with the sub-command.
std::string own_command(const std::string& bench);
/// What the shell's command prints. Throws kIo where it fails.
std::string output_of(const std::string& command);

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
