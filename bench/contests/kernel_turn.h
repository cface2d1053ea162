// One turn of a kernel among others that are timed beside it.
#pragma once

#include "core/error.h"
#include "tuner/worker/measure.h"

namespace rooftile {

/// Time of the kernel and its packing in ns, of one sample whose operands rotate through
/// rotate_bytes. Throws what Measurer::time() throws, and kUnsupported for a kernel that would take
/// longer than 4 s.
inline double turn_ns(Measurer& measurer, const Variant& kernel, const Problem& p,
                      double rotate_bytes) {
  const TimeReply reply = measurer.time({.variant = kernel,
                                         .problem = p,
                                         .samples = 1,
                                         .limit_ns = 4e9,
                                         .rotate_bytes = rotate_bytes});
  if (reply.kernel_ns.empty())
    fail(ErrorCode::kUnsupported, "would take {:.1f} s", reply.estimate_ns * 1e-9);
  return reply.kernel_ns.front() + reply.pack_ns;
}

}  // namespace rooftile
