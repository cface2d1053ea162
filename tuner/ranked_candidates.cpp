#include "tuner/ranked_candidates.h"

#include <algorithm>

#include "generator/space.h"

namespace rooftile {

std::vector<const Candidate*> ranked_candidates(
    const Search& search, const RankedCandidatesOptions& options,
    const std::function<bool(const Variant&)>& certified) {
  std::vector<const Candidate*> list;
  for (const Candidate* candidate : search.preferred()) {
    if (list.size() >= options.most) break;
    if (certified(candidate->variant)) list.push_back(candidate);
  }
  if (!options.others) return list;
  for (const Operand operand : {Operand::kA, Operand::kB}) {
    for (const Candidate* candidate : search.preferred_prepacked(operand)) {
      if (std::ranges::find(list, candidate) != list.end()) break;
      if (!certified(candidate->variant)) continue;
      list.push_back(candidate);
      break;
    }
  }
  for (const Variant& variant : {options.default_variant, fallback_variant()}) {
    const Candidate* candidate = search.find(variant);
    if (candidate == nullptr || candidate->samples_ns.empty()) continue;
    if (std::ranges::find(list, candidate) != list.end()) continue;
    if (certified(variant)) list.push_back(candidate);
  }
  return list;
}

std::vector<WinnerRecord> winner_records(const Search& search,
                                         const std::vector<const Candidate*>& list) {
  CandidateRunner& runner = search.context().runner;
  const double level = runner.level();
  std::vector<WinnerRecord> records;
  for (const Candidate* candidate : list) {
    const double kernel_ns =
        median(candidate->prepacked_ns.empty() ? candidate->samples_ns : candidate->prepacked_ns);
    // What packing adds to a call, beside the kernel's time where operands were packed before.
    const double pack_ns = candidate->prepacked_ns.empty() || candidate->samples_ns.empty()
                               ? candidate->pack_ns
                               : std::max(0.0, candidate->total_ns() - kernel_ns);
    records.push_back({.candidate = runner.id(candidate->variant, search.signature()),
                       .kernel_ns = level * kernel_ns,
                       .pack_ns = level * pack_ns});
  }
  return records;
}

}  // namespace rooftile
