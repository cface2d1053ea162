// Which process wrote a row, and whether it may still be running. A pid alone is no identity: it is
// reused after a while, after a reboot, and in every container.
#pragma once

#include <cstdint>
#include <string>

#include "db/tables/records.h"

namespace rooftile {

struct ProcessIdentity {
  std::int64_t pid = 0;
  // Clock ticks after boot (proc(5), /proc/<pid>/stat, field 22); 0: there is no such process.
  std::int64_t start_ticks = 0;
  std::string boot_id;        // /proc/sys/kernel/random/boot_id
  std::string pid_namespace;  // "pid:[4026531836]": what pid is a number of
};

/// The identity of the process that has this pid now. A process that has ended but was not waited
/// for (a zombie) counts as gone.
ProcessIdentity identify_process(std::int64_t pid);

/// Whether the recorded process is certainly gone; now is identify_process(recorded.pid). In doubt
/// (no /proc, another container) it counts as running, because the answer black-lists a kernel.
bool is_gone(const ProcessIdentity& recorded, const ProcessIdentity& now);
bool is_gone(const JournalRecord& record);
/// Whether the machine has been restarted since the row was written.
bool is_of_another_boot(const JournalRecord& record);

}  // namespace rooftile
