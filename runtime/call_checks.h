// What validate() of a problem cannot see: pointers, and which of a call's matrices overlap.
#pragma once

#include "generator/emit.h"
#include "runtime/context.h"

namespace rooftile {

/// Nothing is read or written.
inline bool is_empty(const Problem& p) { return p.m == 0 || p.n == 0 || p.batch == 0; }

/// Whether operands can be looked at: the scales and zero points of a quantised B are checked then
/// (runtime/scale_checks.h).
enum class Values : std::uint8_t { kReadable, kNotReadable };

/// Throws kInvalidArgument, naming the argument, for null pointers that count, for matrices C that
/// overlap each other or what is read (blocks side by side in the rows of one matrix do not), and
/// for epilogue operands that do not fit. The problem itself has passed validate().
void validate_call(const GemmCall& call, Values values = Values::kReadable);

/// The same for A or B alone: that of a call whose operand is to be packed.
void validate_operand(const GemmCall& call, Operand operand);

}  // namespace rooftile
