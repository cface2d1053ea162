#include "runtime/resident/row_operation.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "generator/emit_rows.h"
#include "runtime/device/push_constants.h"

namespace rooftile {
namespace {

// Elements of a row operation are addressed by 32 bits.
constexpr std::int64_t kMostElements = (std::int64_t{1} << 32) - 1;
// Of a device whose rates are not known: slow, so that work is rather cut than taken for hanging.
constexpr double kPessimisticNsPerByte = 1;
constexpr std::uint32_t kMostGroups = 65535;  // Every Vulkan device allows as many.

void check_size(const char* what, std::int64_t value, std::int64_t least) {
  if (value < least || value > kMostElements)
    fail(ErrorCode::kInvalidArgument, "{} is {}; it has to be at least {} and below 2^32", what,
         value, least);
}

/// Matrices of one size in the buffers of one operation.
class Binder {
 public:
  Binder(std::int64_t rows, std::int64_t columns, std::int64_t batch, const DeviceLimits& limits)
      : rows_(rows), columns_(columns), batch_(batch), limits_(limits) {
    check_size("rows", rows, 0);
    check_size("columns", columns, 0);
    check_size("batch", batch, 1);
  }

  bool empty() const { return rows_ == 0 || columns_ == 0; }

  /// Adds the next binding, and returns the elements from its start to the first matrix.
  std::uint32_t add(const char* what, const RowMatrices& x) {
    check_size("an offset", x.offset, 0);
    if (x.memory == nullptr) fail(ErrorCode::kInvalidArgument, "{} has no buffer", what);
    if (x.ld < columns_ || x.ld > kMostElements)
      fail(ErrorCode::kInvalidArgument, "the leading dimension of {} is {}, but it has {} columns",
           what, x.ld, columns_);
    if (x.stride < 0 || x.stride > kMostElements)
      fail(ErrorCode::kInvalidArgument, "the stride of {} is {}", what, x.stride);
    const std::int64_t elements = span(x);
    const std::uint64_t size = x.memory->buffer.size_bytes();
    if (elements > static_cast<std::int64_t>(size / sizeof(float)) ||
        x.offset > static_cast<std::int64_t>(size / sizeof(float)) - elements)
      fail(ErrorCode::kInvalidArgument,
           "{} has {} elements from element {} on, but its buffer has {} bytes", what, elements,
           x.offset, size);
    const std::uint64_t begin = static_cast<std::uint64_t>(x.offset) * sizeof(float),
                        end = begin + static_cast<std::uint64_t>(elements) * sizeof(float),
                        bound = begin / binding_alignment(limits_) * binding_alignment(limits_);
    if (end - bound > limits_.max_storage_buffer_range_bytes)
      fail(ErrorCode::kUnsupported, "{} has {} bytes, but this device binds at most {}", what,
           end - bound, limits_.max_storage_buffer_range_bytes);
    const Buffer* const buffer = &x.memory->buffer;
    made_.step.bindings.push_back({buffer, bound, end - bound});
    made_.reads.push_back({buffer, begin, end});
    made_.uses.push_back(x.memory);
    made_.expected_ns += static_cast<double>(end - begin) * kPessimisticNsPerByte;
    return static_cast<std::uint32_t>((begin - bound) / sizeof(float));
  }

  /// The matrix that was added last is the result.
  RowOperation finish(const RowMatrices& result, std::span<const RowMatrices* const> operands) {
    if (batch_ > 1 && result.stride < (rows_ - 1) * result.ld + columns_)
      fail(ErrorCode::kInvalidArgument,
           "two result matrices of the batch overlap: the stride is {}", result.stride);
    made_.written = made_.reads.back();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Access &read = made_.reads[i], &written = made_.written;
      const bool meet =
          read.buffer == written.buffer && read.begin < written.end && written.begin < read.end;
      const RowMatrices& x = *operands[i];
      const bool same = x.offset == result.offset && x.ld == result.ld &&
                        (batch_ == 1 || x.stride == result.stride);
      if (meet && !same)
        fail(ErrorCode::kInvalidArgument,
             "the result overlaps an operand; it may only be the operand itself, with the same "
             "offset, leading dimension and stride");
    }
    made_.reads.pop_back();
    made_.result = result.memory;
    return std::move(made_);
  }

