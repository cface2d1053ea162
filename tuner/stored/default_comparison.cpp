#include "tuner/stored/default_comparison.h"

#include <algorithm>

namespace rooftile {

Standing compare_with_default(const Store& store, CandidateRunner& runner, const Problem& problem,
                              std::optional<RowId> default_candidate,
                              std::vector<WinnerRecord>& list, const PairOptions& options) {
  if (!default_candidate || runner.blocked(*default_candidate))
    return {.verdict = OutcomeVerdict::kFaster, .confidence = {}};
  if (runner.rejected(*default_candidate)) return {};  // Unverified: it may yet be compared.
  if (list.front().candidate == *default_candidate)
    return {.verdict = OutcomeVerdict::kDefault, .confidence = {}};
  const auto own = std::ranges::find(list, *default_candidate, &WinnerRecord::candidate);
  const auto first = store.candidate(list.front().candidate),
             second = store.candidate(*default_candidate);
  if (own == list.end() || !first || !second) return {};
  const double level = runner.level();
  const KernelComparison comparison =
      compare_kernels(runner, problem, second->variant, first->variant, options,
                      {.stored_ns = level_free_ns(*own, level),
                       .challenger_ns = level_free_ns(list.front(), level)});
  const bool decided = comparison.verdict != PairedVerdict::kUndecided;
  if (decided) {
    store_total(comparison.challenger, runner.level(), list.front());
    store_total(comparison.stored, runner.level(), *own);
  }
  const bool default_first = decided ? comparison.verdict == PairedVerdict::kNotFaster
                                     : 2 * comparison.faster_pairs < comparison.pairs;
  if (default_first) std::rotate(list.begin(), own, own + 1);
  std::erase_if(list, [&](const WinnerRecord& r) { return runner.rejected(r.candidate); });
  if (runner.rejected(*default_candidate))
    return {.verdict = OutcomeVerdict::kFaster, .confidence = {}};
  if (list.empty()) return {};
  if (list.front().candidate == *default_candidate)
    return {.verdict = decided ? OutcomeVerdict::kDefault : OutcomeVerdict::kOpen,
            .confidence = {}};
  if (list.front().candidate != runner.id(first->variant, signature_of(problem)))
    return {};  // The compared kernel failed, and the next one was not compared.
  return {.verdict = decided ? OutcomeVerdict::kFaster : OutcomeVerdict::kOpen,
          .confidence = decided ? std::optional(kPairedConfidence)
                                : sign_confidence(comparison.faster_pairs, comparison.pairs)};
}

}  // namespace rooftile
