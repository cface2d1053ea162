#include "web/exchange/import_results.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/numbers/statistics.h"
#include "formats/foreign_results.h"
#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/version.h"

namespace rooftile::web {
namespace {

/// Limits above those of any adapter: what is illegal with them is no kernel of a page.
DeviceLimits any_adapter() {
  DeviceLimits limits;
  limits.max_workgroup_invocations = 1024;
  limits.max_workgroup_size = {1024, 1024, 64};
  limits.shared_memory_bytes = 1 << 16;
  limits.max_storage_buffer_range_bytes = limits.max_memory_allocation_bytes = 1u << 31;
  limits.subgroup_broadcast = limits.float16_arithmetic = limits.int8_arithmetic = true;
  limits.integer_dot_product = limits.integer_dot_product_accelerated = true;
  limits.min_subgroup_size = 4;
  limits.max_subgroup_size = 128;
  limits.subgroup_size_control = true;
  return limits;
}

/// What identifies the results, whatever the file's name and its spaces.
std::string identity_of(const Results& results) {
  std::string text = results.device.device_uuid + results.device.pipeline_cache_uuid;
  for (const MeasuredProblem& measured : results.problems) {
    text += to_string(measured.problem);
    for (const MeasuredKernel& kernel : measured.kernels) {
      text += to_string(kernel.variant);
      for (const double ns : kernel.samples_ns) text += fmt::format(" {}", ns);
    }
  }
  return hash_hex(text);
}

void add_problem(Store& store, RowId run, const MeasuredProblem& measured) {
  const Problem& p = measured.problem;
  const Signature signature = signature_of(p);
  const DeviceLimits limits = any_adapter();
  const RowId problem = store.problem_id(p);
  for (const MeasuredKernel& kernel : measured.kernels) {
    if (kernel.samples_ns.empty() || illegal_reason(kernel.variant, limits, signature)) continue;
    const RowId candidate = store.candidate_id({.hash = emit_gemm(kernel.variant, signature).hash,
                                                .signature = to_string(signature),
                                                .variant = kernel.variant});
    store.add_sample({.run = run,
                      .candidate = candidate,
                      .problem = problem,
                      .kernel = summarize(kernel.samples_ns),
                      .detail = {}});
  }
}

}  // namespace

ImportReport import_results(Store& store, const Results& results) {
  const std::string settings =
      nlohmann::json{{"api", "webgpu"}, {"results", identity_of(results)}}.dump();
  return import_foreign(store, settings, [&](Store& theirs) {
    const RowId device = theirs.device_id(results.device);
    if (!results.figures.empty()) theirs.add_calibration(device, results.figures);
    const RowId run = theirs.begin_run(device, kGeneratorVersion, settings);
    for (const MeasuredProblem& measured : results.problems) add_problem(theirs, run, measured);
    theirs.end_run(run, "finished");
  });
}

}  // namespace rooftile::web