 private:
  std::int64_t span(const RowMatrices& x) const {
    if (empty()) return 0;
    // Each factor is below 2^32, so that a float64 tells whether the exact sum fits.
    const double estimate = static_cast<double>(batch_ - 1) * static_cast<double>(x.stride) +
                            static_cast<double>(rows_ - 1) * static_cast<double>(x.ld) +
                            static_cast<double>(columns_);
    if (estimate > static_cast<double>(kMostElements))
      fail(ErrorCode::kUnsupported,
           "the matrices reach over {:.3g} elements; below 2^32 are possible", estimate);
    return (batch_ - 1) * x.stride + (rows_ - 1) * x.ld + columns_;
  }

  const std::int64_t rows_, columns_, batch_;
  const DeviceLimits& limits_;
  RowOperation made_;
};

std::uint32_t groups(std::int64_t count) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 1, kMostGroups));
}

std::uint32_t number(std::int64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

ProductSteps RowOperation::steps() const {
  ProductSteps made;
  made.steps.emplace_back(step);
  made.gemms = 1;  // The step that takes the time.
  made.reads = reads;
  made.writes = {written};
  return made;
}

RowOperation softmax_operation(const SoftmaxCall& call, std::shared_ptr<const Pipeline> softmax,
                               const DeviceLimits& limits) {
  Binder binder(call.rows, call.columns, call.batch, limits);
  SoftmaxPushConstants constants = {.rows = number(call.rows),
                                    .columns = number(call.columns),
                                    .batch = number(call.batch),
                                    .ld_x = number(call.x.ld),
                                    .stride_x = number(call.x.stride),
                                    .ld_y = number(call.y.ld),
                                    .stride_y = number(call.y.stride),
                                    .scale = call.scale};
  // A row uses from none to all columns, so the limits need not be larger than the matrix.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (call.rows > kMost / 2 || call.columns > kMost / 2)
    fail(ErrorCode::kUnsupported, "a softmax of {} x {} elements is too large: at most 2^30 each",
         call.rows, call.columns);
  constants.first_columns = static_cast<std::int32_t>(
      call.causal ? std::clamp(call.causal_offset, -call.rows - 1, call.columns) + 1
                  : call.columns);
  constants.columns_per_row = call.causal ? 1 : 0;
  constants.base_x = binder.add("x", call.x);
  constants.base_y = binder.add("y", call.y);
  const RowMatrices* const operands[] = {&call.x};
  RowOperation made = binder.finish(call.y, operands);
  if (binder.empty()) return {};
  made.pipeline = std::move(softmax);
  made.step.pipeline = made.pipeline.get();
  made.step.push_constants = bytes_of_block(constants);
  made.step.groups = {groups(call.rows), 1, groups(call.batch)};
  return made;
}

RowOperation multiply_operation(const MultiplyCall& call, std::shared_ptr<const Pipeline> multiply,
                                const DeviceLimits& limits) {
  Binder binder(call.rows, call.columns, 1, limits);
  MultiplyPushConstants constants = {.rows = number(call.rows),
                                     .columns = number(call.columns),
                                     .ld_x = number(call.x.ld),
                                     .ld_y = number(call.y.ld),
                                     .ld_z = number(call.z.ld)};
  constants.base_x = binder.add("x", call.x);
  constants.base_y = binder.add("y", call.y);
  constants.base_z = binder.add("z", call.z);
  const RowMatrices* const operands[] = {&call.x, &call.y};
  RowOperation made = binder.finish(call.z, operands);
  if (binder.empty()) return {};
  made.pipeline = std::move(multiply);
  made.step.pipeline = made.pipeline.get();
  made.step.push_constants = bytes_of_block(constants);
  made.step.groups = {groups((call.columns + kRowsLocalSize - 1) / kRowsLocalSize),
                      groups(call.rows), 1};
  return made;
}

}  // namespace rooftile
