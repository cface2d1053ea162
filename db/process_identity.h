// Which process wrote a row, and whether it can still be alive. A pid alone does not tell: it is
// used again after a while, after a reboot, and in every container.
#pragma once

#include <cstdint>
#include <string>

#include "db/records.h"

namespace rooftile {

struct ProcessIdentity {
  std::int64_t pid = 0;
  std::int64_t start_ticks =
      0;  // clock ticks after boot (proc(5), /proc/<pid>/stat, field 22); 0: no such process
  std::string boot_id;        // /proc/sys/kernel/random/boot_id
  std::string pid_namespace;  // "pid:[4026531836]": what pid is a number of
};

/// As the process is now. One that has ended but was not waited for (a zombie) counts as gone.
ProcessIdentity identify_process(std::int64_t pid);

/// now: identify_process(recorded.pid). In doubt (no /proc, another container) a process counts as
/// alive: a kernel is black-listed for what is said of it here.
bool is_gone(const ProcessIdentity& recorded, const ProcessIdentity& now);
bool is_gone(const JournalRecord& record);
/// The machine has been down since it was written.
bool is_of_another_boot(const JournalRecord& record);

}  // namespace rooftile
