#include "tests/support/call_stacks.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <span>
#include <stdexcept>

namespace rooftile {

struct CallStacks::Shared {
  std::array<std::atomic<std::uint64_t>, kSlots> hashes;  // of the stacks that were tried; 0: free
  std::atomic<std::size_t> tried = 0;
  std::atomic<bool> met = true;
  std::uint32_t one_in = 1;
  std::array<char, 4096> file = {};
};

namespace {

constexpr std::uint32_t kSmallSample = 100;  // One stack in as many.
constexpr std::uint32_t kCallers = 10;       // Of a small sample one caller in as many counts.

// FNV-1a over the addresses. Never 0.
std::uint64_t hash_of(std::span<void* const> frames) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const void* frame : frames) {
    hash ^= reinterpret_cast<std::uintptr_t>(frame);
    hash *= 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash | 1;
}

}  // namespace

CallStacks::CallStacks(std::uint32_t one_in) {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = new (memory) Shared;
  shared_->one_in = one_in;
  std::array<void*, 1> frame;
  ::backtrace(frame.data(), 1);  // Its first call loads a library.
}

CallStacks::~CallStacks() { ::munmap(shared_, sizeof(Shared)); }

void CallStacks::try_next(const std::string& file) {
  if (file.size() >= shared_->file.size()) throw std::length_error(file);
  shared_->file = {};
  std::ranges::copy(file, shared_->file.begin());
  shared_->met = false;
}

bool CallStacks::has_met() const { return shared_->met; }

std::size_t CallStacks::tried() const { return shared_->tried; }

bool CallStacks::meets(const void* caller) {
  if (shared_->met) return false;
  // To walk the stack takes most of the time of these tests, so that most moments of a small sample
  // are left out by their caller alone.
  const std::uint32_t one_caller_in = shared_->one_in < kSmallSample ? 1 : kCallers;
  void* const address = const_cast<void*>(caller);
  if ((hash_of({&address, 1}) >> 32) % one_caller_in != 0) return false;
  std::array<void*, kFrames> frames;
  const std::span<void* const> all(frames.data(),
                                   static_cast<std::size_t>(::backtrace(frames.data(), kFrames)));
  const auto first = std::ranges::find(all, caller);
  const std::span<void* const> stack = all.subspan(static_cast<std::size_t>(first - all.begin()));
  const std::uint64_t hash = hash_of(stack);
  if ((hash >> 32) % (shared_->one_in / one_caller_in) != 0) return false;
  std::size_t slot = hash % kSlots;
  for (; shared_->hashes[slot] != 0; slot = (slot + 1) % kSlots)
    if (shared_->hashes[slot] == hash) return false;
  if (shared_->met.exchange(true)) return false;
  shared_->hashes[slot] = hash;  // No other thread writes before the next try_next().
  if (++shared_->tried == kSlots) std::abort();  // More stacks than there is room for.
  const int file = ::open(shared_->file.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ::backtrace_symbols_fd(stack.data(), static_cast<int>(stack.size()), file);
  ::close(file);
  return true;
}

}  // namespace rooftile
