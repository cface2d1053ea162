#include "tuner/stored/refresh.h"

#include <algorithm>

#include "core/clock.h"
#include "tuner/measure/cut_limit.h"
#include "tuner/stored/kernel_state.h"
#include "tuner/stored/ranked_list.h"
#include "tuner/stored/stored_winner.h"
#include "tuner/worker/candidate_runner.h"

namespace rooftile {
namespace {

constexpr int kRefreshSamples = 3;
// Of the first kernel; those after it are cut as in the search.
constexpr double kFirstLimitNs = 10e9;

struct KernelList {
  Problem problem;
  std::vector<RankedKernel> entries;  // Sorted by rank.
};

std::vector<KernelList> ranked_problems(const Store& store, RowId device) {
  std::vector<KernelList> problems;
  for (RankedKernel& entry : store.winners(device)) {
    const Problem& problem = entry.kernel.problem;
    auto known = std::ranges::find(problems, problem, &KernelList::problem);
    if (known == problems.end()) known = problems.insert(problems.end(), {problem, {}});
    known->entries.push_back(std::move(entry));
  }
  return problems;
}

/// `elsewhere`: the list belongs to another row, so that nothing of it is dispatched here,
/// certified or not.
void add_if_stale(std::vector<StaleList>& lists, const KernelList& ranked,
                  const KernelStates& states, bool elsewhere) {
  StaleList list{.problem = ranked.problem, .kernels = {}};
  bool stale = elsewhere;
  for (const RankedKernel& entry : ranked.entries) {
    const KernelState state = states.of(entry.kernel.candidate, signature_of(ranked.problem));
    if (state == KernelState::kUnusable) continue;
    stale = stale || state == KernelState::kStale;
    const Variant& variant = entry.kernel.candidate.variant;
    if (std::ranges::find(list.kernels, variant) == list.kernels.end())
      list.kernels.push_back(variant);
  }
  if (!stale || list.kernels.empty()) return;
  keep_ends(list.kernels);
  lists.push_back(std::move(list));
}

}  // namespace

std::vector<StaleList> stale_lists(Store& store, const DeviceProfile& device, RowId device_row) {
  const KernelStates states(store, device, device_row);
  std::vector<StaleList> lists;
  std::vector<KernelList> known = ranked_problems(store, device_row);
  for (const KernelList& ranked : known) add_if_stale(lists, ranked, states, false);
  for (const NearDevice& other : store.nearest_devices(device_row)) {
    if (other.nearness > Nearness::kSameProduct) break;
    if (other.device == device_row) continue;
    for (KernelList& ranked : ranked_problems(store, other.device)) {
      if (std::ranges::find(known, ranked.problem, &KernelList::problem) != known.end()) continue;
      add_if_stale(lists, ranked, states, true);
      known.push_back(std::move(ranked));
    }
  }
  return lists;
}

RefreshReport refresh(Store& store, CandidateRunner& runner, RowId device_row,
                      const std::vector<StaleList>& lists, const RefreshOptions& options) {
  RefreshReport report{.stale = lists.size()};
  const double start_s = now_s();
  for (const StaleList& list : lists) {
    if (options.over()) break;
    if (options.progress) options.progress(list.problem);
    const Signature signature = signature_of(list.problem);
    const auto stored = stored_winner(store, runner, device_row, list.problem);
    std::vector<WinnerRecord> records;
    double limit_ns = kFirstLimitNs;
    for (const Variant& variant : list.kernels) {
      if (options.over() || !runner.certified(variant, signature)) continue;
      const auto reply = runner.time(
          variant, list.problem,
          {.samples = kRefreshSamples, .limit_ns = limit_ns, .purpose = SamplePurpose::kRefresh});
      if (!reply) continue;
      records.push_back({.candidate = runner.id(variant, signature),
                         .kernel_ns = summarize(reply->kernel_ns).median_ns,
                         .pack_ns = reply->pack_ns});
      limit_ns = std::min(limit_ns, cut_limit_ns(records.back().kernel_ns + reply->pack_ns));
    }
    if (records.empty()) continue;
    std::ranges::stable_sort(
        records, {}, [](const WinnerRecord& record) { return record.kernel_ns + record.pack_ns; });
    if (stored)
      keep_stored_winner(
          store, runner, *stored, records,
          {.samples = kRefreshSamples, .purpose = SamplePurpose::kRefresh, .over = options.over});
    if (records.empty()) continue;
    store_ranked(store, device_row, list.problem, records);
    if (const auto winner = store.candidate(records.front().candidate); winner && !options.over())
      runner.count(winner->variant, list.problem, records.front().kernel_ns);
    ++report.refreshed;
  }
  report.elapsed_s = now_s() - start_s;
  return report;
}

}  // namespace rooftile
