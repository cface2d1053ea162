// A log of what SQLite writes, and the disks that a power cut may leave at each step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rooftile {

/// One step of SQLite on a file, which is named without its folder.
struct DiskStep {
  enum class Kind : std::uint8_t { kWrite, kTruncate, kSync, kDelete };
  Kind kind;
  std::string file;
  std::int64_t offset = 0;  ///< For kTruncate the new size.
  std::string bytes = {};
};

/// Becomes the file system of all databases that are opened during its lifetime; one at a time. It
/// passes everything on to the real one.
class DiskLog {
 public:
  DiskLog();
  ~DiskLog();
  DiskLog(const DiskLog&) = delete;
  DiskLog& operator=(const DiskLog&) = delete;

  const std::vector<DiskStep>& steps() const;
};

/// Contents of files by name.
using Disk = std::map<std::string, std::string>;

/// What a power cut takes of the writes that were not synced: nothing, as when only the program
/// ends; all; or some of them, of which some are torn at a sector.
enum class Loss : std::uint8_t { kNothing, kAllUnsynced, kSomeUnsynced };

/// The disk after the first `count` steps. seed: of kSomeUnsynced.
Disk disk_after(const Disk& before, const std::vector<DiskStep>& steps, std::size_t count,
                Loss loss, std::uint64_t seed);

}  // namespace rooftile
