#include "tuner/measure/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace rooftile {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

double meminfo_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (double kib = 0; file >> name >> kib && std::getline(file, unit);)
    if (name == "MemAvailable:") return kib * 1024;
  return kUnknown;
}

/// Returns the number in a file; infinity for "max" and for a missing file.
double figure_in(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : kUnknown;
}

/// Returns the bytes that a group uses and cannot give back (it can give back files in the page
/// cache); 0 when unknown.
double anonymous_bytes(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  for (double bytes = 0; file >> name >> bytes;)
    if (name == "anon") return bytes;
  return 0;
}

double control_group_bytes() {
  std::ifstream file("/proc/self/cgroup");
  double least = kUnknown;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    // The limits of all parent groups apply too.
    for (std::string group = line.substr(3);; group.resize(group.find_last_of('/'))) {
      const std::string folder = "/sys/fs/cgroup" + group;
      least = std::min(
          least, figure_in(folder + "/memory.max") - anonymous_bytes(folder + "/memory.stat"));
      if (group.find('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace

double available_memory_bytes() { return std::min(meminfo_bytes(), control_group_bytes()); }

}  // namespace rooftile
