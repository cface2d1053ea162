#include "tests/support/call_stacks.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <span>
#include <stdexcept>

namespace rooftile {

struct CallStacks::Shared {
  struct Slot {
    std::atomic<std::uint64_t> hash = 0;  // 0: the slot is free
    std::atomic<const void*> caller = nullptr;
  };
  std::array<Slot, kSlots> slots;
  std::atomic<bool> notes = false, walks_all = false;
  Stack awaited;
  std::atomic<bool> met = false;
  std::array<char, 4096> file = {};
};

namespace {

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

CallStacks::CallStacks() {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = new (memory) Shared;
  std::array<void*, 1> frame;
  ::backtrace(frame.data(), 1);  // Its first call loads a library.
}

CallStacks::~CallStacks() { ::munmap(shared_, sizeof(Shared)); }

void CallStacks::note_all() {
  shared_->awaited = {};
  shared_->notes = true;
}

std::vector<CallStacks::Stack> CallStacks::noted() const {
  std::vector<Stack> stacks;
  for (const Shared::Slot& slot : shared_->slots)
    if (slot.hash != 0) stacks.push_back({slot.hash, slot.caller});
  return stacks;
}

void CallStacks::wait_for(Stack stack, const std::string& file, Walk walk) {
  shared_->walks_all = walk == Walk::kAll;
  if (file.size() >= shared_->file.size()) throw std::length_error(file);
  shared_->file = {};
  std::ranges::copy(file, shared_->file.begin());
  shared_->notes = false;
  shared_->met = false;
  shared_->awaited = stack;
}

bool CallStacks::has_met() const { return shared_->met; }

bool CallStacks::meets(const void* caller) {
  if (!shared_->notes && !shared_->walks_all && caller != shared_->awaited.caller) return false;
  std::array<void*, kFrames> frames;
  const std::span<void* const> all(frames.data(),
                                   static_cast<std::size_t>(::backtrace(frames.data(), kFrames)));
  const auto first = std::ranges::find(all, caller);
  const std::span<void* const> stack = all.subspan(static_cast<std::size_t>(first - all.begin()));
  const std::uint64_t hash = hash_of(stack);
  if (!shared_->notes) {
    if (hash != shared_->awaited.hash) return false;
    if (shared_->met.exchange(true)) return false;
    const int file = ::open(shared_->file.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::backtrace_symbols_fd(stack.data(), static_cast<int>(stack.size()), file);
    ::close(file);
    return true;
  }
  for (std::size_t i = hash % kSlots, tried = 0; tried < kSlots; i = (i + 1) % kSlots, ++tried) {
    Shared::Slot& slot = shared_->slots[i];
    std::uint64_t held = 0;
    if (slot.hash.compare_exchange_strong(held, hash)) slot.caller = caller;
    if (held == 0 || held == hash) return false;
  }
  std::abort();  // More stacks than there is room for.
}

}  // namespace rooftile
