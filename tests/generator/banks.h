// Shared memory of GPUs has 32 banks of 4 bytes: accesses that are served together must go to
// different banks or to the same word.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace rooftile {

inline constexpr int kBanks = 32;

/// The most different words of one bank; 1: there is no conflict.
inline int most_in_a_bank(const std::vector<int>& words) {
  std::map<int, std::set<int>> banks;
  for (const int word : words) banks[word % kBanks].insert(word);
  std::size_t most = 0;
  for (const auto& [bank, different] : banks) most = std::max(most, different.size());
  return static_cast<int>(most);
}

}  // namespace rooftile
