#include "runtime/device/physical/exit_of_children.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

namespace rooftile {
namespace {

std::atomic<pid_t> opened_by = 0;
std::atomic<bool> may_load = false;  // Drivers may be loaded, and this library stays loaded.
std::atomic<int> loading = 0;        // Scopes in which threads load drivers.
thread_local int loading_here = 0;   // How many of them are on this thread.

void end(int status, void*) {
  std::fflush(nullptr);
  ::_exit(status);
}

void end_child(int status, void* unused) {
  if (::getpid() != opened_by) end(status, unused);
}

// Drivers register exit handlers while they are loaded. A child that is forked meanwhile inherits
// glibc's lock of these handlers, and would wait for it in after_fork or in exit for ever.
void before_fork() {
  constexpr auto kPatience = std::chrono::seconds(1);  // Drivers take a tenth of it.
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (loading > loading_here && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Registered in the child, so that it runs before all handlers of the parent.
void after_fork() {
  if (may_load && (loading > 0 || opened_by == 0)) ::on_exit(end, nullptr);
}

// When the library is loaded, because a fork that has begun ignores a later registration.
[[maybe_unused]] const int registered = ::pthread_atfork(before_fork, nullptr, after_fork);

/// on_exit, unlike atexit, keeps the handlers of a library that is unloaded.
bool stays_loaded() {
  Dl_info own;
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(&end_child), &own, reinterpret_cast<void**>(&map),
                RTLD_DL_LINKMAP) == 0)
    return false;
  const bool program = *map->l_name == '\0';
  return program || ::dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

}  // namespace

void end_children_without_earlier_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!may_load) return;
    opened_by = ::getpid();
    ::on_exit(end_child, nullptr);
  });
}

LoadingDrivers::LoadingDrivers() {
  static std::once_flag once;
  std::call_once(once, [] { may_load = stays_loaded(); });
  ++loading_here;
  ++loading;
}
LoadingDrivers::~LoadingDrivers() {
  --loading;
  --loading_here;
}

}  // namespace rooftile
