#include "runtime/resident/row_operation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/round.h"
#include "generator/emit_rows.h"
#include "runtime/device/push_constants.h"
#include "runtime/resident/loop_trips.h"

namespace rooftile {
namespace {

void check_sizes(const RowShape& shape) {
  check_row_size("rows", shape.rows, 0);
  check_row_size("columns", shape.columns, 0);
  check_row_size("batch", shape.batch, 1);
}

}  // namespace

RowOperation row_operation(const SoftmaxCall& call, std::shared_ptr<const Pipeline> softmax,
                           const DeviceLimits& limits) {
  const RowShape shape = {call.rows, call.columns, call.batch};
  check_sizes(shape);
  SoftmaxPushConstants constants = {.rows = row_word(call.rows),
                                    .columns = row_word(call.columns),
                                    .batch = row_word(call.batch),
                                    .ld_x = row_word(call.x.ld),
                                    .stride_x = row_word(call.x.stride),
                                    .ld_y = row_word(call.y.ld),
                                    .stride_y = row_word(call.y.stride),
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
  RowBinder binder(limits);
  constants.base_x = binder.read_by_element("x", call.x, shape);
  constants.base_y = binder.write("y", call.y, shape);
  if (call.rows == 0 || call.columns == 0) return {};
  const std::array<std::uint32_t, 3> groups = {row_groups(call.rows), 1, row_groups(call.batch)};
  const double row_trips =
      2 * (loop_of(divide_up(call.columns, kRowsLocalSize)) + loop_of(kRowsLocalSize));
  check_loop_trips("softmax",
                   loop_of(divide_up(call.batch, groups[2]),
                           loop_of(divide_up(call.rows, groups[0]), row_trips)),
                   limits);
  return binder.finish(std::move(softmax), bytes_of_block(constants), groups);
}

RowOperation row_operation(const MultiplyCall& call, std::shared_ptr<const Pipeline> multiply,
                           const DeviceLimits& limits) {
  const RowShape shape = {call.rows, call.columns, 1};
  check_sizes(shape);
  MultiplyPushConstants constants = {.rows = row_word(call.rows),
                                     .columns = row_word(call.columns),
                                     .ld_x = row_word(call.x.ld),
                                     .ld_y = row_word(call.y.ld),
                                     .ld_z = row_word(call.z.ld)};
  RowBinder binder(limits);
  constants.base_x = binder.read_by_element("x", call.x, shape);
  constants.base_y = binder.read_by_element("y", call.y, shape);
  constants.base_z = binder.write("z", call.z, shape);
  if (call.rows == 0 || call.columns == 0) return {};
  const std::array<std::uint32_t, 3> groups = {column_groups(call.columns), row_groups(call.rows),
                                               1};
  check_loop_trips("multiply",
                   loop_of(divide_up(call.rows, groups[1]),
                           loop_of(divide_up(call.columns, groups[0] * kRowsLocalSize))),
                   limits);
  return binder.finish(std::move(multiply), bytes_of_block(constants), groups);
}

std::shared_ptr<const Pipeline> compiled(Device& device, const Shader& shader,
                                         const ShaderCache& cache) {
  return std::make_shared<Pipeline>(device.create_pipeline(cache.spirv(shader), shader.interface));
}

}  // namespace rooftile
