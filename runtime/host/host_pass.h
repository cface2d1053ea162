// A call whose epilogue or types no tuned kernel has, in two steps: a product that a tuned plain
// kernel computes, and one pass of the host over C for the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "generator/signature.h"
#include "runtime/call/call.h"

namespace rooftile {

/// Types in which a plain kernel (no epilogue) computes this problem's sums to the problem's own
/// error bound: its operands as they are with sums in float32 or int32, else widened to float32.
/// The first of the two for whose problem_before_pass() `is_tuned` holds; nothing if it holds for
/// neither.
std::optional<Types> types_before_pass(const Problem& p,
                                       const std::function<bool(const Problem&)>& is_tuned);

/// The same sizes and scalars for that kernel: packed, without epilogue, beta 0.
Problem problem_before_pass(const Problem& p, const Types& types);

/// What the host passes over around that kernel: "c", or "a, b and c" where it widens operands.
std::string_view operands_of_pass(const Problem& p, const Types& types);

/// Bytes that the host reads and writes around the product: operands that are widened, and C.
double host_pass_bytes(const Problem& p, const Types& types);

/// Not thread-safe. The call, and what it refers to, must outlive this.
class HostPass {
 public:
  /// types: of types_before_pass. Takes memory and reads no operand. Throws std::bad_alloc.
  HostPass(const GemmCall& call, const Types& types);

  /// What the kernel computes: into the call's C where only this pass reads that, else beside it.
  const GemmCall& product() const { return product_; }
  /// Widens operands; once, before product() is computed.
  void prepare();
  /// C of the call from the product's C, once.
  void finish();

 private:
  void place_a();
  void place_b();
  void place_sums();

  const GemmCall& call_;
  GemmCall product_;
  bool prepared_ = false;
  std::unique_ptr<float[]> wide_a_, wide_b_;  // null: as the call has them
  std::unique_ptr<float[]> sums_;             // int32 for 8-bit operands; null: the call's C
};

}  // namespace rooftile
