// Operands in pages of their own, so that importing an operand imports no other data.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>

#include "runtime/dispatch/context.h"
#include "tests/support/call_of.h"
#include "tests/support/product.h"

namespace rooftile {

inline constexpr std::size_t kPage = 4096;

/// Memory of whole pages. The page after the last byte is not mapped.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_((bytes + kPage - 1) / kPage * kPage),
        memory_(static_cast<char*>(::mmap(nullptr, bytes_ + kPage, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_EQ(::munmap(memory_ + bytes_, kPage), 0);
  }
  ~Pages() { ::munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  /// Copies the values to an offset in bytes from the start.
  char* put(const void* from, std::size_t bytes, std::size_t offset) {
    EXPECT_LE(offset + bytes, bytes_);
    std::memcpy(memory_ + offset, from, bytes);
    return memory_ + offset;
  }
  char* data() const { return memory_; }
  void forbid_writing() { EXPECT_EQ(::mprotect(memory_, bytes_, PROT_READ), 0); }

 private:
  std::size_t bytes_;
  char* memory_;
};

/// Offsets of operands from the start of a page, in bytes.
struct Offsets {
  std::size_t a = 0, b = 0, c = 0;
};

/// Operands of a Product, each in its own pages, which the destructor unmaps.
class InPages {
 public:
  explicit InPages(Product& product, const Offsets& at = {})
      : product_(product),
        bytes_c_(product.c.size() * static_cast<std::size_t>(bytes_of(product.problem.types.c))),
        a_(product.stored_a_elements.size() + at.a),
        b_(product.stored_b_elements.size() + at.b),
        c_(bytes_c_ + at.c),
        at_(at) {}

  GemmCall call(TierChoice tier) {
    GemmCall call = call_of(product_, tier);
    call.a = a_.put(call.a, product_.stored_a_elements.size(), at_.a);
    call.b = b_.put(call.b, product_.stored_b_elements.size(), at_.b);
    call.c = c_.put(call.c, bytes_c_, at_.c);
    return call;
  }
  char* c() const { return c_.data() + at_.c; }
  /// Copies C back into the Product.
  void take_c() const { std::memcpy(product_.c_data(), c(), bytes_c_); }

 private:
  Product& product_;
  std::size_t bytes_c_;
  Pages a_, b_, c_;
  Offsets at_;
};

}  // namespace rooftile
