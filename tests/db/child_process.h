// Child processes for tests with several processes on one file. A test forks before it opens a
// Store that a child would inherit.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rooftile {

/// Child processes, waited for at the end.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                     "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

/// A pipe of bytes between parent and children, for waiting without sleeping.
class Signal {
 public:
  Signal() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  void send() {
    const char byte = 'x';
    if (::write(ends_[1], &byte, 1) != 1) throw std::runtime_error("the pipe is closed");
  }
  void wait() {
    char byte = 0;
    if (::read(ends_[0], &byte, 1) != 1) throw std::runtime_error("the pipe is closed");
  }
  /// Ends after that time without a byte, too.
  void wait_for_ms(int ms) {
    pollfd end = {.fd = ends_[0], .events = POLLIN, .revents = 0};
    if (::poll(&end, 1, ms) > 0) wait();
  }

 private:
  int ends_[2] = {-1, -1};
};

class ChildProcess {
 public:
  /// Runs body in a child, whose exit status is 0, or 1 when body throws or a gtest assertion in
  /// it fails.
  explicit ChildProcess(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ > 0) return;
    int status = 0;
    try {
      body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child %d: %s\n", static_cast<int>(::getpid()), error.what());
      status = 1;
    }
    if (::testing::Test::HasFailure()) status = 1;
    std::fflush(nullptr);
    ::_exit(status);
  }
  ~ChildProcess() {
    if (pid_ > 0) {
      kill();
      wait();
    }
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(other.pid_) { other.pid_ = 0; }
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  void kill() { ::kill(pid_, SIGKILL); }
  /// Exit status, or the negated number of the signal that ended the child.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

/// Runs body(index) in count children that start at nearly the same time. All must end with 0.
inline void run_at_once(int count, const std::function<void(int)>& body) {
  Signal ready, go;
  std::vector<ChildProcess> children;
  for (int i = 0; i < count; ++i)
    children.emplace_back([&, i] {
      ready.send();
      go.wait();
      body(i);
    });
  for (int i = 0; i < count; ++i) ready.wait();
  for (int i = 0; i < count; ++i) go.send();
  for (ChildProcess& child : children) EXPECT_EQ(child.wait(), 0);
}

}  // namespace rooftile
