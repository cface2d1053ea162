// Waiting until other threads wait, for tests of what happens then.
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <thread>

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

/// Asks again every millisecond, for a minute at most. Returns whether it became true.
template <typename Condition>
bool await(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Waits until this thread of the process sleeps. Returns false after a minute.
inline bool await_asleep(pid_t thread) {
  const std::filesystem::path task = "/proc/self/task/" + std::to_string(thread);
  return await([&] { return state_of(task).state == 'S'; });
}

/// Waits until every other thread of the process sleeps, and none has run between two looks: from
/// then on nothing happens before this thread does something. Returns false after a minute.
inline bool await_all_asleep() {
  std::map<std::string, ThreadState> before;
  return await([&] {
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
