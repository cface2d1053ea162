// Writes beyond a limit on the size of files (`ulimit -f`) as errors: a program that calls a
// library is not to end because of them.
#pragma once

#include <csignal>

namespace rooftile {

/// While one exists, a write of this thread beyond RLIMIT_FSIZE fails with EFBIG; the signal
/// SIGXFSZ, which ends a process by default, does not come. Destroyed by the thread that made it,
/// in the reverse order of several.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  bool blocks_ = false;  // and took the signal from the thread's mask
};

}  // namespace rooftile
