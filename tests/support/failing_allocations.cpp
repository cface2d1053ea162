#include "tests/support/failing_allocations.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

// The linker's: where this program's code begins and ends.
extern "C" const char __executable_start, etext;

namespace rooftile {
namespace {

constexpr long kNever = std::numeric_limits<long>::max();
thread_local long left_of_thread = kNever;  // allocations before one fails
std::atomic<bool> counts_all = false;
std::atomic<long> left_of_all = kNever, live_blocks = 0, first_left = 0;
std::atomic<bool> failed = false;
std::atomic<bool (*)(const void*)> chooses = nullptr;

/// The file that holds the code, "" for the program's own; null for what was compiled at run time.
/// dladdr() would also look for the code's name, which took most of the time of these tests.
const char* file_of(const void* code) {
  dl_find_object found;
  return ::_dl_find_object(const_cast<void*>(code), &found) == 0 ? found.dlfo_link_map->l_name
                                                                 : nullptr;
}

/// Whether the code is a Vulkan driver's, or its compiler's. What a driver does where it has no
/// memory is not ours to test: lavapipe's LLVM throws through the loader, whose lock stays closed.
bool is_of_a_driver(const void* code) {
  const char* const file = file_of(code);
  if (file == nullptr) return true;
  for (const char* name : {"libvulkan", "libLLVM", "vk_swiftshader"})
    if (std::strstr(file, name) != nullptr) return true;
  return false;
}

/// Whether an allocation that returns to `caller` was made by a driver, by itself or in a function
/// of the standard library.
bool made_by_a_driver(const void* caller) {
  static const void* const begin = &__executable_start;
  static const void* const end = &etext;
  if (caller >= begin && caller < end) return false;
  std::array<void*, 32> frames;
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const auto last = frames.begin() + count;
  for (auto frame = std::find(frames.begin(), last, caller); frame != last; ++frame) {
    const char* const file = file_of(*frame);
    if (file == nullptr || std::strstr(file, "libstdc++") == nullptr) return is_of_a_driver(*frame);
  }
  return false;
}

bool fails_now(const void* caller) {
  if (const auto fails = chooses.load()) return fails(caller);
  if (left_of_thread != kNever && !made_by_a_driver(caller) && left_of_thread-- == 0) {
    left_of_thread = kNever;
    return true;
  }
  return counts_all && left_of_all-- == 0;
}

/// For operator new, which returns to `caller`.
void* allocate(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (fails_now(caller)) {
    failed = true;
    throw std::bad_alloc();
  }
  const std::size_t rounded =
      (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  ++live_blocks;
  return memory;
}

void* allocate_or_null(std::size_t bytes, std::size_t alignment, const void* caller) noexcept try {
  return allocate(bytes, alignment, caller);
} catch (const std::bad_alloc&) {
  return nullptr;
}

// Where this is inlined and allocate() is not, g++ takes the pair for a mistake.
[[gnu::noinline]] void release(void* memory) noexcept {
  if (memory != nullptr) --live_blocks;
  std::free(memory);
}

}  // namespace

void FailingAllocations::fail_at(long n, Of whose) {
  heal();
  failed = false;
  if (whose == Of::kThisThread) {
    left_of_thread = n;
  } else {
    first_left = n;
    left_of_all = n;
    counts_all = true;
  }
}

void FailingAllocations::heal() {
  left_of_thread = kNever;
  counts_all = false;
  chooses = nullptr;
}

void FailingAllocations::fail_where(bool (*fails)(const void* caller)) {
  heal();
  failed = false;
  chooses = fails;
}

long FailingAllocations::calls() { return first_left - left_of_all; }
bool FailingAllocations::has_failed() { return failed; }
long FailingAllocations::live() { return live_blocks; }

}  // namespace rooftile

void* operator new(std::size_t bytes) {
  return rooftile::allocate(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes) {
  return rooftile::allocate(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return rooftile::allocate(bytes, static_cast<std::size_t>(alignment),
                            __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return rooftile::allocate(bytes, static_cast<std::size_t>(alignment),
                            __builtin_return_address(0));
}
// A sanitizer has its own of these, which would not count.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return rooftile::allocate_or_null(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return rooftile::allocate_or_null(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { rooftile::release(memory); }
void operator delete[](void* memory) noexcept { rooftile::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { rooftile::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { rooftile::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { rooftile::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { rooftile::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  rooftile::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  rooftile::release(memory);
}
