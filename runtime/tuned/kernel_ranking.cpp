#include "runtime/tuned/kernel_ranking.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "generator/packed_format.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "runtime/model/nearest_types.h"
#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Beyond two octaves in one dimension (size_distance), the best kernel for one group of mean size
// is the better guess: tiles of the wrong height cost more than what groups have of their own.
constexpr double kNearGroups = 4;

/// Whether the kernel was measured on this problem, or in the bucket of a grouped one: calls hardly
/// ever repeat the sizes of all groups.
bool is_tuned_for(const Problem& tuned, const Problem& p) {
  return size_distance(tuned, p) == 0 || (is_grouped(p) && bucket_of(tuned) == bucket_of(p));
}

bool same_class(const Problem& x, const Problem& y) { return signature_of(x) == signature_of(y); }

/// Whether this is the kernel that is legal for everything and others were faster.
bool is_last_resort(const TunedKernel& kernel) {
  return kernel.rank > 0 && kernel.candidate.variant == fallback_variant();
}

/// Sorts a ranked list by the times of calls with a packed operand. Kernels that do not read its
/// panels keep the list's order among themselves, because paired comparisons decided it: a stored
/// time that is shorter by noise does not put one of them first.
template <typename Use>
void sort_prepacked(std::vector<RankedChoice>& list, const Use& use) {
  std::vector<std::pair<double, RankedChoice>> keyed;
  double longest_ns = 0;
  for (const RankedChoice& choice : list) {
    if (use(choice.candidate->variant) == PrepackedOperand::Use::kReadsPacked) {
      keyed.emplace_back(choice.expected_ns, choice);
      continue;
    }
    longest_ns = std::max(longest_ns, choice.expected_ns);
    keyed.emplace_back(longest_ns, choice);
  }
  std::ranges::stable_sort(keyed, {}, [](const auto& entry) { return entry.first; });
  std::ranges::transform(keyed, list.begin(), [](const auto& entry) { return entry.second; });
}

}  // namespace

KernelRanking::KernelRanking(const DeviceLimits& limits, const DeviceRates& rates,
                             std::vector<TunedKernel> tuned,
                             std::span<const PortfolioKernel> portfolio)
    : limits_(limits), rates_(rates), tuned_(std::move(tuned)) {
  for (const TunedKernel& kernel : tuned_)
    if (!is_grouped(kernel.problem) && !has_class(kernel.problem))
      classes_.push_back(signature_of(kernel.problem));
  for (const TunedKernel& of_class : tuned_) {
    const bool seen = std::ranges::any_of(portfolios_, [&](const Portfolio& p) {
      return same_class(p.predicted.of_class, of_class.problem);
    });
    if (seen) continue;
    std::vector<CandidateRecord> kernels;
    std::vector<MeasuredKernel> measured;
    for (const PortfolioKernel& kernel : portfolio) {
      if (kernel.candidate.signature != of_class.candidate.signature) continue;
      if (kernels.size() == Selector::kMostKernels) break;
      kernels.push_back(kernel.candidate);
      measured.push_back({kernel.candidate.variant, kernel.times});
    }
    if (kernels.empty()) continue;
    const Problem& like = of_class.problem;
    portfolios_.push_back(
        {.predicted = {.of_class = like,
                       .selector = std::make_shared<const Selector>(like, rates, measured)},
         .kernels = std::move(kernels)});
  }
}

bool KernelRanking::has_class(const Problem& p) const {
  if (is_grouped(p))
    return std::ranges::any_of(tuned_, [&](const TunedKernel& kernel) {
      return same_class(kernel.problem, p) &&
             (is_tuned_for(kernel.problem, p) || size_distance(kernel.problem, p) <= kNearGroups);
    });
  return std::ranges::find(classes_, signature_of(p)) != classes_.end();
}

bool KernelRanking::rounds() const {
  return std::ranges::any_of(tuned_, [](const TunedKernel& kernel) {
    return kernel.problem.types.rounding != Rounding::kNone;
  });
}

std::optional<KernelRanking::Near> KernelRanking::nearest(const Problem& p) const {
  const auto distance = [&](const Signature& s) {
    const bool turned = s.trans_a != p.trans_a || s.trans_b != p.trans_b;
    return std::tuple(turned, type_distance(s.types, p.types), any(s.epilogue));
  };
  const Signature* nearest = nullptr;
  for (const Signature& s : classes_) {
    if (nearest == nullptr || distance(s) < distance(*nearest)) nearest = &s;
  }
  if (nearest == nullptr) return std::nullopt;
  Problem turned = p;
  turned.trans_a = nearest->trans_a;
  turned.trans_b = nearest->trans_b;
  Near near = {.problem = retyped(turned, nearest->types)};
  near.problem.epilogue = nearest->epilogue;
  const double bound = problem_bound_ns(p, rates_);
  const double bound_there = problem_bound_ns(near.problem, rates_);
  if (bound > 0 && bound_there > 0) near.time_ratio = bound / bound_there;
  return near;
}

