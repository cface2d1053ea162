// In which order the candidates of a space are measured. A strategy is one file,
// strategies/NAME.cpp, with one function, make_NAME; the table of all of them is generated from the
// folder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/calibration.h"

namespace rooftile {

/// Candidates that are proposed and measured together, interleaved.
inline constexpr std::size_t kSearchBatch = 4;

/// What is known of a problem's candidates before any is measured. A candidate is its index.
struct SearchSpace {
  Problem problem;
  DeviceRates rates;
  std::vector<Variant> variants;
  std::vector<double> analytical_ns;  // the model's guess of a call: kernel and packing
  /// Measured elsewhere, on other problems of this device or on other devices: log2 of the time
  /// over the best time there, averaged by how near that is. NaN: nothing known.
  std::vector<double> transferred;
  std::vector<std::size_t> starts;  // worth trying before all others, best first
};

/// Of the problem, its device's rates and its candidates: no starts, nothing transferred.
SearchSpace search_space(const Problem& problem, const DeviceRates& rates,
                         std::vector<Variant> variants);

/// Whether a candidate that was fast on other machines is worth trying before all others: not when
/// the analytical model says that it takes more than 1.5 times as long as the space's fastest. It
/// stays a candidate like any other.
bool is_plausible(const SearchSpace& space, std::size_t candidate);

/// A candidate that was measured.
struct Observation {
  std::size_t candidate;
  double ns;  // infinity when it failed, or was too slow to be worth measuring
};

/// Used by one search of one space; not thread-safe.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to count candidates to measure next, none twice; empty when the space is exhausted. history
  /// is everything measured so far, in order; not all of it was proposed here. The space outlives
  /// the strategy.
  virtual std::vector<std::size_t> propose(std::span<const Observation> history,
                                           std::size_t count) = 0;
};

/// Equal arguments make equal searches. Throws kInvalidArgument for an unknown name.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space,
                                        std::uint64_t seed);
std::vector<std::string> strategy_names();  // by alphabet

}  // namespace rooftile
