#include "tuner/problem_tuner.h"

#include <algorithm>

#include "core/clock.h"
#include "core/numbers/statistics.h"
#include "generator/space.h"
#include "runtime/model/predict.h"
#include "runtime/model/roofline.h"
#include "tuner/host_comparison.h"
#include "tuner/search.h"
#include "tuner/stored/ranked_list.h"
#include "tuner/stored/stored_winner.h"

namespace rooftile {
namespace {

constexpr std::size_t kRanked = 3;  // Certified kernels in a list, besides default and fallback.
// Shares of a problem's slice of time at which each phase ends; certificates follow. The search for
// calls with a packed operand, and its finals, are left out where packing hardly matters.
constexpr double kSearchShare = 0.5, kPrepackedShare = 0.6, kSuspectsShare = 0.65,
                 kPrepackedFinalsShare = 0.7, kFinalsShare = 0.8;
constexpr double kHostShare = 0.1;  // Limit of the share of the slice for the comparison with BLAS.

/// Returns certified kernels, best first; then the best one for an operand that is packed before,
/// if it is another; default and fallback last.
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

std::vector<WinnerRecord> records_of(const ProblemTunerContext& context, const Problem& problem,
                                     const std::vector<const Candidate*>& list) {
  const double level = context.runner.level();  // Stored times are those that a caller sees now.
  std::vector<WinnerRecord> records;
  for (const Candidate* candidate : list) {
    const double kernel_ns =
        median(candidate->prepacked_ns.empty() ? candidate->samples_ns : candidate->prepacked_ns);
    // What packing adds to a call, beside the kernel's time where operands were packed before.
    const double pack_ns = candidate->prepacked_ns.empty() || candidate->samples_ns.empty()
                               ? candidate->pack_ns
                               : std::max(0.0, candidate->total_ns() - kernel_ns);
    records.push_back({.candidate = context.runner.id(candidate->variant, signature_of(problem)),
                       .kernel_ns = level * kernel_ns,
                       .pack_ns = level * pack_ns});
  }
  return records;
}

/// No comparison where the host is predicted to take longer than there is time for: a call of BLAS
/// cannot be stopped. seconds: of the problem's slice.
HostComparison beside_host(const ProblemTunerContext& context, const Problem& problem,
                           const Variant& winner, double seconds) {
  // The first round calls the host three times: once for its time, once untimed, once timed.
  constexpr double kHostCalls = 3;
  std::optional<double> predicted_ns;
  if (context.host_rates != nullptr && is_calibrated(*context.host_rates)) {
    const double plain_ns = predict_host_ns(retyped(problem, {}), *context.host_rates);
    const double left_s = std::min(seconds, context.options.budget_s - context.elapsed_s());
    if (kHostCalls * plain_ns * 1e-9 > left_s) return {};
    // The model of the host covers plain float32 calls only.
    if (problem.types == Types{} && problem.epilogue == Epilogue{} && problem.batch == 1)
      predicted_ns = plain_ns;
  }
  const double end_s = now_s() + seconds;
  return compare_with_host(
      problem, predicted_ns,
      [&]() -> std::optional<double> {
        const auto reply = context.runner.time(winner, problem, {.samples = 1});
        if (!reply) return std::nullopt;
        return context.runner.level() * (median(reply->kernel_ns) + reply->pack_ns);
      },
      [&] { return context.over() || now_s() >= end_s; });
}

/// Returns 0 when the variant was not measured.
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
  std::vector<WinnerRecord> list =
      records_of(context, problem, ranked_list(context, search, signature_of(problem)));
  const auto stored = stored_winner(context.store, context.runner, device_row, problem);
  if (!list.empty() && stored && search.find(stored->candidate.variant) != nullptr)
    keep_stored_winner(context.store, context.runner, *stored, list,
                       {.samples = search.round_samples(kFinalSamples),
                        .over = [&] { return context.over() || now_s() >= start_s + slice_s; }});
  if (list.empty() && stored) {  // There is no new kernel, so the stored ones stay.
    list.push_back({.candidate = stored->candidate.id,
                    .kernel_ns = stored->kernel_ns,
                    .pack_ns = stored->pack_ns});
  } else if (!list.empty()) {
    store_ranked(context.store, device_row, problem, list);
  }
  if (!list.empty()) {
    const Variant winner = context.store.candidate(list.front().candidate).value().variant;
    result.winner = short_name(winner);
    result.kernel_ns = list.front().kernel_ns;
    result.pack_ns = list.front().pack_ns;
    if (!context.over()) context.runner.count(winner, problem, result.kernel_ns);
    result.host = beside_host(context, problem, winner, kHostShare * slice_s);
  }
  result.default_ns = context.runner.level() * time_of(search, default_variant(context.device));
  result.naive_ns = context.runner.level() * time_of(search, fallback_variant());
  result.measured = context.runner.measured() - measured;
  result.rejected = context.runner.failures() - failures;
  result.spilled = context.runner.spilled() - spilled;
  return result;
}

}  // namespace rooftile
