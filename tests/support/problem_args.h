// Conversion of a problem into the C ABI's structures, without operands.
#pragma once

#include <rooftile/rooftile.h>

#include <utility>

#include "core/quantized.h"

namespace rooftile {

inline rooftile_transpose c_transpose(Transpose transpose) {
  return transpose == Transpose::kYes ? ROOFTILE_TRANSPOSE : ROOFTILE_NO_TRANSPOSE;
}

inline rooftile_gemm_args problem_args(const Problem& p) {
  return {.struct_size = sizeof(rooftile_gemm_args),
          .type = static_cast<rooftile_type>(p.types.a),
          .type_c = static_cast<rooftile_type>(p.types.c),
          .f16_sums = p.types.sums == Sums::kF16 ? 1 : 0,
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
          .alpha_f64 = is_float64(p.types) ? p.alpha : 0,
          .beta_f64 = is_float64(p.types) ? p.beta : 0};
}

/// The same product in column-major order: C^T = op(B)^T op(A)^T has the same memory with A and B,
/// and m and n, exchanged.
inline rooftile_gemm_args column_major(rooftile_gemm_args args) {
  args.layout = ROOFTILE_COLUMN_MAJOR;
  std::swap(args.trans_a, args.trans_b);
  std::swap(args.m, args.n);
  std::swap(args.a, args.b);
  std::swap(args.lda, args.ldb);
  std::swap(args.stride_a, args.stride_b);
  return args;
}
inline rooftile_sgemm_args column_major(rooftile_sgemm_args args) {
  args.layout = ROOFTILE_COLUMN_MAJOR;
  std::swap(args.trans_a, args.trans_b);
  std::swap(args.m, args.n);
  std::swap(args.a, args.b);
  std::swap(args.lda, args.ldb);
  return args;
}

inline rooftile_epilogue epilogue_args(const Problem& p) {
  const Epilogue& e = p.epilogue;
  const bool doubles = is_float64(p.types);
  return {.struct_size = sizeof(rooftile_epilogue),
          .bias_kind = static_cast<rooftile_bias>(e.bias),
          .activation = static_cast<rooftile_activation>(e.activation),
          .clamp = e.clamp ? 1 : 0,
          .low = doubles ? 0 : static_cast<float>(e.low),
          .high = doubles ? 0 : static_cast<float>(e.high),
          .low_f64 = doubles ? e.low : 0,
          .high_f64 = doubles ? e.high : 0};
}

inline rooftile_quantization quantization_args(const Problem& p) {
  const QuantizedBytes bytes = quantized_bytes(p);
  return {.struct_size = sizeof(rooftile_quantization),
          .bits = p.types.b.bits,
          .block = p.types.b.block,
          .zero_point = static_cast<rooftile_zero_point>(p.types.b.zero_point),
          .values_bytes = static_cast<std::size_t>(bytes.values),
          .scales_bytes = static_cast<std::size_t>(bytes.scales),
          .zero_points_bytes = static_cast<std::size_t>(bytes.zero_points),
          .format = static_cast<std::int64_t>(p.types.b.format)};
}

}  // namespace rooftile
