// Checks of the scales and zero points of a quantised B in host memory.
#pragma once

#include "core/quantized.h"

namespace rooftile {

/// Throws kInvalidArgument, naming block and row, for
///   - a scale or a float zero point that is NaN;
///   - beside a float16 A, a block in which a value of so many bits could stand for a weight beyond
///     largest_weight(): kernels may turn weights into float16 before they multiply. What counts is
///     the block's own zero point, not the values that are there, which are not read.
/// Values are not read, and packed zero points only where a scale needs them.
void check_scales(const Problem& p, const QuantizedOperand& b);

}  // namespace rooftile
