// Waits until other threads are blocked, for tests of what happens then.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/await.h"

namespace rooftile {

/// The kernel's view of a thread (proc(5)): its state, 'S' where it sleeps, and how often it has
/// given up its processor. State '?' for a thread that has ended.
struct ThreadState {
  char state = '?';
  std::string switches;

  bool operator==(const ThreadState&) const = default;
};

inline ThreadState state_of(const std::filesystem::path& task) {
  std::ifstream status(task / "status");
  ThreadState result;
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kState = "State:\t";
    if (line.starts_with(kState)) result.state = line[kState.size()];
    if (line.find("ctxt_switches") != std::string::npos) result.switches += line;
  }
  return result;
}

/// Waits until this thread of the process sleeps; fails after a minute.
inline testing::AssertionResult await_asleep(pid_t thread) {
  const std::filesystem::path task = "/proc/self/task/" + std::to_string(thread);
  return await("the thread sleeps", [&] { return state_of(task).state == 'S'; });
}

/// Waits until every other thread of the process sleeps, and none has run between two looks: from
/// then on nothing happens before this thread does something. Fails after a minute.
inline testing::AssertionResult await_all_asleep() {
  std::map<std::string, ThreadState> before;
  return await("all other threads sleep", [&] {
    std::map<std::string, ThreadState> now;
    bool asleep = true;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      const std::string id = task.path().filename();
      if (id == std::to_string(::gettid())) continue;
      now[id] = state_of(task.path());
      asleep = asleep && now[id].state == 'S';
    }
    const bool unchanged = now == before;
    before = std::move(now);
    return asleep && unchanged;
  });
}

}  // namespace rooftile
