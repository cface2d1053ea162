#include "runtime/execute/staged_operand.h"

#include <algorithm>

#include "runtime/support/copy_bytes.h"

namespace rooftile {

StagedEpilogue::StagedEpilogue(const DeviceLink& link, const GemmCall& call, const Placement& at) {
  const Problem& p = call.problem;
  const EpilogueElements elements = epilogue_elements(p);
  const auto stage = [&](std::int64_t count, std::unique_ptr<DeviceInput>& buffer) {
    if (count > 0)
      buffer = std::make_unique<DeviceInput>(
          link, std::max<std::uint64_t>(16, static_cast<std::uint64_t>(epilogue_bytes(p, count))));
  };
  stage(elements.vectors, vectors_);
  stage(elements.residual, residual_);
  const auto copy = [&](const void* vector, std::int64_t count, std::int64_t offset) {
    copy_bytes(vector, static_cast<char*>(vectors_->host()) + epilogue_bytes(p, offset),
               static_cast<std::uint64_t>(epilogue_bytes(p, count)));
  };
  const Epilogue& e = p.epilogue;
  if (e.row_scale) copy(call.epilogue.row_scale, p.m, at.offset_row_scale);
  if (e.column_scale) copy(call.epilogue.column_scale, p.n, at.offset_column_scale);
  if (e.bias != Bias::kNone)
    copy(call.epilogue.bias, e.bias == Bias::kRow ? p.m : p.n, at.offset_bias);
  for (std::int64_t i = 0; e.residual && i < p.batch; ++i)
    copy_matrix({p.m, p.n}, epilogue_type(p.types), call.residual_of(i), call.epilogue.ld_residual,
                static_cast<char*>(residual_->host()) + epilogue_bytes(p, i * at.stride_residual),
                at.ld_residual);
}

StagedQuantization::StagedQuantization(const DeviceLink& link, const GemmCall& call,
                                       const Problem& staged, const DeviceInput* b) {
  if (!quantized(staged.types)) return;
  const bool reads = staged.k > 0;
  const QuantizedBytes bytes = quantized_bytes(call.problem);
  const StagedBytes sizes = staged_bytes(call.problem);
  if (reads) copy_bytes(call.b, b->host(), static_cast<std::uint64_t>(bytes.values));
  if (!has_separate_scales(staged.types)) return;
  const auto stage = [&](std::uint64_t size, const void* from, std::int64_t used) {
    auto buffer = std::make_unique<DeviceInput>(link, size);
    if (reads) copy_bytes(from, buffer->host(), static_cast<std::uint64_t>(used));
    return buffer;
  };
  scales_ = stage(std::max<std::uint64_t>(sizes.scales, 16), call.scales, bytes.scales);
  if (staged.types.b.zero_point != ZeroPoint::kMiddle)
    zero_points_ =
        stage(std::max<std::uint64_t>(sizes.zero_points, 16), call.zero_points, bytes.zero_points);
}

}  // namespace rooftile
