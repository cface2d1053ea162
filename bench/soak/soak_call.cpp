#include "soak_call.h"

#include <utility>

#include "core/quantized.h"

namespace rooftile {
namespace {

rooftile_transpose c_transpose(Transpose transpose) {
  return transpose == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
}

}  // namespace

SoakCall::SoakCall(const SoakCase& test, SoakOperands& operands, Pointers pointers) {
  const bool host = pointers == Pointers::kHost;
  const bool column = test.layout == Layout::kColumnMajor;
  const Problem p = column ? swapped_operands(test.problem) : test.problem;
  args = {.struct_size = sizeof args,
          .type = static_cast<rooftile_type>(p.types.a),
          .type_c = static_cast<rooftile_type>(p.types.c),
          .f16_sums = p.types.sums == Sums::kF16 ? 1 : 0,
          .layout = column ? ROOFTILE_COLUMN_MAJOR : ROOFTILE_ROW_MAJOR,
          .trans_a = c_transpose(p.trans_a),
          .trans_b = c_transpose(p.trans_b),
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .batch = p.batch,
          .alpha = is_float64(p.types) ? 0 : static_cast<float>(p.alpha),
          .beta = is_float64(p.types) ? 0 : static_cast<float>(p.beta),
          .lda = p.lda,
          .ldb = p.ldb,
          .ldc = p.ldc,
          .stride_a = p.stride_a,
          .stride_b = p.stride_b,
          .stride_c = p.stride_c,
          .tier = static_cast<rooftile_tier>(test.tier),
          .alpha_f64 = is_float64(p.types) ? p.alpha : 0,
          .beta_f64 = is_float64(p.types) ? p.beta : 0};
  if (host) set_operands(test, operands);
  if (any(p.epilogue)) set_epilogue(test, operands, host);
  if (quantized(p.types)) set_quantization(test, operands, host);
  if (test.accuracy != Accuracy::kDefault || test.scan || test.spots) {
    guard_ = {.struct_size = sizeof guard_,
              .precision = static_cast<rooftile_precision>(test.accuracy),
              .scan_range = test.scan ? 1 : 0,
              .check_spots = test.spots ? 1 : 0};
    args.guard = &guard_;
  }
  if (host && test.way == Way::kPointers) set_arrays(test);
  for (const Group& group : test.groups) {
    rows_.push_back(group.rows);
    experts_.push_back(group.expert);
  }
  groups = {.struct_size = sizeof groups,
            .count = static_cast<std::int64_t>(test.groups.size()),
            .experts = p.grouping.experts,
            .rows = rows_.data(),
            .experts_of_groups = experts_.data(),
            .stride_columns = operands.placement().expert_columns};
}

void SoakCall::set_operands(const SoakCase& test, SoakOperands& operands) {
  const Types& t = test.problem.types;
  const Placement& at = operands.placement();
  args.a = behind(operands.a.data(), t.a, at.offset_a);
  args.b = quantized(t) ? operands.b.data() : behind(operands.b.data(), t.a, at.offset_b);
  if (test.alias == Alias::kAB) args.b = args.a;
  args.c = behind(operands.c.data(), t.c, at.offset_c);
  if (test.alias == Alias::kCInA) args.c = const_cast<void*>(args.a);
  if (test.layout == Layout::kColumnMajor) std::swap(args.a, args.b);
}

void SoakCall::set_epilogue(const SoakCase& test, SoakOperands& operands, bool host) {
  const Epilogue& e = test.problem.epilogue;
  const Placement& at = operands.placement();
  const DataType type = epilogue_type(test.problem.types);
  const auto vector = [&](bool used, std::int64_t offset) {
    return host && used ? behind(operands.vectors.data(), type, offset) : nullptr;
  };
  const bool doubles = type == DataType::kF64;
  epilogue_ = {.struct_size = sizeof epilogue_,
               .row_scale = vector(e.row_scale, at.offset_row_scale),
               .column_scale = vector(e.column_scale, at.offset_column_scale),
               .bias_kind = static_cast<rooftile_bias>(e.bias),
               .bias = vector(e.bias != Bias::kNone, at.offset_bias),
               .activation = static_cast<rooftile_activation>(e.activation),
               .residual = host && e.residual ? operands.residual.data() : nullptr,
               .ld_residual = e.residual ? at.ld_residual : 0,
               .stride_residual = e.residual ? at.stride_residual : 0,
               .clamp = e.clamp ? 1 : 0,
               .low = doubles ? 0 : static_cast<float>(e.low),
               .high = doubles ? 0 : static_cast<float>(e.high),
               .low_f64 = doubles ? e.low : 0,
               .high_f64 = doubles ? e.high : 0};
  if (host && test.alias == Alias::kResidual) epilogue_.residual = args.c;
  if (test.layout == Layout::kColumnMajor) {
    std::swap(epilogue_.row_scale, epilogue_.column_scale);
    if (e.bias != Bias::kNone)
      epilogue_.bias_kind = e.bias == Bias::kRow ? ROOFTILE_BIAS_COLUMN : ROOFTILE_BIAS_ROW;
  }
  args.epilogue = &epilogue_;
}

void SoakCall::set_quantization(const SoakCase& test, SoakOperands& operands, bool host) {
  const Quantization& q = test.problem.types.b;
  const QuantizedBytes bytes = quantized_bytes(test.problem);
  quantization_ = {
      .struct_size = sizeof quantization_,
      .bits = q.bits,
      .block = q.block,
      .zero_point = static_cast<rooftile_zero_point>(q.zero_point),
      .values_bytes = static_cast<std::size_t>(bytes.values),
      .scales = host && bytes.scales > 0 ? operands.scales.data() : nullptr,
      .scales_bytes = static_cast<std::size_t>(bytes.scales),
      .zero_points = host && bytes.zero_points > 0 ? operands.zero_points.data() : nullptr,
      .zero_points_bytes = static_cast<std::size_t>(bytes.zero_points),
      .format = static_cast<std::int64_t>(q.format)};
  args.quantization = &quantization_;
}

void SoakCall::set_arrays(const SoakCase& test) {
  const Types& t = test.problem.types;
  const std::int64_t bytes_a = bytes_of(t.a), bytes_c = bytes_of(t.c);
  for (std::int64_t i = 0; i < args.batch; ++i) {
    a_array_.push_back(static_cast<const char*>(args.a) + i * args.stride_a * bytes_a);
    b_array_.push_back(static_cast<const char*>(args.b) + i * args.stride_b * bytes_a);
    c_array_.push_back(static_cast<char*>(args.c) + i * args.stride_c * bytes_c);
  }
  args.a_array = a_array_.data();
  args.b_array = b_array_.data();
  args.c_array = c_array_.data();
  args.a = args.b = nullptr;
  args.c = nullptr;
  args.stride_a = args.stride_b = args.stride_c = 0;
}

}  // namespace rooftile
