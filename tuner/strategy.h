// In which order the candidates of a space are measured. A new strategy is one .cpp and a line in
// strategy.cpp's table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile {

/// What a strategy sees of a candidate that was measured.
struct Observation {
  std::size_t candidate;
  double ns;  // infinity when it failed
};

/// Candidates are indices into a space of `size`; analytical_ns[i] is the model's guess for
/// candidate i.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to count candidates to measure next, never one twice; empty when the space is exhausted.
  virtual std::vector<std::size_t> propose(std::span<const Observation> history,
                                           std::size_t count) = 0;
};

/// "exhaustive": in analytical order. "random": every other one from the analytical order, the rest
/// uniformly at random, so that neither a wrong model nor bad luck decides alone. Throws
/// kInvalidArgument for an unknown name.
std::unique_ptr<Strategy> make_strategy(std::string_view name,
                                        std::span<const double> analytical_ns, std::uint64_t seed);
std::vector<std::string> strategy_names();

}  // namespace rooftile
