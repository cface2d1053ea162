#include "runtime/dispatch/untuned_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <utility>

#include "db/store.h"
#include "runtime/support/background.h"
#include "runtime/support/log.h"

namespace rooftile {
namespace {

constexpr std::chrono::seconds kWriteEvery(60);
// A tuner holds the write lock for much less than this. If another process holds it longer, the log
// waits for its next turn.
constexpr int kBusyTimeoutMs = 100;
constexpr int kLockAttempts = 100;  // Takes one or two microseconds.

/// Returns the properties that a kernel depends on: operands are staged, so ld does not count.
Problem logged_form(const Problem& p) {
  Problem packed = packed_problem(p.m, p.n, p.k, p.trans_a, p.trans_b, p.batch, p.types);
  if (p.batch > 1 && p.stride_a == 0) packed.stride_a = 0;
  if (p.batch > 1 && p.stride_b == 0) packed.stride_b = 0;
  packed.beta = p.beta == 0.0f ? 0.0f : 1.0f;
  packed.epilogue = compiled_part(p.epilogue);
  packed.grouping = p.grouping;
  if (is_grouped(p) && p.stride_b != 0)
    packed.stride_b = stored_b(packed).rows * stored_b(packed).columns;
  return packed;
}

std::size_t hash_of(const Problem& p) {
  std::uint64_t h = static_cast<std::uint64_t>(p.m);
  for (const std::int64_t x :
       {p.n, p.k, p.batch, p.stride_a, p.grouping.groups, p.grouping.largest})
    h = (h ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(h ^ (h >> 32));
}

}  // namespace

UntunedLog::UntunedLog(std::filesystem::path database, DeviceProfile device)
    : database_(std::move(database)), device_(std::move(device)), process_(::getpid()) {
  try {
    writer_ = std::make_unique<std::jthread>(
        thread_without_signals([this](const std::stop_token& stop) { write_every_minute(stop); }));
  } catch (const std::system_error&) {  // Without a thread the counts are written at the end only.
  }
}

UntunedLog::~UntunedLog() {
  if (::getpid() != process_) {
    std::ignore = writer_.release();  // The thread is the parent's.
    return;
  }
  writer_.reset();
  write();
}

void UntunedLog::write_every_minute(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (true) {
    stopped.wait_for(lock, stop, kWriteEvery, [] { return false; });
    if (stop.stop_requested()) return;
    write();
  }
}

std::atomic<std::int64_t>* UntunedLog::counter(const Problem& p) {
  const Problem wanted = logged_form(p);
  // The lock is held for tens of nanoseconds; in a forked child it may never be released.
  std::unique_lock lock(inserting_, std::defer_lock);
  for (int attempt = 0; !lock.try_lock(); ++attempt)
    if (attempt == kLockAttempts) return nullptr;
  std::size_t slot = hash_of(wanted) % kSlots;
  for (; slots_[slot] != 0; slot = (slot + 1) % kSlots)
    if (Entry& entry = entries_[slots_[slot] - 1u]; entry.problem == wanted) return &entry.calls;
  const std::size_t index = used_.load(std::memory_order_relaxed);
  if (index == kEntries) return nullptr;
  entries_[index].problem = wanted;
  slots_[slot] = static_cast<std::uint16_t>(index + 1);
  used_.store(index + 1, std::memory_order_release);
  return &entries_[index].calls;
}

void UntunedLog::write() noexcept {
  if (::getpid() != process_) return;
  const std::lock_guard lock(writing_);
  try {
    write_changes();
  } catch (const std::exception& error) {  // The log is a hint, so no program fails because of it.
    say(error.what());
  }
}

void UntunedLog::write_changes() {
  struct Change {
    Entry& entry;
    std::int64_t calls;
  };
  std::vector<Change> changes;
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i)
    if (const std::int64_t calls = entries_[i].calls.load(std::memory_order_relaxed);
        calls > entries_[i].written)
      changes.push_back({entries_[i], calls});
  if (changes.empty()) return;
  // Opening the store for writing would create a new file.
  if (!database_exists(database_)) return say(fmt::format("{} was deleted", database_.string()));
  Store store(database_, {.busy_timeout_ms = kBusyTimeoutMs});
  // Finds the device by its identity, because another file may have replaced the first one.
  const std::optional<RowId> device = store.find_device(device_);
  if (!device)
    return say(
        fmt::format("{} was replaced and has no data of {}", database_.string(), device_.name));
  Store::Transaction transaction(store);
  for (const Change& change : changes)
    store.log_untuned(*device, change.entry.problem, change.calls - change.entry.written);
  transaction.commit();
  for (const Change& change : changes) change.entry.written = change.calls;
}

void UntunedLog::say(std::string_view why) noexcept try {
  if (!std::exchange(said_, true))
    log_warning(fmt::format("problems without a tuned kernel are not counted: {}", why));
} catch (const std::exception&) {  // There is no memory for a message.
}

}  // namespace rooftile
