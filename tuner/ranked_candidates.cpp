#include "tuner/ranked_candidates.h"

#include <algorithm>
#include <tuple>

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
  for (const Variant& variant : {options.default_kernel, fallback_variant()}) {
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
    const auto& [samples, prepacked] = std::tie(candidate->samples_ns, candidate->prepacked_ns);
    double kernel_ns = median(samples.empty() ? prepacked : samples), pack_ns = candidate->pack_ns;
    // Kernel and packing add up to the time of a call. With operands that were packed before, the
    // kernel may take longer than in a call that packs, but not longer than all of that call: such
    // a time was disturbed.
    if (!samples.empty() && !prepacked.empty() && median(prepacked) < kernel_ns + pack_ns) {
      pack_ns += kernel_ns - median(prepacked);
      kernel_ns = median(prepacked);
    }
    records.push_back({.candidate = runner.id(candidate->variant, search.signature()),
                       .kernel_ns = level * kernel_ns,
                       .pack_ns = level * pack_ns});
  }
  return records;
}

}  // namespace rooftile
