#include "formats/t4_import.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/error.h"
#include "formats/foreign_results.h"
#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/version.h"

namespace rooftile {
namespace {

constexpr std::size_t kRanked = 8;  // Kernels of a problem in its ranked list.

/// The kernels of a file as rows of one database.
class Rows {
 public:
  Rows(Store& store, const T4Results& file) : store_(store), file_(file) {
    for (const Problem& p : file.problems) problems_.push_back(store.problem_id(p));
  }

  /// Adds the results of one device, and returns how many of them are of illegal kernels.
  std::size_t add(std::size_t device, const std::string& settings) {
    const RowId row = store_.device_id(file_.devices[device]);
    const RowId run = store_.begin_run(row, kGeneratorVersion, settings);
    std::size_t illegal = 0;
    Best best;
    for (const T4Result& result : file_.results) {
      if (result.device != device) continue;
      const std::optional<RowId> candidate = candidate_of(result);
      if (!candidate) {
        ++illegal;
        continue;
      }
      SampleRecord sample = result.sample;
      sample.run = run;
      sample.candidate = *candidate;
      sample.problem = problems_[result.problem];
      store_.add_sample(sample);
      if (sample.status != SampleStatus::kMeasured) continue;
      const auto [entry, is_new] = best[result.problem].try_emplace(*candidate, sample);
      if (!is_new && total_ns(sample) < total_ns(entry->second)) entry->second = sample;
    }
    store_.end_run(run, "finished");
    rank(row, best);
    return illegal;
  }

 private:
  using Best = std::map<std::size_t, std::map<RowId, SampleRecord>>;  // by problem and candidate

  static double total_ns(const SampleRecord& s) { return s.kernel.median_ns + s.pack_ns; }

  /// Nothing for a kernel that the device cannot run. The problem's strides do not count: rows are
  /// padded to whole vectors where they are measured.
  std::optional<RowId> candidate_of(const T4Result& result) {
    const Signature signature = signature_of(file_.problems[result.problem]);
    const auto [known, is_new] =
        candidates_.try_emplace({result.device, to_string(signature), to_string(result.variant)});
    if (!is_new) return known->second;
    if (illegal_reason(result.variant, file_.devices[result.device].limits, signature))
      return std::nullopt;
    known->second = store_.candidate_id({.hash = emit_gemm(result.variant, signature).hash,
                                         .signature = to_string(signature),
                                         .variant = result.variant});
    return known->second;
  }

  /// Stores the fastest kernels of each problem; problems of one bucket share a list.
  void rank(RowId device, const Best& best) {
    std::map<std::string, std::vector<WinnerRecord>> lists;
    for (const auto& [problem, kernels] : best) {
      std::vector<SampleRecord> order;
      for (const auto& [candidate, sample] : kernels) order.push_back(sample);
      std::ranges::stable_sort(order, {}, total_ns);
      order.resize(std::min(order.size(), kRanked));
      std::vector<WinnerRecord>& list = lists[to_string(bucket_of(file_.problems[problem]))];
      for (const SampleRecord& sample : order)
        list.push_back({.candidate = sample.candidate,
                        .problem = sample.problem,
                        .rank = static_cast<int>(list.size()),
                        .kernel_ns = sample.kernel.median_ns,
                        .pack_ns = sample.pack_ns});
    }
    for (const auto& [bucket, list] : lists) store_.put_winners(device, bucket, list);
  }

  Store& store_;
  const T4Results& file_;
  std::vector<RowId> problems_;
  std::map<std::tuple<std::size_t, std::string, std::string>, std::optional<RowId>> candidates_;
};

}  // namespace

T4Import import_t4(Store& store, const T4Results& results) {
  T4Import import;
  import.own = !results.origin.empty() && results.origin == store.origin();
  if (import.own) return import;
  const std::string settings =
      nlohmann::json{{"format", "T4"}, {"results", results.identity}}.dump();
  import.added = import_foreign(store, settings, [&](Store& theirs) {
    Rows rows(theirs, results);
  for (std::size_t device = 0; device < results.devices.size(); ++device)
    import.illegal += rows.add(device, settings);
});
return import;
}  // namespace rooftile

}  // namespace rooftile
