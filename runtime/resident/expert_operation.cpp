#include "runtime/resident/expert_operation.h"

#include <limits>
#include <utility>

#include "core/error.h"
#include "core/round.h"
#include "generator/emit_rows.h"
#include "runtime/device/push_constants.h"
#include "runtime/resident/loop_trips.h"
#include "runtime/resident/row_binder.h"

namespace rooftile {
namespace {

/// Numbers of rows are signed on the device: -1 names none.
void check_pairs(std::int64_t tokens, std::int64_t chosen) {
  check_row_size("tokens", tokens, 0);
  check_row_size("chosen", chosen, 1);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (tokens > kMost / chosen)
    fail(ErrorCode::kUnsupported,
         "{} tokens with {} experts each are too many: fewer than 2^31 pairs are possible", tokens,
         chosen);
}

void check_rows_of_x(std::int64_t rows_x) {
  check_row_size("rows_x", rows_x, 0);
  if (rows_x > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::kUnsupported, "x has {} rows; fewer than 2^31 are possible", rows_x);
}

IntegerList list(IntegerList x, std::int64_t count) {
  x.ld = count;
  return x;
}

/// Returns the base of the status word, and sets whether there is one.
std::uint32_t bind_status(RowBinder& binder, const IntegerList& status, std::uint32_t& has_status) {
  has_status = status.memory != nullptr ? 1 : 0;
  if (has_status == 1) return binder.write("status", list(status, 1), {1, 1});
  binder.absent();
  return 0;
}

}  // namespace

RowOperation row_operation(const TopKCall& call, std::shared_ptr<const Pipeline> top_k,
                           const DeviceLimits& limits) {
  check_row_size("rows", call.rows, 0);
  check_row_size("columns", call.columns, 1);
  if (call.chosen < 1 || call.chosen > kMostChosen || call.chosen > call.columns)
    fail(ErrorCode::kInvalidArgument,
         "chosen is {}; it has to be at least 1, at most {}, and at most the number of columns, {}",
         call.chosen, kMostChosen, call.columns);
  TopKPushConstants constants = {.rows = row_word(call.rows),
                                 .columns = row_word(call.columns),
                                 .chosen = row_word(call.chosen),
                                 .weights_of_all = call.weights_of_all ? 1u : 0u,
                                 .ld_x = row_word(call.x.ld),
                                 .ld_columns = row_word(call.chosen_columns.ld),
                                 .ld_weights = row_word(call.weights.ld)};
  RowBinder binder(limits);
  const RowShape chosen = {call.rows, call.chosen};
  constants.base_x = binder.read("x", call.x, {call.rows, call.columns});
  constants.base_columns = binder.write("experts", call.chosen_columns, chosen);
  constants.base_weights = binder.write("weights", call.weights, chosen);
  if (call.rows == 0) return {};
  const std::array<std::uint32_t, 3> groups = {row_groups(call.rows), 1, 1};
  const double pass = loop_of(divide_up(call.columns, kRowsLocalSize)) + loop_of(kRowsLocalSize);
  const double row_trips = loop_of(call.chosen, pass) + pass + 2 * loop_of(call.chosen);
  check_loop_trips("top_k", loop_of(divide_up(call.rows, groups[0]), row_trips), limits);
  return binder.finish(std::move(top_k), bytes_of_block(constants), groups);
}

RowOperation row_operation(const GroupTokensCall& call,
                           std::shared_ptr<const Pipeline> group_tokens,
                           const DeviceLimits& limits) {
  check_pairs(call.tokens, call.chosen);
  check_row_size("experts", call.experts, 1);
  if (call.experts > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::kUnsupported, "{} experts are too many; fewer than 2^31 are possible",
         call.experts);
  GroupTokensPushConstants constants = {.tokens = row_word(call.tokens),
                                        .chosen = row_word(call.chosen),
                                        .experts = row_word(call.experts),
                                        .ld_experts = row_word(call.experts_of_tokens.ld),
                                        .ld_places = row_word(call.places.ld)};
  RowBinder binder(limits);
  const RowShape pairs = {call.tokens, call.chosen};
  const std::int64_t count = call.tokens * call.chosen;
  constants.base_experts = binder.read("experts_of_tokens", call.experts_of_tokens, pairs);
  constants.base_sizes = binder.write("sizes", list(call.sizes, call.experts), {1, call.experts});
  constants.base_sources = binder.write("sources", list(call.sources, count), {1, count});
  constants.base_places = binder.write("places", call.places, pairs);
  constants.base_status = bind_status(binder, call.status, constants.has_status);
  const std::array<std::uint32_t, 3> groups = {row_groups(call.experts + 1), 1, 1};
  const double expert_trips =
      2 * loop_of(divide_up(count, kRowsLocalSize)) + loop_of(kRowsLocalSize);
  check_loop_trips("group_tokens", loop_of(divide_up(call.experts + 1, groups[0]), expert_trips),
                   limits);
  RowOperation made = binder.finish(std::move(group_tokens), bytes_of_block(constants), groups);
  // Each expert's workgroup passes over all pairs; the operands' bytes count one pass.
  made.expected_ns += static_cast<double>(call.experts) * static_cast<double>(count);
  return made;
}

RowOperation row_operation(const GatherCall& call, std::shared_ptr<const Pipeline> gather,
                           const DeviceLimits& limits) {
  check_row_size("rows", call.rows, 0);
  check_row_size("columns", call.columns, 0);
  check_rows_of_x(call.rows_x);
  GatherPushConstants constants = {.rows = row_word(call.rows),
                                   .columns = row_word(call.columns),
                                   .rows_x = row_word(call.rows_x),
                                   .ld_x = row_word(call.x.ld),
                                   .ld_y = row_word(call.y.ld)};
  RowBinder binder(limits);
  constants.base_x = binder.read("x", call.x, {call.rows_x, call.columns});
  constants.base_sources = binder.read("sources", list(call.sources, call.rows), {1, call.rows});
  constants.base_y = binder.write("y", call.y, {call.rows, call.columns});
  constants.base_status = bind_status(binder, call.status, constants.has_status);
  if (call.status.memory == nullptr && (call.rows == 0 || call.columns == 0)) return {};
  const std::array<std::uint32_t, 3> groups = {column_groups(call.columns), row_groups(call.rows),
                                               1};
  check_loop_trips("gather",
                   loop_of(divide_up(call.rows, groups[1]),
                           loop_of(divide_up(call.columns, groups[0] * kRowsLocalSize))) +
                       loop_of(divide_up(call.rows, kRowsLocalSize)),
                   limits);
  return binder.finish(std::move(gather), bytes_of_block(constants), groups);
}

RowOperation row_operation(const CombineCall& call, std::shared_ptr<const Pipeline> combine,
                           const DeviceLimits& limits) {
  check_pairs(call.tokens, call.chosen);
  check_row_size("columns", call.columns, 0);
  check_rows_of_x(call.rows_x);
  CombinePushConstants constants = {.tokens = row_word(call.tokens),
                                    .columns = row_word(call.columns),
                                    .chosen = row_word(call.chosen),
                                    .rows_x = row_word(call.rows_x),
                                    .ld_x = row_word(call.x.ld),
                                    .ld_places = row_word(call.places.ld),
                                    .ld_weights = row_word(call.weights.ld),
                                    .ld_residual = row_word(call.residual.ld),
                                    .ld_y = row_word(call.y.ld),
                                    .has_residual = call.residual.memory != nullptr ? 1u : 0u};
  RowBinder binder(limits);
  const RowShape pairs = {call.tokens, call.chosen}, result = {call.tokens, call.columns};
  constants.base_x = binder.read("x", call.x, {call.rows_x, call.columns});
  constants.base_places = binder.read("places", call.places, pairs);
  constants.base_weights = binder.read("weights", call.weights, pairs);
  if (constants.has_residual == 1)
    constants.base_residual = binder.read_by_element("residual", call.residual, result);
  else
    binder.absent();
  constants.base_y = binder.write("y", call.y, result);
  constants.base_status = bind_status(binder, call.status, constants.has_status);
  if (call.status.memory == nullptr && (call.tokens == 0 || call.columns == 0)) return {};
  const std::array<std::uint32_t, 3> groups = {column_groups(call.columns), row_groups(call.tokens),
                                               1};
  check_loop_trips(
      "combine",
      loop_of(divide_up(call.tokens, groups[1]),
              loop_of(divide_up(call.columns, groups[0] * kRowsLocalSize), loop_of(call.chosen))) +
          loop_of(divide_up(call.tokens * call.chosen, kRowsLocalSize)),
      limits);
  return binder.finish(std::move(combine), bytes_of_block(constants), groups);
}

}  // namespace rooftile
