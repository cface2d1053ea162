// The shaders and dispatches of a kernel as the page runs them.
#pragma once

#include "generator/rules.h"
#include "web/engine/json_values.h"

namespace rooftile::web {

/// Returns {"programs": [{"role": "gemm", "glsl": text, "hash": text, "bindings": 3,
/// "parameter_bytes": 72}], "steps": [{"program": 0, "groups": [x, y, z], "buffers": ["a", "b",
/// "c"], "parameters": [words]}], "bytes": {"a": ..., "parts": ...}, "clear": false}.
/// - Buffers are bound in their order from binding 0; the parameters, words of 32 bits, are a
///   uniform buffer at the next binding.
/// - Steps run in their order; "clear": the partial sums are zeroed before.
/// - "bytes" has the least size of each buffer that is used.
/// Throws kUnsupported, with the reason, where the kernel cannot run the problem.
Json programs_of(const Variant& v, const DeviceLimits& limits, const Problem& p,
                 const Placement& placement);

}  // namespace rooftile::web
