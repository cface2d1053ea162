#include "runtime/resident/row_binder.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/round.h"
#include "generator/emit_rows.h"

namespace rooftile {
namespace {

// Elements of a row operation have 4 bytes and are addressed by 32 bits.
constexpr std::int64_t kRowElementBytes = 4;
constexpr std::int64_t kMostElements = (std::int64_t{1} << 32) - 1;
// Of a device whose rates are not known: slow, so that work is rather cut than taken for hanging.
constexpr double kPessimisticNsPerByte = 1;
constexpr std::int64_t kMostGroups = 65535;

std::int64_t elements_of(const RowMatrices& x, const RowShape& shape) {
  if (shape.rows == 0 || shape.columns == 0) return 0;
  // Each factor is below 2^32, so that a float64 tells whether the exact sum fits.
  const double estimate = static_cast<double>(shape.batch - 1) * static_cast<double>(x.stride) +
                          static_cast<double>(shape.rows - 1) * static_cast<double>(x.ld) +
                          static_cast<double>(shape.columns);
  if (estimate > static_cast<double>(kMostElements))
    fail(ErrorCode::kUnsupported,
         "the matrices reach over {:.3g} elements; below 2^32 are possible", estimate);
  return (shape.batch - 1) * x.stride + (shape.rows - 1) * x.ld + shape.columns;
}

}  // namespace

ProductSteps RowOperation::steps() const {
  ProductSteps made;
  made.steps.emplace_back(step);
  made.gemms = 1;  // The step that takes the time.
  made.reads = reads;
  made.writes = writes;
  return made;
}

void check_row_size(const char* what, std::int64_t value, std::int64_t least) {
  if (value < least || value > kMostElements)
    fail(ErrorCode::kInvalidArgument, "{} is {}; it has to be at least {} and below 2^32", what,
         value, least);
}

std::uint32_t row_groups(std::int64_t count) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 1, kMostGroups));
}

std::uint32_t column_groups(std::int64_t columns) {
  return row_groups(divide_up(columns, kRowsLocalSize));
}

std::uint32_t RowBinder::write(const char* what, const RowMatrices& x, const RowShape& shape) {
  const std::uint32_t base = add({.what = what, .x = x, .written = true}, shape);
  if (shape.batch > 1 && x.stride < (shape.rows - 1) * x.ld + shape.columns)
    fail(ErrorCode::kInvalidArgument, "two result matrices of the batch overlap: the stride is {}",
         x.stride);
  return base;
}

std::uint32_t RowBinder::add(Operand operand, const RowShape& shape) {
  const RowMatrices& x = operand.x;
  check_row_size("an offset", x.offset, 0);
  if (x.memory == nullptr) fail(ErrorCode::kInvalidArgument, "{} has no buffer", operand.what);
  if (x.ld < shape.columns || x.ld > kMostElements)
    fail(ErrorCode::kInvalidArgument, "the leading dimension of {} is {}, but it has {} columns",
         operand.what, x.ld, shape.columns);
  if (x.stride < 0 || x.stride > kMostElements)
    fail(ErrorCode::kInvalidArgument, "the stride of {} is {}", operand.what, x.stride);
  const std::int64_t elements = elements_of(x, shape),
                     in_buffer = static_cast<std::int64_t>(x.memory->buffer.size_bytes() /
                                                           kRowElementBytes);
  if (elements > in_buffer || x.offset > in_buffer - elements)
    fail(ErrorCode::kInvalidArgument,
         "{} has {} elements from element {} on, but its buffer has {} bytes", operand.what,
         elements, x.offset, x.memory->buffer.size_bytes());
  if (elements == 0) {
    absent();
    return 0;
  }
  const auto begin = static_cast<std::uint64_t>(x.offset * kRowElementBytes),
             end = begin + static_cast<std::uint64_t>(elements * kRowElementBytes),
             bound = begin / binding_alignment(limits_) * binding_alignment(limits_);
  if (end - bound > limits_.max_storage_buffer_range_bytes)
    fail(ErrorCode::kUnsupported, "{} has {} bytes, but this device binds at most {}", operand.what,
         end - bound, limits_.max_storage_buffer_range_bytes);
  const Buffer* const buffer = &x.memory->buffer;
  made_.step.bindings.push_back({buffer, bound, end - bound});
  if (operand.written || stand_in_.buffer == nullptr) stand_in_ = made_.step.bindings.back();
  made_.uses.push_back(x.memory);
  made_.expected_ns += static_cast<double>(end - begin) * kPessimisticNsPerByte;
  operand.batch = shape.batch;
  operand.access = {buffer, begin, end};
  (operand.written ? made_.writes : made_.reads).push_back({buffer, bound, end});
  if (operand.written) made_.results.push_back(x.memory);
  operands_.push_back(std::move(operand));
  return static_cast<std::uint32_t>((begin - bound) / kRowElementBytes);
}

void RowBinder::check_apart(const Operand& x, const Operand& result) {
  const Access &a = x.access, &b = result.access;
  if (a.buffer != b.buffer || a.begin >= b.end || b.begin >= a.end) return;
  if (!x.by_element)
    fail(ErrorCode::kInvalidArgument, "{} overlaps {}; they have to lie apart", result.what,
         x.what);
  if (x.x.offset != result.x.offset || x.x.ld != result.x.ld ||
      (x.batch > 1 && x.x.stride != result.x.stride))
    fail(ErrorCode::kInvalidArgument,
         "the result overlaps an operand; it may only be the operand itself, with the same "
         "offset, leading dimension and stride");
}

RowOperation RowBinder::finish(std::shared_ptr<const Pipeline> pipeline,
                               std::vector<std::byte> push_constants,
                               const std::array<std::uint32_t, 3>& groups) {
  for (auto result = operands_.begin(); result != operands_.end(); ++result) {
    if (!result->written) continue;
    for (auto other = operands_.begin(); other != operands_.end(); ++other)
      // Two results are compared once.
      if (other < result || (other > result && !other->written)) check_apart(*other, *result);
  }
  for (BufferRange& binding : made_.step.bindings)
    if (binding.buffer == nullptr) binding = stand_in_;
  made_.pipeline = std::move(pipeline);
  made_.step.pipeline = made_.pipeline.get();
  made_.step.push_constants = std::move(push_constants);
  made_.step.groups = groups;
  return std::move(made_);
}

}  // namespace rooftile
