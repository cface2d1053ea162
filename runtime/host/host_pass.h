// A call whose epilogue or types no tuned kernel has, in two steps: a product that a tuned plain
// kernel computes, and one pass of the host over C for the rest (runtime/call/pass_over_c.h).
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/call/call.h"

namespace rooftile {

/// Not thread-safe. The call, and what it refers to, must outlive this.
class HostPass {
 public:
  /// types: those of the product, as for problem_before_host_pass(). Takes memory and reads no
  /// operand. Throws std::bad_alloc.
  HostPass(const GemmCall& call, const Types& types);

  /// What the kernel computes: into the call's C where only this pass reads that, else beside it.
  const GemmCall& product() const { return product_; }
  /// Widens operands; once, before product() is computed.
  void prepare();
  /// C of the call from the product's C, once.
  void finish();

 private:
  /// Memory for so many widened matrices; null where they are not read.
  std::unique_ptr<std::byte[]> place(const Extent& extent, std::int64_t count, std::int64_t& ld,
                                     std::int64_t& stride) const;
  void place_a();
  void place_b();
  void place_sums();
  template <typename Real>
  void widen_operands();
  template <typename Real>
  void make_c();

  const GemmCall& call_;
  GemmCall product_;
  bool prepared_ = false;
  // Operands without padding, in the type of the product's; null: as the call has them.
  std::unique_ptr<std::byte[]> wide_a_, wide_b_;
  std::unique_ptr<std::byte[]> sums_;  // C of the product; null: that is the C of the call
};

}  // namespace rooftile
