#include "web/exchange/import_results.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/hash.h"
#include "core/numbers/statistics.h"
#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/version.h"

namespace rooftile::web {
namespace {

namespace fs = std::filesystem;

/// A folder of this user alone for the database from which rows are imported.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "rooftile-web.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      fail(ErrorCode::kIo, "cannot make a folder in {}", fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code unknown;
    fs::remove_all(path_, unknown);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

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

bool imported_before(const Store& store, const std::string& settings) {
  for (const auto& row : store.query("SELECT settings FROM runs").rows)
    if (row.at(0) == settings) return true;
  return false;
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
  if (imported_before(store, settings)) return {};
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "results.db";
  {
    Store theirs(file);
    const RowId device = theirs.device_id(results.device);
    Store::Transaction all(theirs);
    if (!results.figures.empty()) theirs.add_calibration(device, results.figures);
    const RowId run = theirs.begin_run(device, kGeneratorVersion, settings);
    for (const MeasuredProblem& measured : results.problems) add_problem(theirs, run, measured);
    theirs.end_run(run, "finished");
    all.commit();
  }
  return store.import_from(file);
}

}  // namespace rooftile::web
