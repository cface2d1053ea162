// Structures of the C ABI with the sizes that other versions of the header give them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rooftile/rooftile.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

namespace rooftile {

/// The first bytes of value, with zeros beyond it, directly before unmapped memory: a read or write
/// beyond the end crashes the test.
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

/// Sizes that this header and newer ones with up to three more fields give.
template <typename T>
std::vector<std::size_t> sizes_of_headers() {
  std::vector<std::size_t> sizes;
  for (std::size_t more = 0; more <= 3; ++more) sizes.push_back(sizeof(T) + more * alignof(T));
  return sizes;
}

/// Sizes that no header gives: below the smallest, or not a whole number of words. `least` is the
/// size of the structure in the first release that has it.
template <typename T>
std::vector<std::size_t> sizes_of_no_header(std::size_t least = sizeof(T)) {
  return {0, sizeof(void*), least - alignof(T), sizeof(T) - 1, sizeof(T) + 4, 4104};
}

/// Expects that call(structure), which returns a status, accepts the structure in the sizes of
/// headers, and refuses sizes that no header gives and unknown fields that are not zero.
template <typename T, typename Call>
void expect_sizes(const T& value, const Call& call, std::size_t least = sizeof(T)) {
  std::vector<std::size_t> sizes = sizes_of_headers<T>();
  sizes.push_back(least);
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(size);
    EXPECT_EQ(call(Resized(value, size).get()), ROOFTILE_OK) << rooftile_last_error();
  }
  std::vector<std::size_t> wrong_sizes = sizes_of_no_header<T>(least);
  wrong_sizes.push_back(std::numeric_limits<std::size_t>::max() - 7);
  for (const std::size_t size : wrong_sizes) {
    SCOPED_TRACE(size);
    T wrong = value;
    wrong.struct_size = size;
    EXPECT_EQ(call(&wrong), ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(),
                ::testing::HasSubstr("struct_size is " + std::to_string(size)));
  }
  const std::size_t last = sizeof(T) + 15;
  const Resized newer(value, last + 1);
  newer.bytes()[last] = std::byte{1};
  EXPECT_EQ(call(newer.get()), ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), ::testing::HasSubstr("at byte " + std::to_string(last)));
}

/// Size of rooftile_gemm_args in version 0.1.0, where it ends before alpha_f64.
inline constexpr std::size_t kGemmArgsOfFirstRelease = offsetof(rooftile_gemm_args, alpha_f64);
inline constexpr std::size_t kDecisionOfFirstRelease = offsetof(rooftile_decision, host64_ns);
inline constexpr std::size_t kEpilogueOfFirstRelease = offsetof(rooftile_epilogue, low_f64);

}  // namespace rooftile
