// The made-up worker as a program. All workers of a run count their requests in one file,
// $ROOFTILE_TEST_REQUESTS; at the one of $ROOFTILE_TEST_AT the signal $ROOFTILE_TEST_SIGNAL is
// sent, to the tuner or, where that is negative, to this worker. A process that it stops goes on at
// once.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/file_text.h"
#include "tests/tuner/faults/made_up_tune.h"

namespace {

int number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

/// Number of this request among all of the run.
long count_request(const char* file) {
  const int descriptor = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0 || ::write(descriptor, "x", 1) != 1) std::abort();
  const long written = ::lseek(descriptor, 0, SEEK_CUR);
  ::close(descriptor);
  return written - 1;
}

bool is_stopped(pid_t process) {
  const std::string stat = rooftile::bytes_of_file("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end, 3) == ") T";
}

void stop_and_continue(pid_t process) {
  if (::fork() != 0) {
    if (process == ::getpid()) ::raise(SIGSTOP);
    return;
  }
  if (process != ::getppid()) ::kill(process, SIGSTOP);
  while (!is_stopped(process)) ::usleep(100);
  ::kill(process, SIGCONT);
  ::_exit(0);
}

void on_request() {
  const char* const file = std::getenv("ROOFTILE_TEST_REQUESTS");
  if (file == nullptr || count_request(file) != number("ROOFTILE_TEST_AT")) return;
  const int signal = number("ROOFTILE_TEST_SIGNAL");
  const pid_t process = signal < 0 ? ::getpid() : ::getppid();
  if (std::abs(signal) == SIGSTOP)
    stop_and_continue(process);
  else if (signal != 0)
    ::kill(process, std::abs(signal));
}

}  // namespace

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return rooftile::made_up_worker(on_request);
}
