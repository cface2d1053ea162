// One turn of a kernel among others that are timed beside it.
#pragma once

#include "core/error.h"
#include "tuner/worker/measure.h"

namespace rooftile {

/// One sample of a kernel and its packing, whose operands rotate through rotate_bytes. Throws what
/// Measurer::time() throws, and kUnsupported for a kernel that would take longer than 4 s.
inline TimeReply one_turn(Measurer& measurer, const Variant& kernel, const Problem& p,
                          double rotate_bytes) {
  TimeReply reply = measurer.time({.variant = kernel,
                                   .problem = p,
                                   .samples = 1,
                                   .limit_ns = 4e9,
                                   .rotate_bytes = rotate_bytes});
  if (reply.kernel_ns.empty())
    fail(ErrorCode::kUnsupported, "would take {:.1f} s", reply.estimate_ns * 1e-9);
  return reply;
}

/// The time of kernel and packing of a turn, in ns.
inline double ns_of(const TimeReply& turn) { return turn.kernel_ns.front() + turn.pack_ns; }

}  // namespace rooftile
