#include "tuner/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/clock.h"

extern char** environ;

namespace rooftile {
namespace {

constexpr double kOpeningDeadlineS = 60;  // instance, driver and device; seconds on a cold machine
constexpr int kPollMs = 50;               // how soon a stop is noticed

void close_if_open(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

WorkerProcess::WorkerProcess(std::filesystem::path program, Json opening)
    : program_(std::move(program)), opening_(std::move(opening)) {
  ::signal(SIGPIPE, SIG_IGN);  // a worker may die between two requests: the write reports it
}

WorkerProcess::~WorkerProcess() { kill_and_reap(); }

void WorkerProcess::start() {
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
  std::string program = program_.string();
  char command[] = "worker";
  char* arguments[] = {program.data(), command, nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(request[0]);
  ::close(reply[1]);
  to_worker_ = request[1];
  from_worker_ = reply[0];
  if (error != 0) {
    close_if_open(to_worker_);
    close_if_open(from_worker_);
    fail(ErrorCode::kIo, "cannot start the tuning worker {}: {}", program, std::strerror(error));
  }
  pid_ = pid;
  buffered_.clear();
}

std::string WorkerProcess::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  close_if_open(to_worker_);
  close_if_open(from_worker_);
  if (WIFSIGNALED(status))
    return fmt::format("the worker was killed by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("the worker ended with exit code {}", WEXITSTATUS(status));
}

void WorkerProcess::kill_and_reap() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  reap();
}

WorkerAnswer WorkerProcess::exchange(const Json& request, double deadline_s,
                                     const std::atomic<bool>& stop) {
  WorkerAnswer answer;
  if (!write_all(to_worker_, request.dump() + "\n")) {
    answer.message = reap();
    return answer;
  }
  const double end = now_s() + deadline_s;
  while (true) {
    if (const std::size_t line_end = buffered_.find('\n'); line_end != std::string::npos) {
      answer.reply = Json::parse(buffered_.substr(0, line_end), nullptr, false);
      buffered_.erase(0, line_end + 1);
      if (answer.reply.is_discarded()) {
        kill_and_reap();
        answer.message = "the worker's answer is not JSON";
      } else if (answer.reply.contains("error")) {
        answer.fate = WorkerFate::kRefused;
        answer.error = static_cast<ErrorCode>(answer.reply.at("error").get<int>());
        answer.message = answer.reply.at("message");
      } else {
        answer.fate = WorkerFate::kAnswered;
      }
      return answer;
    }
    const double left_s = end - now_s();
    if (stop.load() || left_s <= 0) {
      kill_and_reap();
      answer.fate = stop.load() ? WorkerFate::kInterrupted : WorkerFate::kTimedOut;
      answer.message =
          stop.load() ? "interrupted" : fmt::format("no answer within {:.1f} s", deadline_s);
      return answer;
    }
    pollfd waiting = {.fd = from_worker_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, std::min(kPollMs, 1 + static_cast<int>(left_s * 1e3)));
    if (ready <= 0) continue;
    char chunk[4096];
    const ssize_t size = ::read(from_worker_, chunk, sizeof chunk);
    if (size > 0) {
      buffered_.append(chunk, static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      answer.message = reap();
      return answer;
    }
  }
}

WorkerAnswer WorkerProcess::ask(const Json& request, double deadline_s,
                                const std::atomic<bool>& stop) {
  if (pid_ == 0) {
    start();
    WorkerAnswer opened = exchange(opening_, kOpeningDeadlineS, stop);
    if (opened.fate != WorkerFate::kAnswered) {
      // Not the candidate's fault: nothing of it has been sent yet.
      if (opened.fate == WorkerFate::kInterrupted) return opened;
      kill_and_reap();
      fail(ErrorCode::kDevice, "the tuning worker cannot open the device: {}", opened.message);
    }
  }
  return exchange(request, deadline_s, stop);
}

}  // namespace rooftile
