// Structures of the C ABI as programs have them whose header gives them another size.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

namespace rooftile {

/// The first bytes of value, zeroes beyond it, and memory that ends there: one byte more that is
/// read or written ends the test.
template <typename T>
class Resized {
 public:
  Resized(const T& value, std::size_t size) : size_(size) {
    pages_ = ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages_ == MAP_FAILED ||
        ::mprotect(static_cast<std::byte*>(pages_) + kPage, kPage, PROT_NONE) != 0)
      throw std::bad_alloc();
    std::memcpy(bytes(), &value, std::min(size, sizeof value));
    std::memcpy(bytes(), &size, sizeof size);
  }
  ~Resized() { ::munmap(pages_, 2 * kPage); }
  Resized(const Resized&) = delete;
  Resized& operator=(const Resized&) = delete;

  std::byte* bytes() const { return static_cast<std::byte*>(pages_) + kPage - size_; }
  T* get() const { return reinterpret_cast<T*>(bytes()); }

 private:
  static constexpr std::size_t kPage = 4096;
  std::size_t size_;
  void* pages_;
};

/// From a structure that ends before the first field that an older header may lack, to one with
/// three fields more than this one.
template <typename T>
std::vector<std::size_t> sizes_from(std::size_t least) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = least; size <= sizeof(T) + 24; size += alignof(T)) sizes.push_back(size);
  return sizes;
}

/// Those that no header gives: less than the least, or no whole number of words.
template <typename T>
std::vector<std::size_t> sizes_of_no_header(std::size_t least) {
  return {0, sizeof(void*), least - alignof(T), sizeof(T) - 1, sizeof(T) + 4, 4104};
}

}  // namespace rooftile
