// Products that are larger than a device's buffers, as smaller ones.
#pragma once

#include <functional>
#include <vector>

#include "runtime/context.h"

namespace rooftile {

/// Calls that together, one after the other, do what this one does, each a problem that fits: parts
/// of the batch, of rows, of columns, and of the depth, whose later parts add to C. The longest
/// size is halved until all fit, at multiples of 64, so that matrices stay as aligned as they were.
/// Their pointers are into the call's operands; an array of batch pointers must live as long. The
/// call alone when it fits. Empty when it cannot be cut so far: depth is not cut where C would be
/// rounded between the parts (16-bit C) or is the residual, or where B is quantised; nor into more
/// than 1024 parts.
std::vector<GemmCall> panels(const GemmCall& call, const std::function<bool(const Problem&)>& fits);

}  // namespace rooftile
