#include "tuner/worker/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <limits>
#include <utility>

#include "core/clock.h"
#include "tuner/measure/available_memory.h"

extern char** environ;

namespace rooftile {
namespace {

constexpr double kOpeningDeadlineS = 60;  // Instance, driver and device: seconds on a cold machine.
constexpr int kPollMs = 50;  // Interval at which `stop` and the worker's memory are checked.
constexpr double kMemoryShare = 0.75, kLeastMemoryBytes = 2.0 * (1 << 30);
// A killed process lives on while its driver waits for a hung device.
constexpr double kDeathDeadlineS = 10;
constexpr double kLastWaitS = 0.25;  // The caller is about to end.
// A wait that ends so much too late means that this process, and with it mostly its worker, was
// stopped, as by Ctrl-Z: a busy machine delays it by some hundredths of a second.
constexpr double kStoppedS = 1;
constexpr int kMostStops = 3;  // Of one request, which is then given up.

void close_if_open(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

/// Writes to a pipe that does not block. While it is full wait() is called with the bytes that are
/// left; where that returns false they are left out. Returns false where nobody can read them.
bool write_all(int fd, std::string_view text, const std::function<bool(std::size_t)>& wait) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      if (!wait(text.size())) return true;
      continue;
    }
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

double worker_memory_limit_bytes() {
  return std::max(kLeastMemoryBytes, kMemoryShare * available_memory_bytes());
}

bool memory_is_limited() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
    if (rlimit limit = {}; ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      return true;
  return false;
}

WorkerProcess::WorkerProcess(std::filesystem::path program, Json opening, double memory_limit_bytes)
    : program_(std::move(program)),
      opening_(std::move(opening)),
      memory_limit_bytes_(memory_limit_bytes) {
  ::signal(SIGPIPE, SIG_IGN);  // A worker may die between two requests; the write then reports it.
}

WorkerProcess::~WorkerProcess() {
  leave();
  const double deadline_s = now_s() + kLastWaitS;
  for (reap(); !left_.empty() && now_s() < deadline_s; reap()) ::poll(nullptr, 0, 1);
}

void WorkerProcess::start() {
  reap();
  left_.reserve(left_.size() + 1);  // leave(), which a destructor calls, takes no memory.
  std::string program = program_.string();
  int request[2] = {-1, -1}, reply[2] = {-1, -1};
  if (::pipe2(request, O_CLOEXEC) != 0 || ::pipe2(reply, O_CLOEXEC) != 0) {
    const int error = errno;
    for (int fd : {request[0], request[1]}) close_if_open(fd);
    fail(ErrorCode::kIo, "cannot create a pipe for the tuning worker: {}", std::strerror(error));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, request[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, reply[1], STDOUT_FILENO);
  char command[] = "worker";
  char* arguments[] = {program.data(), command, nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(request[0]);
  ::close(reply[1]);
  to_worker_ = request[1];
  ::fcntl(to_worker_, F_SETFL, O_NONBLOCK);
  from_worker_ = reply[0];
  if (error != 0) {
    close_if_open(to_worker_);
    close_if_open(from_worker_);
    const bool memory = error == ENOMEM || error == EAGAIN;
    fail(memory ? ErrorCode::kOutOfMemory : ErrorCode::kIo,
         "cannot start the tuning worker {}: {}{}", program, std::strerror(error),
         memory ? "; free memory, or raise the limits on it and on processes (ulimit -v, -u)" : "");
  }
  pid_ = pid;
  answers_.clear();
}

void WorkerProcess::leave() {
  close_if_open(to_worker_);
  close_if_open(from_worker_);
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  left_.push_back(std::exchange(pid_, 0));
}

void WorkerProcess::reap() {
  std::erase_if(left_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

WorkerProcess::Death WorkerProcess::end() {
  close_if_open(to_worker_);
  close_if_open(from_worker_);
  const pid_t pid = std::exchange(pid_, 0);
  if (pid == 0) return {};
  ::kill(pid, SIGKILL);
  int status = 0;
  rusage usage = {};
  const double deadline_s = now_s() + kDeathDeadlineS;
  while (::wait4(pid, &status, WNOHANG, &usage) != pid) {
    if (now_s() > deadline_s)
      return {fmt::format("the worker (process {}) was killed and does not end", pid)};
    ::poll(nullptr, 0, 1);
  }
  if (!WIFSIGNALED(status))
    return {fmt::format("the worker ended with exit code {}", WEXITSTATUS(status))};
  if (WTERMSIG(status) != SIGKILL)
    return {fmt::format("the worker was killed by signal {} ({})", WTERMSIG(status),
                        ::strsignal(WTERMSIG(status)))};
  const double held_gib = static_cast<double>(usage.ru_maxrss) / (1 << 20);  // ru_maxrss is in KiB.
  return {.how = fmt::format("the worker was killed from outside, as the kernel does when memory "
                             "runs out; it held up to {:.1f} GiB",
                             held_gib),
          .by_kill = true};
}

double WorkerProcess::resident_bytes() const {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid_));
  double total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

WorkerAnswer WorkerProcess::exchange(const Json& request, double deadline_s,
                                     const std::atomic<bool>& stop) {
  // A worker whose answer nobody takes ends, so that it is not taken for that of the next request.
  struct EndsWhereItThrows {
    WorkerProcess& worker;
    const int exceptions = std::uncaught_exceptions();
    ~EndsWhereItThrows() {
      if (std::uncaught_exceptions() > exceptions) worker.leave();
    }
  } const ends{*this};
  WorkerAnswer answer;
  double seen_s = now_s(), wait_s = 0;  // When this process last ran, and how long it then waited.
  double end_s = seen_s + deadline_s;
  // Time in which this process could not look for an answer is not the worker's.
  const auto look = [&] {
    const double at_s = now_s(), late_s = at_s - seen_s - wait_s;
    seen_s = at_s;
    end_s += std::max(0.0, late_s);
    stopped_ = stopped_ || late_s > kStoppedS;
  };
  std::size_t left_before = std::numeric_limits<std::size_t>::max();
  if (!write_all(to_worker_, request.dump() + "\n", [&](std::size_t left) {
        look();
        // The deadline is that of the work, not of reading a long request.
        if (left < left_before) end_s = seen_s + deadline_s;
        left_before = left;
        if (stop.load() || end_s <= seen_s) return false;
        pollfd waiting = {.fd = to_worker_, .events = POLLOUT, .revents = 0};
        wait_s = kPollMs * 1e-3;
        ::poll(&waiting, 1, kPollMs);
        return true;
      })) {
    answer.message = end().how;
    answer.doubtful = true;  // The worker died before it received this request.
    return answer;
  }
  while (true) {
    look();
    if (std::optional<WorkerAnswer> next = answers_.next()) {
      // A device that was lost or given up fails every further request.
      if (next->fate == WorkerFate::kCrashed || next->error == ErrorCode::kDevice ||
          next->error == ErrorCode::kTimeout)
        end();
      return *std::move(next);
    }
    const double left_s = end_s - seen_s;
    if (stop.load()) {
      leave();
      answer.fate = WorkerFate::kInterrupted;
      answer.message = "interrupted";
      return answer;
    }
    if (left_s <= 0) {
      end();
      answer.fate = WorkerFate::kTimedOut;
      answer.message = fmt::format("no answer within {:.1f} s", deadline_s);
      return answer;
    }
    pollfd waiting = {.fd = from_worker_, .events = POLLIN, .revents = 0};
    const int wait_ms = std::min(kPollMs, 1 + static_cast<int>(left_s * 1e3));
    wait_s = wait_ms * 1e-3;
    const int ready = ::poll(&waiting, 1, wait_ms);
    if (ready == 0) {
      const double held_bytes = resident_bytes();
      if (held_bytes > memory_limit_bytes_) {
        end();
        answer.fate = WorkerFate::kOutOfMemory;
        answer.message =
            fmt::format("out of memory: the worker held {:.1f} GiB and may hold {:.1f}",
                        held_bytes / (1 << 30), memory_limit_bytes_ / (1 << 30));
        return answer;
      }
    }
    if (ready <= 0) continue;
    char chunk[4096];
    const ssize_t size = ::read(from_worker_, chunk, sizeof chunk);
    if (size > 0) {
      answers_.add({chunk, static_cast<std::size_t>(size)});
    } else if (size == 0 || errno != EINTR) {
      Death death = end();
      answer.message = std::move(death.how);
      answer.doubtful = death.by_kill;
      return answer;
    }
  }
}

WorkerAnswer WorkerProcess::open(const std::atomic<bool>& stop) {
  start();
  return exchange(opening_, kOpeningDeadlineS, stop);
}

WorkerAnswer WorkerProcess::attempt(const Json& request, double deadline_s,
                                    const std::atomic<bool>& stop) {
  const bool fresh = pid_ == 0;
  const double start_s = now_s();
  if (fresh) {
    WorkerAnswer opened = open(stop);
    if (opened.doubtful) opened = open(stop);
    if (opened.fate != WorkerFate::kAnswered) {
      // The candidate is not at fault, because nothing of it has been sent yet.
      if (opened.fate == WorkerFate::kInterrupted) return opened;
      end();
      const bool limited = opened.fate == WorkerFate::kCrashed && memory_is_limited();
      fail(limited || opened.error == ErrorCode::kOutOfMemory ? ErrorCode::kOutOfMemory
                                                              : ErrorCode::kDevice,
           "the tuning worker cannot open the device: {}{}{}", opened.message, limited ? "; " : "",
           limited ? kMemoryLimitAdvice : "");
    }
  }
  const double opening_s = now_s() - start_s;
  stopped_ = false;
  WorkerAnswer answer = exchange(request, deadline_s, stop);
  answer.opening_s = opening_s;
  // Memory that it holds, or that it destroyed, may be the work of an earlier request.
  if (answer.fate == WorkerFate::kOutOfMemory || answer.fate == WorkerFate::kCrashed)
    answer.doubtful = answer.doubtful || !fresh;
  return answer;
}

WorkerAnswer WorkerProcess::ask(const Json& request, double deadline_s,
                                const std::atomic<bool>& stop) {
  const double start_s = now_s();
  WorkerAnswer answer = attempt(request, deadline_s, stop);
  // The worker's own limits, and the times that it measures, hold the stop as well.
  for (int stops = 0; stopped_ && stops < kMostStops && !stop.load(); ++stops) {
    const double spoilt_s = now_s() - start_s;
    answer = attempt(request, deadline_s, stop);
    answer.opening_s += spoilt_s;
  }
  if (answer.doubtful) answer = attempt(request, deadline_s, stop);
  if (stopped_ && answer.fate != WorkerFate::kAnswered && answer.fate != WorkerFate::kInterrupted)
    answer = {.fate = WorkerFate::kInterrupted,
              .message = "the tuner was stopped while it waited for " + answer.message};
  return answer;
}

}  // namespace rooftile
