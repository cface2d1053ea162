// Division of calls that exceed a device's buffers into slices.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
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

/// What is divided: the rows or the columns of C, or the matrices of a batch.
enum class CutAlong : std::uint8_t { kRows, kColumns, kBatch };
std::string_view name(CutAlong along);  // "rows", "columns", "matrices"
/// Length of what is divided.
std::int64_t length(const Problem& p, CutAlong along);
/// Ranges begin at multiples of this: matrices keep their alignment.
std::int64_t cut_grain(CutAlong along);
/// Returns the call for this range of the rows, the columns or the batch. Rows and columns are
/// those of a call with one matrix. Calls of disjoint ranges write disjoint parts of C, so that
/// they may run at the same time.
GemmCall range_of(const GemmCall& call, CutAlong along, std::int64_t begin, std::int64_t size);
/// Returns the call for this range of k, of a call with one matrix. It adds to C where the range
/// begins later than k, and has the epilogue where the range ends with k.
GemmCall range_of_k(const GemmCall& call, std::int64_t begin, std::int64_t size);

}  // namespace rooftile
