// Division of calls that exceed a device's buffers into slices.
#pragma once

#include <functional>
#include <vector>

#include "runtime/call/call.h"

namespace rooftile {

/// Returns calls that together, one after the other, compute this call, each a problem that fits:
/// slices of the batch, of rows, of columns, and of the depth k, where later slices add to C. The
/// longest dimension is halved until all slices fit, at multiples of 64 so that the matrices keep
/// their alignment. Pointers of the slices point into the call's operands, and an array of batch
/// pointers must live as long as the slices.
///
/// Returns the call alone when it fits. Returns an empty vector when it cannot be sliced far
/// enough: k is not sliced where C would be rounded between slices (16-bit C), where C is the
/// residual, or where B is quantised; and there are at most 1024 slices.
std::vector<GemmCall> slices(const GemmCall& call, const std::function<bool(const Problem&)>& fits);

}  // namespace rooftile
