// Order in which the candidates of a space are measured. strategies.cpp has the table of all
// strategies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.h"
#include "core/variant.h"
#include "runtime/model/calibration.h"

namespace rooftile {

/// Number of candidates that are proposed and measured together, interleaved.
inline constexpr std::size_t kSearchBatch = 4;

/// What is known of a problem's candidates before any is measured. A candidate is an index.
struct SearchSpace {
  Problem problem;
  DeviceRates rates;
  std::vector<Variant> variants;
  std::vector<double> analytical_ns;  ///< Predicted time of a call: kernel and packing.
  /// Measurements on other problems of this device or on other devices: log2 of the time over the
  /// best time there, averaged with weights by similarity. NaN: there are none.
  std::vector<double> transferred;
  std::vector<std::size_t> starts;  ///< Candidates to try before all others, best first.
};

/// Returns a space from the problem, its device's rates and its candidates, without starts and
/// transferred measurements.
SearchSpace search_space(const Problem& problem, const DeviceRates& rates,
                         std::vector<Variant> variants);

/// Whether a candidate that was fast on other machines should be tried before all others: not if
/// the analytical model predicts more than 1.8 times the time of the space's fastest. It stays an
/// ordinary candidate in any case.
bool is_plausible(std::span<const double> analytical_ns, std::size_t candidate);
inline bool is_plausible(const SearchSpace& space, std::size_t candidate) {
  return is_plausible(space.analytical_ns, candidate);
}

/// Returns the fastest candidate by the analytical model of each family of which none was tried and
/// whose fastest takes at most 1.5 times the space's least time, fastest first. Candidates that may
/// not run have an infinite time.
std::vector<std::size_t> family_firsts(std::span<const Variant> variants,
                                       std::span<const double> analytical_ns,
                                       const std::vector<bool>& tried);

/// A measured candidate.
struct Observation {
  std::size_t candidate;
  double ns;  ///< Infinity when it failed or was too slow to be measured.
};

/// Used by one search of one space; not thread-safe.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Returns up to `count` candidates to measure next, none twice; empty when the space is
  /// exhausted. `history` contains everything measured so far, in order, including candidates that
  /// this strategy did not propose. The space outlives the strategy.
  virtual std::vector<std::size_t> propose(std::span<const Observation> history,
                                           std::size_t count) = 0;
  /// Returns the decrease of log2 of the best time that the last proposal is expected to bring. No
  /// value: the strategy cannot tell.
  virtual std::optional<double> expected_gain() const { return std::nullopt; }
  /// Whether its choice depends on SearchSpace::transferred.
  virtual bool uses_transfer() const { return false; }
};

}  // namespace rooftile
