// Conversion of a Product into the runtime's C++ call.
#pragma once

#include "runtime/dispatch/context.h"
#include "tests/support/product.h"

namespace rooftile {

inline GemmCall call_of(Product& product, TierChoice tier = TierChoice::kAuto) {
  return {.problem = product.problem,
          .a = product.stored_a_elements.data(),
          .b = product.stored_b_elements.data(),
          .c = product.c_data(),
          .epilogue = {.row_scale = product.row_scale.data(),
                       .column_scale = product.column_scale.data(),
                       .bias = product.bias.data(),
                       .residual = product.residual.data(),
                       .ld_residual = product.ld_residual(),
                       .stride_residual = product.stride_residual()},
          .scales = product.quantization.scales.data(),
          .zero_points = product.quantization.zero_points.data(),
          .tier = tier};
}

}  // namespace rooftile
