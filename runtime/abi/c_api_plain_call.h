// Cheap conversion of the C ABI's arguments to a plain call. Most calls repeat an earlier one and
// need nothing more.
#pragma once

#include <rooftile/rooftile.h>

#include <optional>
#include <utility>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/call/plain_call.h"

namespace rooftile {

inline bool has_float64(const rooftile_sgemm_args&) { return false; }
inline bool has_float64(const rooftile_gemm_args& args) {
  return value_of(args.type) == static_cast<int>(ROOFTILE_F64);
}

inline double alpha_of(const rooftile_sgemm_args& args) { return args.alpha; }
inline double alpha_of(const rooftile_gemm_args& args) {
  return has_float64(args) ? args.alpha_f64 : args.alpha;
}
inline double beta_of(const rooftile_sgemm_args& args) { return args.beta; }
inline double beta_of(const rooftile_gemm_args& args) {
  return has_float64(args) ? args.beta_f64 : args.beta;
}

inline bool is_plain(const rooftile_sgemm_args&) { return true; }
inline bool is_plain(const rooftile_gemm_args& args) {
  const int type = value_of(args.type);
  const bool types = (type == static_cast<int>(ROOFTILE_F32) || has_float64(args)) &&
                     value_of(args.type_c) == type && args.f16_sums == 0;
  // checked_call() refuses the scalars of the other type.
  const bool other_scalars = has_float64(args) ? args.alpha != 0 || args.beta != 0
                                               : args.alpha_f64 != 0 || args.beta_f64 != 0;
  const bool arrays = args.a_array != nullptr || args.b_array != nullptr || args.c_array != nullptr;
  return types && !other_scalars && args.batch == 1 && !arrays && args.quantization == nullptr &&
         args.epilogue == nullptr;
}

/// Returns the arguments as a row-major call, without validation, or no value where only
/// checked_call() can decide. args may be null.
template <typename Args>
std::optional<PlainCall> plain_call(const Args* args) {
  if (args == nullptr || args->struct_size != sizeof *args) return std::nullopt;
  const int layout = value_of(args->layout), trans_a = value_of(args->trans_a),
            trans_b = value_of(args->trans_b);
  // Each of the three has two legal values, 0 and 1.
  const bool known = static_cast<unsigned>(layout | trans_a | trans_b) <= 1;
  const std::int64_t sizes = args->m | args->n | args->k | args->lda | args->ldb | args->ldc;
  if (!known || !is_plain_size(sizes) || !is_plain(*args) || args->guard != nullptr ||
      args->packed != nullptr || args->devices != 0 ||
      value_of(args->tier) != static_cast<int>(ROOFTILE_TIER_AUTO))
    return std::nullopt;
  const auto size = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
  PlainCall call = {.product = {.m = size(args->m),
                                .n = size(args->n),
                                .k = size(args->k),
                                .lda = size(args->lda),
                                .ldb = size(args->ldb),
                                .ldc = size(args->ldc),
                                .alpha = alpha_of(*args),
                                .beta = beta_of(*args),
                                .trans_a = static_cast<Transpose>(trans_a),
                                .trans_b = static_cast<Transpose>(trans_b),
                                .float64 = has_float64(*args)},
                    .a = args->a,
                    .b = args->b,
                    .c = args->c};
  if (layout == static_cast<int>(ROOFTILE_COLUMN_MAJOR)) {
    std::swap(call.product.m, call.product.n);
    std::swap(call.product.lda, call.product.ldb);
    std::swap(call.product.trans_a, call.product.trans_b);
    std::swap(call.a, call.b);
  }
  return call;
}

}  // namespace rooftile
