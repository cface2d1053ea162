#include "web/engine/tuning.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/error.h"
#include "generator/compiler_work.h"
#include "generator/priors/default_kernel.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tuner/search/strategies.h"

namespace rooftile::web {
namespace {

/// The kernel without what the page cannot vary: spirv-opt is no part of it.
Variant in_page(Variant v) {
  v.optimization = Optimization::kZero;
  return v;
}

std::vector<Variant> legal_kernels(const DeviceProfile& device, const Problem& problem,
                                   std::span<const Variant> known) {
  const Placement placement = own_buffers(problem);
  std::vector<Variant> kernels;
  std::set<std::string> seen;
  const auto add = [&](const Variant& any) {
    const Variant v = in_page(any);
    if (illegal_reason(v, device.limits, problem, placement)) return;
    if (seen.insert(to_string(v)).second) kernels.push_back(v);
  };
  for (const Variant& v : legal_variants(device.limits)) add(v);
  add(default_kernel(device, problem));
  add(fallback_variant());
  for (const Prior& prior : priors_for(device, problem)) add(prior.variant);
  for (const Variant& v : known) add(v);
  if (kernels.empty())
    fail(ErrorCode::kUnsupported, "no kernel of {} is legal with the limits of this adapter",
         to_string(problem));
  return kernels;
}

}  // namespace

Tuning::Tuning(const DeviceProfile& device, const Problem& problem, const DeviceRates& rates,
               std::string_view strategy, std::uint64_t seed, std::span<const Variant> known)
    : device_(device),
      problem_(staged_problem(problem)),
      rates_(rates),
      space_(search_space(problem_, rates, legal_kernels(device, problem_, known))),
      strategy_(make_strategy(strategy, space_, seed)),
      queue_(queue(known)),
      proposed_(space_.variants.size(), false) {}

CandidateQueue Tuning::queue(std::span<const Variant> known) const {
  const auto index_of = [&](const Variant& v) {
    return static_cast<std::size_t>(std::ranges::find(space_.variants, in_page(v)) -
                                    space_.variants.begin());
  };
  const auto indices_of = [&](const auto& variants) {
    std::vector<std::size_t> indices;
    for (const Variant& v : variants)
      if (const std::size_t i = index_of(v); i < space_.variants.size()) indices.push_back(i);
    return indices;
  };
  const std::vector<double>& ns = space_.analytical_ns;
  FirstCandidates first;
  first.untuned = index_of(default_kernel(device_, problem_));
  if (is_calibrated(rates_) || first.untuned == ns.size())
    first.untuned = static_cast<std::size_t>(std::ranges::min_element(ns) - ns.begin());
  first.known = indices_of(known);
  std::vector<bool> begun(ns.size(), false);
  begun[first.untuned] = true;
  for (const std::size_t candidate : first.known) begun[candidate] = true;
  first.families = family_firsts(space_.variants, ns, begun);
  std::vector<Variant> priors;
  for (const Prior& prior : priors_for(device_, problem_)) priors.push_back(prior.variant);
  first.priors = indices_of(priors);
  return CandidateQueue(first_candidates(first, ns));
}

bool Tuning::observed(std::size_t candidate) const {
  return std::any_of(history_.begin(), history_.end(),
                     [&](const Observation& o) { return o.candidate == candidate; });
}

std::vector<std::size_t> Tuning::propose(std::size_t count) {
  const Signature signature = signature_of(problem_);
  const std::vector<std::size_t> batch = queue_.take(
      count,
      {.propose = [&](std::size_t more) { return strategy_->propose(history_, more); },
       .wanted =
           [&](std::size_t candidate) { return !proposed_[candidate] && !observed(candidate); },
       .work =
           [&](std::size_t candidate) {
             return compiler_work(space_.variants[candidate], signature);
           }});
  for (const std::size_t candidate : batch) proposed_[candidate] = true;
  return batch;
}

void Tuning::observe(std::size_t candidate, double ns) {
  if (candidate >= space_.variants.size())
    fail(ErrorCode::kInvalidArgument, "there is no candidate {}", candidate);
  for (Observation& o : history_)
    if (o.candidate == candidate) {
      o.ns = ns;
      return;
    }
  history_.push_back({candidate, ns});
}

}  // namespace rooftile::web
