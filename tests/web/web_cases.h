// What the kernels for WebGPU are tested with.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "generator/rules.h"
#include "generator/web/adapter.h"

namespace rooftile {

struct WebCase {
  Variant variant;
  Problem p;
  Placement at;
  // What is replaced in the text of its GEMM kernel, and by what: the result must be wrong then.
  std::pair<std::string, std::string> mutation = {};
};

/// A sample over families, types, transposes and epilogues: sizes that are no multiples of a tile,
/// padded rows, matrices that begin a few elements into their buffers, alpha and beta. Mutated
/// kernels follow. Cases that are not legal are left out, with a line on stderr.
std::vector<WebCase> web_cases(const DeviceLimits& limits);

}  // namespace rooftile
