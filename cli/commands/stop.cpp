#include <signal.h>

#include "cli/command.h"

namespace rooftile {
namespace {

std::atomic<bool> stop_requested = false;

// The second signal has its default effect and ends the process.
extern "C" void request_stop(int signal_number) {
  stop_requested.store(true);
  ::signal(signal_number, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  ::signal(SIGINT, request_stop);
  ::signal(SIGTERM, request_stop);
  return stop_requested;
}

}  // namespace rooftile
