#include <signal.h>
#include <unistd.h>

#include <string_view>

#include "cli/command.h"

namespace rooftile {
namespace {

std::atomic<bool> stop_requested = false;

// The second signal has its default effect and ends the process.
extern "C" void request_stop(int signal_number) {
  stop_requested.store(true);
  ::signal(signal_number, SIG_DFL);
  constexpr std::string_view kText = "\nrooftile: stopping; another Ctrl-C ends it at once\n";
  // Nothing can be done about a terminal that does not take it.
  if (signal_number == SIGINT) [[maybe_unused]]
    const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  ::signal(SIGINT, request_stop);
  ::signal(SIGTERM, request_stop);
  // The terminal closes. nohup lets it be ignored.
  if (::signal(SIGHUP, request_stop) == SIG_IGN) ::signal(SIGHUP, SIG_IGN);
  return stop_requested;
}

}  // namespace rooftile
