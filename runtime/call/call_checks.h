// Checks of a call that need its pointers, which validate() of a problem does not see: null
// pointers and overlapping matrices.
#pragma once

#include "generator/emit.h"
#include "runtime/call/call.h"

namespace rooftile {

/// Whether the problem has no elements of C, so that nothing is read or written.
inline bool is_empty(const Problem& p) { return p.m == 0 || p.n == 0 || p.batch == 0; }

/// Whether the values of operands can be read. If they can, the scales and zero points of a
/// quantised B are checked (runtime/call/scale_checks.h).
enum class Values : std::uint8_t { kReadable, kNotReadable };

/// Throws kInvalidArgument, naming the argument, for null pointers to operands that are used, for
/// matrices C that overlap each other or an input (blocks side by side in the rows of one matrix do
/// not overlap), and for epilogue operands that do not fit. The problem must have passed
/// validate().
void validate_call(const GemmCall& call, Values values = Values::kReadable);

/// Same as validate_call() for A or B alone, when that operand is to be packed.
void validate_operand(const GemmCall& call, Operand operand);

}  // namespace rooftile
