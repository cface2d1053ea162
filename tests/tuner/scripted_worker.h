// Fakes of a device and of the worker that measures on it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/device_profile.h"
#include "tests/support/file_text.h"

namespace rooftile {

/// A shell script for WorkerProcess. It reads the request that opens a device and answers it; what
/// is written to this stream goes on: it reads one request a line and prints one reply a line.
class WorkerScript : public std::ofstream {
 public:
  explicit WorkerScript(const std::filesystem::path& file) : std::ofstream(file) {
    *this << "#!/bin/sh\nread opening\necho '{\"name\":\"fake\"}'\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
};

/// Lines of a file in which a scripted worker keeps what it is asked; 0 if there is no file yet.
inline std::size_t line_count(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line) && !stream.eof();) ++count;
  return count;
}

/// Those of these lines that contain the text.
inline std::size_t lines_with(const std::filesystem::path& file, const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      lines_of_file(file),
      [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

/// Limits of a workgroup that permit hundreds of kernels; memory for tiles is left out.
inline void set_small_workgroups(DeviceLimits& limits) {
  limits.max_workgroup_invocations = 256;
  limits.max_workgroup_size = {256, 256, 64};
}

}  // namespace rooftile
