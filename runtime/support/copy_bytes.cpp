#include "runtime/support/copy_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/support/background.h"

namespace rooftile {
namespace {

constexpr std::int64_t kRangeBytes = 1 << 20;
/// For each further thread: starting one takes 20 us and more, in which 100 to 400 kB are copied.
constexpr std::int64_t kBytesPerThread = 2 << 20, kMostThreads = 7;

/// The ranges of one copy, which its threads take in turn. A thread that the system starts late
/// finds none left. It then uses nothing but this object, because the caller's memory may be gone.
struct Ranges {
  std::int64_t count, items, ranges;
  CopyRange range;
  std::atomic<std::int64_t> next = 0, done = 0;

  void work() {
    for (std::int64_t r = next++; r < ranges; r = next++) {
      range.copy(range.context, r * items, std::min((r + 1) * items, count));
      if (++done == ranges) done.notify_one();
    }
  }
};

/// Threads that may not have ended yet. They are joined when there are many, and before the library
/// is unloaded. It is never destroyed, because a program's last destructors may copy, too.
class Started {
 public:
  static Started& get() {
    static Started& all = *new Started;
    static const struct AtExit {
      ~AtExit() { all.end(); }
    } at_exit;
    return all;
  }

  void add(std::vector<std::jthread> threads) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    // These are joined at once where another call adds its own, or where the process ends.
    if (!lock.owns_lock() || ended_) return;
    if (threads_->size() > kMost || process_ != ::getpid()) join();
    for (std::jthread& thread : threads) threads_->push_back(std::move(thread));
  }

 private:
  static constexpr std::size_t kMost = 32;

  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    if (process_ != ::getpid()) static_cast<void>(threads_.release());
    threads_.reset();
  }

  void join() {
    auto none = std::make_unique<std::vector<std::jthread>>();
    // A forked child has none of its parent's threads, and their memory may be used again.
    if (process_ != ::getpid()) static_cast<void>(threads_.release());
    threads_ = std::move(none);
    process_ = ::getpid();
  }

  std::mutex mutex_;
  std::unique_ptr<std::vector<std::jthread>> threads_ =
      std::make_unique<std::vector<std::jthread>>();
  pid_t process_ = ::getpid();
  bool ended_ = false;
};

}  // namespace

void share_copies(std::int64_t count, std::int64_t item_bytes, CopyRange range) noexcept {
  const auto alone = [&] { range.copy(range.context, 0, count); };
  const std::int64_t most = std::min(count * item_bytes / kBytesPerThread - 1, kMostThreads);
  if (most < 1) return alone();
  const std::int64_t items = std::max<std::int64_t>(1, kRangeBytes / item_bytes),
                     ranges = (count + items - 1) / items;
  const std::int64_t threads =
      std::min<std::int64_t>(most, std::thread::hardware_concurrency() - 1);
  if (threads < 1 || ranges < 2) return alone();
  std::shared_ptr<Ranges> shared;
  std::vector<std::jthread> started;
  try {
    shared.reset(new Ranges{count, items, ranges, range});
    for (std::int64_t t = 0; t < threads; ++t)
      started.push_back(
          thread_without_signals([shared](const std::stop_token&) { shared->work(); }));
    // No memory, or no more threads for this process.
  } catch (const std::exception&) {
  }
  if (shared == nullptr) return alone();
  shared->work();
  try {
    Started::get().add(std::move(started));
  } catch (const std::exception&) {  // They are joined at once.
  }
  for (std::int64_t done = shared->done; done < ranges; done = shared->done)
    shared->done.wait(done);
}

void copy_bytes(const void* from, void* to, std::uint64_t bytes) noexcept {
  share_copies(static_cast<std::int64_t>(bytes), 1, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

}  // namespace rooftile
