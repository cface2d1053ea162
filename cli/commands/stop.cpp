// Handlers of signals. Only the command line program sets them; the library never does.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "cli/command.h"
#include "core/files/temporary_name.h"

namespace rooftile {
namespace {

std::atomic<bool> stop_requested = false;
std::atomic<std::int64_t> stop_requested_ms = 0;
// GNU timeout sends its signal twice at once, to the program and to its group. A tuner that ends
// there would leave the kernel that it measures to be blamed for its death.
constexpr std::int64_t kAtOnceMs = 50;
sighandler_t growing_too_far = SIG_DFL;

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

extern "C" void end_now(int signal_number) {
  remove_temporary_files();
  // Behind a line of progress, which has no end.
  if (signal_number == SIGINT && stop_requested.load()) [[maybe_unused]]
    const ssize_t written = ::write(STDERR_FILENO, "\n", 1);
  ::_exit(kInterrupted);
}

std::int64_t now_ms() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// A second signal ends the process.
extern "C" void request_stop(int signal_number) {
  const std::int64_t now = now_ms();
  std::int64_t first = 0;
  if (!stop_requested_ms.compare_exchange_strong(first, now)) {
    if (now - first > kAtOnceMs) end_now(signal_number);
    return;
  }
  stop_requested.store(true);
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
