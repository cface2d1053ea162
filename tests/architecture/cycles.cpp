#include "tests/architecture/cycles.h"

#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <map>

namespace rooftile {
namespace {

// unit -> used unit -> #include
using Uses = std::map<std::string, std::map<std::string, std::string>>;

/// C and C++ wrappers of one name (rooftile.h, rooftile.hpp) are two units.
std::string unit_of(const std::string& file) {
  std::filesystem::path path(file);
  return path.extension() == ".hpp" ? file : path.replace_extension().string();
}

/// Every unit that start uses directly or indirectly, with its predecessor on a shortest path.
std::map<std::string, std::string> reached_from(const std::string& start, const Uses& uses) {
  std::map<std::string, std::string> before;
  std::deque<std::string> next = {start};
  while (!next.empty()) {
    const std::string unit = next.front();
    next.pop_front();
    const auto used = uses.find(unit);
    if (used == uses.end()) continue;
    for (const auto& [other, where] : used->second)
      if (before.emplace(other, unit).second) next.push_back(other);
  }
  return before;
}

}  // namespace

std::vector<Cycle> cycles(const std::vector<Include>& includes) {
  Uses uses;
  for (const Include& include : includes)
    if (const std::string from = unit_of(include.from), to = unit_of(include.to); from != to)
      uses[from].emplace(to, fmt::format("{}: {}", include.from, include.line));
  std::map<std::string, std::map<std::string, std::string>> reached;
  for (const auto& [unit, used] : uses) reached[unit] = reached_from(unit, uses);
  std::vector<Cycle> found;
  while (!reached.empty()) {
    const auto [unit, from_unit] = *reached.begin();
    reached.erase(reached.begin());
    if (!from_unit.contains(unit)) continue;
    Cycle cycle = {.units = {unit}, .way = {}};
    for (const auto& [other, before] : from_unit)
      if (const auto back = reached.find(other);
          back != reached.end() && back->second.contains(unit)) {
        cycle.units.push_back(other);
        reached.erase(back);
      }
    std::string used = unit;
    do {
      const std::string& user = from_unit.at(used);
      cycle.way.insert(cycle.way.begin(),
                       fmt::format("{} uses {} ({})", user, used, uses[user][used]));
      used = user;
    } while (used != unit);
    found.push_back(std::move(cycle));
  }
  return found;
}

}  // namespace rooftile
