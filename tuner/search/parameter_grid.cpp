#include "tuner/search/parameter_grid.h"

#include <map>
#include <string>

namespace rooftile {

ParameterGrid::ParameterGrid(std::span<const Variant> variants) : points_(variants.size()) {
  std::vector<std::vector<std::string>> texts(parameter_names().size());
  for (const Variant& variant : variants) {
    const auto all = parameters(variant);
    for (std::size_t i = 0; i < all.size(); ++i) texts[i].push_back(all[i].second);
  }
  for (const std::vector<std::string>& column : texts) {
    std::map<std::string, std::uint16_t> ranks;
    for (const std::string& text : column)
      ranks.emplace(text, static_cast<std::uint16_t>(ranks.size()));
    if (ranks.size() < 2) continue;
    values_.push_back(ranks.size());
    for (std::size_t i = 0; i < points_.size(); ++i) points_[i].push_back(ranks.at(column[i]));
  }
}

std::size_t ParameterGrid::nearest(const GridPoint& point, const CandidatePool& pool,
                                   Random& random) const {
  std::vector<std::size_t> best;
  std::size_t fewest = values_.size() + 1;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!pool.has(i)) continue;
    std::size_t differing = 0;
    for (std::size_t p = 0; p < point.size(); ++p) differing += points_[i][p] != point[p] ? 1 : 0;
    if (differing > fewest) continue;
    if (differing < fewest) best.clear();
    fewest = differing;
    best.push_back(i);
  }
  return best[random.below(best.size())];
}

}  // namespace rooftile
