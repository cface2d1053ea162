#include "tuner/stored/stored_winner.h"

#include <algorithm>

#include "generator/version.h"

namespace rooftile {

std::optional<TunedKernel> stored_winner(const Store& store, CandidateRunner& runner, RowId device,
                                         const Problem& problem) {
  const std::vector<RankedKernel> all = store.winners(device);
  const auto first = std::ranges::find(
      all, problem, [](const RankedKernel& entry) { return entry.kernel.problem; });
  if (first == all.end()) return std::nullopt;
  const CandidateRecord& candidate = first->kernel.candidate;
  const bool usable = runner.id(candidate.variant, signature_of(problem)) == candidate.id &&
                      !runner.blocked(candidate.id) &&
                      store.certificate(device, candidate.id, kGeneratorVersion).value_or(false);
  return usable ? std::optional(first->kernel) : std::nullopt;
}

void keep_stored_winner(const Store& store, CandidateRunner& runner, const TunedKernel& stored,
                        std::vector<WinnerRecord>& list, const PairOptions& options) {
  const RowId id = stored.candidate.id;
  const auto challenging = store.candidate(list.front().candidate);
  if (list.front().candidate == id || !challenging) return;
  const double level = runner.level();
  const auto own = std::ranges::find(list, id, &WinnerRecord::candidate);
  const KernelComparison comparison = compare_kernels(
      runner, stored.problem, stored.candidate.variant, challenging->variant, options,
      {.stored_ns = own != list.end() ? level_free_ns(*own, level) : level_free_ns(stored, level),
       .challenger_ns = level_free_ns(list.front(), level)});
  const bool decided = comparison.verdict != PairedVerdict::kUndecided;
  if (decided) store_total(comparison.challenger, level, list.front());
  const bool failed = runner.blocked(id);
  std::erase_if(list, [&](const WinnerRecord& r) { return runner.rejected(r.candidate); });
  if (failed) return;
  WinnerRecord kept = {.candidate = id, .kernel_ns = stored.kernel_ns, .pack_ns = stored.pack_ns};
  if (decided) store_total(comparison.stored, level, kept);
  std::erase_if(list, [&](const WinnerRecord& r) { return r.candidate == id; });
  auto place = list.begin();
  if (comparison.verdict == PairedVerdict::kFaster)
    place = std::find_if(list.begin() + 1, list.end(), [&](const WinnerRecord& r) {
      return r.kernel_ns + r.pack_ns > kept.kernel_ns + kept.pack_ns;
    });
  list.insert(place, kept);
}

}  // namespace rooftile
