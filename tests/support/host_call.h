// The C ABI's structures for a Product.
#pragma once

#include "tests/support/problem_args.h"
#include "tests/support/product.h"

namespace rooftile {

/// A Product's problem in the C ABI's structures, without pointers to operands. Not movable.
struct ProblemArgs {
  rooftile_gemm_args args;
  rooftile_epilogue epilogue;
  rooftile_quantization quantization;

  explicit ProblemArgs(const Product& product) {
    const Problem& p = product.problem;
    args = problem_args(p);
    epilogue = epilogue_args(p);
    epilogue.ld_residual = product.ld_residual();
    epilogue.stride_residual = product.stride_residual();
    if (any(p.epilogue)) args.epilogue = &epilogue;
    if (!rooftile::quantized(p.types)) return;
    quantization = quantization_args(p);
    args.quantization = &quantization;
  }
  ProblemArgs(const ProblemArgs&) = delete;
  ProblemArgs& operator=(const ProblemArgs&) = delete;
};

/// The arguments of a call on host memory, for a Product, which they point into. Not movable.
struct HostCall : ProblemArgs {
  explicit HostCall(Product& product) : ProblemArgs(product) {
    const Epilogue& e = product.problem.epilogue;
    args.a = product.stored_a_elements.data();
    args.b = product.stored_b_elements.data();
    args.c = product.c_data();
    epilogue.row_scale = e.row_scale ? product.row_scale.data() : nullptr;
    epilogue.column_scale = e.column_scale ? product.column_scale.data() : nullptr;
    epilogue.bias = e.bias != Bias::kNone ? product.bias.data() : nullptr;
    epilogue.residual = e.residual ? product.residual.data() : nullptr;
    quantization.scales = product.quantization.scales.data();
    quantization.zero_points = product.quantization.zero_points.data();
  }
};

}  // namespace rooftile
