#include "tuner/search/strategy.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "runtime/model/roofline.h"

namespace rooftile {
namespace {

// Measured on lavapipe with 14 frozen spaces, 2026-11-22: the fewer of the priors are tried first,
// the better is the result of searches of 16 candidates (limits of 1.25 to 2.5 and none). On six of
// the spaces most priors reach 7 to 25 % of the fastest kernel's rate. But the fastest kernel for
// 2048 x 2048 x 2048 there is a prior for which the model predicts 1.55 times the least time.
constexpr double kPlausibleRatio = 1.8, kPlausibleFamily = 1.5;

}  // namespace

SearchSpace search_space(const Problem& problem, const DeviceRates& rates,
                         std::vector<Variant> variants) {
  SearchSpace space{.problem = problem, .rates = rates, .variants = std::move(variants)};
  for (const Variant& variant : space.variants)
    space.analytical_ns.push_back(analytical_ns(problem, variant, rates));
  space.transferred.assign(space.variants.size(), std::numeric_limits<double>::quiet_NaN());
  return space;
}

bool is_plausible(std::span<const double> analytical_ns, std::size_t candidate) {
  return analytical_ns[candidate] <= kPlausibleRatio * *std::ranges::min_element(analytical_ns);
}

std::vector<std::size_t> family_firsts(std::span<const Variant> variants,
                                       std::span<const double> analytical_ns,
                                       const std::vector<bool>& tried) {
  std::map<Family, std::size_t> fastest;
  std::set<Family> tried_families;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (tried[i]) {
      tried_families.insert(variants[i].family);
      continue;
    }
    const auto [entry, first] = fastest.try_emplace(variants[i].family, i);
    if (!first && analytical_ns[i] < analytical_ns[entry->second]) entry->second = i;
  }
  std::vector<std::size_t> order;
  if (variants.empty()) return order;
  const double most = kPlausibleFamily * *std::ranges::min_element(analytical_ns);
  for (const auto& [family, i] : fastest)
    if (!tried_families.contains(family) && analytical_ns[i] <= most) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return analytical_ns[i]; });
  return order;
}

}  // namespace rooftile
