// Handlers of signals. Only the command line program sets them; the library never does.
#include <signal.h>
#include <unistd.h>

#include <string_view>

#include "cli/command.h"
#include "core/files/temporary_name.h"

namespace rooftile {
namespace {

std::atomic<bool> stop_requested = false;
sighandler_t growing_too_far = SIG_DFL;

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

extern "C" void end_now(int signal_number) {
  remove_temporary_files();
  // Behind a line of progress, which has no end.
  if (signal_number == SIGINT && stop_requested.load()) [[maybe_unused]]
    const ssize_t written = ::write(STDERR_FILENO, "\n", 1);
  ::_exit(kInterrupted);
}

// The second signal ends the process.
extern "C" void request_stop(int signal_number) {
  stop_requested.store(true);
  ::signal(signal_number, end_now);
  constexpr std::string_view kText = "\nrooftile: stopping; another Ctrl-C ends it at once\n";
  // Nothing can be done about a terminal that does not take it.
  if (signal_number == SIGINT) [[maybe_unused]]
    const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
}

/// Sets the handler of the signals that end a program, but of none that its parent has let it
/// ignore, as nohup and shells do for programs in the background.
void handle_ending(sighandler_t handler) {
  for (const int signal_number : kEnding) {
    struct sigaction before = {};
    ::sigaction(signal_number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::signal(signal_number, handler);
  }
}

}  // namespace

void clean_up_at_signals() {
  handle_ending(end_now);
  growing_too_far = ::signal(SIGXFSZ, SIG_IGN);
}

void leave_signals_to_program() { ::signal(SIGXFSZ, growing_too_far); }

const std::atomic<bool>& stop_on_signals() {
  handle_ending(request_stop);
  return stop_requested;
}

}  // namespace rooftile
