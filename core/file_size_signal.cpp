#include "core/file_size_signal.h"

#include <pthread.h>
#include <sys/resource.h>

namespace rooftile {
namespace {

sigset_t only_file_size() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) return;
  const sigset_t set = only_file_size();
  sigset_t before;
  blocks_ = ::pthread_sigmask(SIG_BLOCK, &set, &before) == 0 && sigismember(&before, SIGXFSZ) == 0;
}

NoFileSizeSignal::~NoFileSizeSignal() {
  if (!blocks_) return;
  const sigset_t set = only_file_size();
  const timespec now = {};
  while (::sigtimedwait(&set, nullptr, &now) == SIGXFSZ) {  // takes what a failed write has raised
  }
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace rooftile
