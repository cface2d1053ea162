#include "runtime/support/background.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <limits>
#include <mutex>
#include <system_error>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/clock.h"
#include "runtime/support/float_environment.h"

namespace rooftile {

namespace {

/// Processor time of the calling thread.
double own_processor_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

}  // namespace

std::jthread thread_without_signals(std::function<void(std::stop_token)> body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // The new thread inherits the mask.
  try {
    // It inherits the caller's traps, too.
    std::jthread thread([body = std::move(body)](const std::stop_token& stop) {
      const QuietFloats quiet;
      body(stop);
    });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

double thread_start_ns() {
  static const double measured = []() -> double {
    constexpr int kTries = 5;
    // A start that waits for processors which other programs have takes milliseconds more, and the
    // process would keep that. On an idle machine it takes 1.3 to 1.6 times its processor time.
    constexpr double kMostOverOwn = 10;
    double shortest = std::numeric_limits<double>::infinity(), own = shortest;
    try {
      for (int i = 0; i < kTries; ++i) {
        const double start = now_ns(), own_start = own_processor_ns();
        thread_without_signals([](const std::stop_token&) {}).join();
        own = std::min(own, own_processor_ns() - own_start);
        shortest = std::min(shortest, now_ns() - start);
      }
    } catch (const std::system_error&) {  // What was measured before counts, if anything was.
    }
    return std::min(shortest, kMostOverOwn * own);
  }();
  return measured;
}

struct Background::Impl {
  std::atomic<pid_t> process = 0;  // Process that has posted jobs.
  std::mutex mutex;                // Guards the members below.
  std::deque<std::function<void()>> jobs;
  bool working = false, ended = false;
  std::jthread thread;

  bool post(std::function<void()> job);
  void work();
  void end();
};

bool Background::Impl::post(std::function<void()> job) try {
  const std::lock_guard lock(mutex);
  if (ended) return false;
  jobs.push_back(std::move(job));
  if (working) return true;
  // An earlier thread, if any, has finished work() and is about to return.
  thread = thread_without_signals([this](const std::stop_token&) { work(); });
  working = true;
  return true;
} catch (const std::system_error&) {
  const std::lock_guard lock(mutex);
  jobs.clear();
  return false;
}

void Background::Impl::work() {
  std::unique_lock lock(mutex);
  while (!jobs.empty()) {
    const std::function<void()> job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
  working = false;
}

void Background::Impl::end() {
  {
    const std::lock_guard lock(mutex);
    ended = true;
    jobs.clear();
  }
  if (thread.joinable()) thread.join();
}

namespace {

/// All objects of one process, for the exit handler.
struct Registry {
  const pid_t process = ::getpid();
  std::mutex mutex;
  std::unordered_set<Background::Impl*> all;
  std::atomic<bool> ending = false;
};

/// Returns the registry of this process. It is never destroyed, because exit handlers use it. A
/// forked child starts with an empty one and never touches a lock that may have been held at the
/// fork.
Registry& registry() {
  static std::atomic<Registry*> current = nullptr;
  Registry* known = current;
  while (known == nullptr || known->process != ::getpid()) {
    auto fresh = std::make_unique<Registry>();
    if (current.compare_exchange_strong(known, fresh.get())) return *fresh.release();
  }
  return *known;
}

/// Runs at the end of the process, or when the library is unloaded.
void end_all() {
  Registry& here = registry();
  here.ending = true;
  const std::lock_guard lock(here.mutex);
  for (Background::Impl* background : here.all) background->end();
}

/// Calls end_all() when the main thread ends the process. exit() destroys the thread's own objects
/// before it calls exit handlers, and a driver's compiler registers handlers as late as in a job,
/// which would then use what is destroyed already.
struct EndOfMainThread {
  bool armed = false;
  ~EndOfMainThread() {
    if (armed) end_all();
  }
};

/// For the other threads that may end the process there is the exit handler, which may come too
/// late for a job that is compiling.
void end_all_at_exit() {
  static const int registered = std::atexit(end_all);
  std::ignore = registered;
  static thread_local EndOfMainThread end;
  end.armed = ::gettid() == ::getpid();
}

}  // namespace

Background::Background() : impl_(std::make_unique<Impl>()) {}

Background::~Background() {
  const pid_t process = impl_->process;
  if (process == 0) return;
  if (process != ::getpid()) {
    std::ignore = impl_.release();  // The thread is the parent's, and it may have held the lock.
    return;
  }
  {
    const std::lock_guard lock(registry().mutex);  // The process may be ending.
    registry().all.erase(impl_.get());
  }
  impl_->end();
}

bool Background::post(std::function<void()> job) {
  pid_t process = 0;
  end_all_at_exit();
  if (impl_->process.compare_exchange_strong(process, ::getpid())) {
    const std::lock_guard lock(registry().mutex);
    registry().all.insert(impl_.get());
  } else if (process != ::getpid()) {
    return false;
  }
  return impl_->post(std::move(job));
}

bool Background::wait_at_exit() {
  end_all_at_exit();
  return !registry().ending;
}

}  // namespace rooftile
