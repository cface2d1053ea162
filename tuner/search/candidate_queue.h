// The order in which a search measures the candidates of a problem, the same for the tuner, the
// page of `rooftile web` and replays: a few that are likely to be fast, then what the strategy
// proposes.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rooftile {

/// Candidates to begin with.
struct FirstCandidates {
  std::size_t untuned = 0;            ///< What the problem gets without tuning.
  std::vector<std::size_t> known;     ///< Winners of this problem.
  std::vector<std::size_t> families;  ///< The fastest by the model, and one of each other family.
  std::vector<std::size_t> winners;   ///< Winners of other problems, nearest first.
  std::vector<std::size_t> priors;    ///< Of devices of this kind, best first.
};

/// Returns them in order, each once. Winners and priors are cut to a few, and to those that are
/// plausible (is_plausible).
std::vector<std::size_t> first_candidates(const FirstCandidates& first,
                                          std::span<const double> analytical_ns);

/// Used by one search; not thread-safe.
class CandidateQueue {
 public:
  CandidateQueue() = default;
  explicit CandidateQueue(std::vector<std::size_t> first) : waiting_(std::move(first)) {}

  struct Source {
    /// Returns up to so many more candidates; empty when there are none. It is asked when all
    /// queued ones are taken.
    std::function<std::vector<std::size_t>(std::size_t)> propose;
    /// Whether a candidate is to be measured; one that is not is left out.
    std::function<bool(std::size_t)> wanted;
    /// Work of the compiler (compiler_work).
    std::function<double(std::size_t)> work;
  };
  /// Takes `count` candidates, fewer where there are no more. What compiles fastest comes first,
  /// so that more of them are measured where the time ends among them.
  std::vector<std::size_t> take(std::size_t count, const Source& source);
  /// Puts candidates back, before all others.
  void put_back(std::span<const std::size_t> candidates);

 private:
  std::vector<std::size_t> waiting_;
};

}  // namespace rooftile
