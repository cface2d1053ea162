#include "web/engine/tuning.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/error.h"
#include "generator/compiler_work.h"
#include "generator/priors/untuned_kernel.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/kernel/staging.h"
#include "runtime/model/roofline.h"
#include "tuner/search/strategy_choice.h"

namespace rooftile::web {
namespace {

constexpr std::size_t kMostStarts = 8;  // As native searches.

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
  add(untuned_kernel(device, problem));
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
      proposed_(space_.variants.size(), false) {
  start(known);
}

void Tuning::start(std::span<const Variant> known) {
  std::vector<bool> tried(space_.variants.size(), false);
  const auto add = [&](std::size_t candidate) {
    if (candidate >= tried.size() || tried[candidate]) return;
    tried[candidate] = true;
    pending_.push_back(candidate);
  };
  const auto index_of = [&](const Variant& v) {
    const auto at = std::find(space_.variants.begin(), space_.variants.end(), in_page(v));
    return static_cast<std::size_t>(at - space_.variants.begin());
  };
  add(is_calibrated(rates_)
          ? static_cast<std::size_t>(
                std::min_element(space_.analytical_ns.begin(), space_.analytical_ns.end()) -
                space_.analytical_ns.begin())
          : index_of(untuned_kernel(device_, problem_)));
  for (const Variant& v : known) add(index_of(v));
  for (const std::size_t candidate : family_firsts(space_.variants, space_.analytical_ns, tried))
    add(candidate);
  for (const Prior& prior : priors_for(device_, problem_)) {
    if (pending_.size() >= kMostStarts) break;
    const std::size_t candidate = index_of(prior.variant);
    if (candidate < tried.size() && is_plausible(space_, candidate)) add(candidate);
  }
}

bool Tuning::observed(std::size_t candidate) const {
  return std::any_of(history_.begin(), history_.end(),
                     [&](const Observation& o) { return o.candidate == candidate; });
}

std::vector<std::size_t> Tuning::propose(std::size_t count) {
  std::vector<std::size_t> batch;
  while (batch.size() < count) {
    if (pending_.empty()) pending_ = strategy_->propose(history_, count - batch.size());
    if (pending_.empty()) break;
    std::vector<std::size_t> later;
    for (const std::size_t candidate : pending_) {
      if (proposed_[candidate] || observed(candidate)) continue;
      if (batch.size() == count) {
        later.push_back(candidate);
      } else {
        batch.push_back(candidate);
        proposed_[candidate] = true;
      }
    }
    pending_ = std::move(later);
  }
  // Where the time ends within the batch, more of it was measured.
  const Signature signature = signature_of(problem_);
  std::stable_sort(batch.begin(), batch.end(), [&](std::size_t x, std::size_t y) {
    return compiler_work(space_.variants[x], signature) <
           compiler_work(space_.variants[y], signature);
  });
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
