#include "tuner/problem_tuner.h"

#include <algorithm>

#include "core/clock.h"
#include "core/statistics.h"
#include "generator/space.h"
#include "runtime/model/roofline.h"
#include "tuner/host_yardstick.h"
#include "tuner/ranked_list.h"
#include "tuner/search.h"

namespace rooftile {
namespace {

constexpr std::size_t kRanked = 3;  // certified kernels in a list, default and fallback besides
// Of a problem's slice: when each ends; certificates follow. The search for calls with a packed
// operand, and its finals, are left out where packing hardly counts.
constexpr double kSearchShare = 0.5, kPrepackedShare = 0.6, kSuspectsShare = 0.65,
                 kPrepackedFinalsShare = 0.7, kFinalsShare = 0.8;
constexpr double kHostShare = 0.1;  // of the slice, at most, for the BLAS yardstick

/// Certified kernels, best first; behind them the best one for an operand that is packed before, if
/// it is another; default and fallback last.
std::vector<const Candidate*> ranked_list(const ProblemTunerContext& context, const Search& search,
                                          const Signature& signature) {
  std::vector<const Candidate*> list;
  for (const Candidate* candidate : search.preferred()) {
    if (list.size() >= kRanked) break;
    if (context.runner.certified(candidate->variant, signature)) list.push_back(candidate);
  }
  for (const Operand operand : {Operand::kA, Operand::kB}) {
    for (const Candidate* candidate : search.preferred_prepacked(operand)) {
      if (std::ranges::find(list, candidate) != list.end()) break;
      if (!context.runner.certified(candidate->variant, signature)) continue;
      list.push_back(candidate);
      break;
    }
  }
  for (const Variant& variant : {default_variant(context.device), fallback_variant()}) {
    const Candidate* candidate = search.find(variant);
    if (candidate == nullptr || candidate->samples_ns.empty()) continue;
    if (std::ranges::find(list, candidate) != list.end()) continue;
    if (context.runner.certified(variant, signature)) list.push_back(candidate);
  }
  return list;
}

void store_list(const ProblemTunerContext& context, RowId device_row, const Problem& problem,
                const std::vector<const Candidate*>& list) {
  const double level = context.runner.level();  // a caller pays what it takes now
  std::vector<WinnerRecord> records;
  for (const Candidate* candidate : list)
    records.push_back({.candidate = context.runner.id(candidate->variant, signature_of(problem)),
                       .kernel_ns = level * median(candidate->samples_ns),
                       .pack_ns = level * candidate->pack_ns});
  store_ranked(context.store, device_row, problem, records);
}

/// 0 when it was not measured.
double time_of(const Search& search, const Variant& variant) {
  const Candidate* candidate = search.find(variant);
  return candidate != nullptr && !candidate->samples_ns.empty() ? candidate->total_ns() : 0.0;
}

}  // namespace

TuneResult tune_problem(const ProblemTunerContext& context, RowId device_row,
                        const Problem& problem, double slice_s) {
  const double start_s = now_s();
  const std::size_t measured = context.runner.measured(), failures = context.runner.failures(),
                    spilled = context.runner.spilled();
  TuneResult result{.problem = problem, .bound_ns = problem_bound_ns(problem, context.rates)};
  if (!context.runner.fits(problem)) return result;
  result.host_ns = measure_host_ns(problem, kHostShare * slice_s);
  context.runner.begin_problem();
  Search search(context, device_row, problem);
  search.run(start_s + kSearchShare * slice_s);
  const bool prepacked = search.packing_matters();
  const bool cut_short = now_s() >= start_s + kSearchShare * slice_s;
  if (prepacked)
    search.run(start_s + kPrepackedShare * slice_s, Objective::kPrepacked);
  else if (cut_short)
    search.run(start_s + kPrepackedShare * slice_s);
  search.try_suspects(start_s + kSuspectsShare * slice_s);
  if (prepacked) search.finals(start_s + kPrepackedFinalsShare * slice_s, Objective::kPrepacked);
  search.finals(start_s + kFinalsShare * slice_s);
  TuneProgress progress{.phase = TunePhase::kCertifying, .problem = to_string(problem)};
  context.progress(progress);
  const auto list = ranked_list(context, search, signature_of(problem));
  if (!list.empty()) {
    store_list(context, device_row, problem, list);
    result.winner = short_name(list.front()->variant);
    result.kernel_ns = context.runner.level() * median(list.front()->samples_ns);
    result.pack_ns = context.runner.level() * list.front()->pack_ns;
    if (!context.over()) context.runner.count(list.front()->variant, problem, result.kernel_ns);
  }
  result.default_ns = context.runner.level() * time_of(search, default_variant(context.device));
  result.naive_ns = context.runner.level() * time_of(search, fallback_variant());
  result.measured = context.runner.measured() - measured;
  result.rejected = context.runner.failures() - failures;
  result.spilled = context.runner.spilled() - spilled;
  return result;
}

}  // namespace rooftile