std::vector<PredictedClass> KernelRanking::predicted_classes() const {
  std::vector<PredictedClass> classes;
  for (const Portfolio& portfolio : portfolios_) classes.push_back(portfolio.predicted);
  return classes;
}

std::optional<double> KernelRanking::measured_ns(const Problem& staged) const {
  const auto best = std::ranges::find_if(tuned_, [&](const TunedKernel& kernel) {
    return same_class(kernel.problem, staged) && size_distance(kernel.problem, staged) == 0;
  });
  if (best == tuned_.end()) return std::nullopt;
  return best->kernel_ns + best->pack_ns;
}

std::string KernelRanking::refusal(const Problem& staged) const {
  for (const TunedKernel& kernel : tuned_) {
    if (!same_class(kernel.problem, staged)) continue;
    const auto reason =
        illegal_reason(kernel.candidate.variant, limits_, staged, own_buffers(staged));
    if (reason) return *reason;
  }
  return {};
}

std::vector<RankedChoice> KernelRanking::ranked(
    const Problem& p, const Placement& placement, const DeviceLimits& limits,
    const std::optional<PrepackedOperand>& prepacked) const {
  using Use = PrepackedOperand::Use;
  const auto use = [&](const Variant& v) {
    return prepacked ? prepacked->use(v) : Use::kReadsStored;
  };
  const auto saved_ns = [&](const TunedKernel& kernel) {
    return use(kernel.candidate.variant) == Use::kReadsPacked
               ? packing_share(kernel.candidate.variant, kernel.problem, prepacked->operand) *
                     kernel.pack_ns
               : 0;
  };
  const auto call_ns = [&](const TunedKernel& kernel) {
    return kernel.kernel_ns + kernel.pack_ns - saved_ns(kernel);
  };
  const auto ns_here = [&](const TunedKernel& kernel) {
    const double flops_there = flops(kernel.problem), flops_here = flops(p);
    return flops_here == flops_there ? call_ns(kernel)
                                     : call_ns(kernel) / std::max(flops_there, 1.0) * flops_here;
  };
  std::vector<RankedChoice> list;
  std::vector<const TunedKernel*> others;
  for (const TunedKernel& kernel : tuned_) {
    if (!same_class(kernel.problem, p)) continue;
    if (is_tuned_for(kernel.problem, p) && !is_last_resort(kernel))
      list.push_back({&kernel.candidate, ns_here(kernel)});
    else
      others.push_back(&kernel);
  }
  if (prepacked) sort_prepacked(list, use);
  const auto portfolio = std::ranges::find_if(
      portfolios_, [&](const Portfolio& x) { return same_class(x.predicted.of_class, p); });
  if (portfolio != portfolios_.end()) {
    const Selector& selector = *portfolio->predicted.selector;
    const Selector::Times predicted = selector.predict_ns(p);
    const auto first = static_cast<std::ptrdiff_t>(list.size());
    for (std::size_t i = 0; i < portfolio->kernels.size(); ++i)
      list.push_back({&portfolio->kernels[i], predicted[i]});
    if (prepacked) {
      const Selector::Packing packing = selector.packing_ns(p, predicted);
      for (std::size_t i = 0; i < portfolio->kernels.size(); ++i)
        if (use(portfolio->kernels[i].variant) == Use::kReadsPacked)
          list[static_cast<std::size_t>(first) + i].expected_ns -=
              prepacked->operand == Operand::kA ? packing.a_ns[i] : packing.b_ns[i];
    }
    std::ranges::stable_sort(list.begin() + first, list.end(), {}, &RankedChoice::expected_ns);
  }
  std::ranges::stable_sort(others, {}, [&](const TunedKernel* kernel) {
    return std::tuple(is_last_resort(*kernel), size_distance(kernel->problem, p), kernel->rank);
  });
  for (const TunedKernel* kernel : others) list.push_back({&kernel->candidate, ns_here(*kernel)});
  std::unordered_set<std::string_view> seen;
  std::erase_if(list, [&](const RankedChoice& choice) {
    return !seen.insert(choice.candidate->hash).second ||
           use(choice.candidate->variant) == Use::kNone ||
           illegal_reason(choice.candidate->variant, limits, p, placement).has_value();
  });
  return list;
}

std::optional<PrepackedOperand> prepacked(const PackedOperand* packed, const Problem& p,
                                          IsStored is_stored) {
  if (packed == nullptr) return std::nullopt;
  using Use = PrepackedOperand::Use;
  const Use otherwise = is_stored == IsStored::kYes ? Use::kReadsStored : Use::kNone;
  return PrepackedOperand{
      .operand = packed->shape.operand, .use = [packed, p, otherwise](const Variant& v) {
        return packed->panels_for(v, p) != nullptr ? Use::kReadsPacked : otherwise;
      }};
}

}  // namespace rooftile
