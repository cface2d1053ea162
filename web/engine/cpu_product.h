// The product on the processor that the page compares with: one thread, vectors of WebAssembly.
#pragma once

namespace rooftile::web {

/// Multiplies random m x k and k x n matrices of float32 and returns a sum over the result, so that
/// no part of the work can be left out. The operands of the last sizes are kept.
float cpu_product(int m, int n, int k);

}  // namespace rooftile::web
