// A call whose epilogue or types no kernel has, in two steps: a plain product, and one pass over C
// that does the rest. The host makes the pass for operands in its memory
// (runtime/host/host_pass.h), the device for operands that lie there: its kernel leaves the sums in
// a workspace (SumsIn::kWorkspace). Sums are float32, int32 of 8-bit integers or float64 of float64
// operands, so that C is rounded once. Float64 sums of other operands (widens_sums) always come
// this way, from widened operands or exact int32 sums.
#pragma once

#include <string_view>

#include "core/problem.h"
#include "runtime/model/calibration.h"

namespace rooftile {

/// Types of the product before a pass: the problem's operands, with C in the type of the sums.
Types types_before_pass(const Problem& p);

/// The product before the host's pass: packed, without epilogue, beta 0. types:
/// types_before_pass(), or Types{} or float64 where the host widens the operands.
Problem problem_before_host_pass(const Problem& p, const Types& types);
/// Whether the host widens A, or B, for a product of these types.
inline bool widens_a(const Problem& p, const Types& types) { return p.types.a != types.a; }
inline bool widens_b(const Problem& p, const Types& types) {
  return widens_a(p, types) || quantized(p.types) != quantized(types);
}
/// The operands that the host passes over around that product: "c", or "a, b and c" where it widens
/// operands.
std::string_view operands_of_host_pass(const Problem& p, const Types& types);
/// The problem that is to be tuned, or certified on demand, for calls of p: p itself or, where no
/// kernel has its sums, the product before the pass.
Problem tunable_problem(const Problem& p);
/// Bytes that the host reads and writes around the product: operands that are widened, and C.
double host_pass_bytes(const Problem& p, const Types& types);

/// The product before the device's pass: operands where they lie, C in a buffer of its own.
Problem problem_before_device_pass(const Problem& p);
/// Predicted time of the device's pass: a dispatch, and the bytes of the sums, C and the residual
/// at the measured bandwidth of the memory that holds them.
double device_pass_ns(const Problem& p, const DeviceRates& rates);

}  // namespace rooftile
