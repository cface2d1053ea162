// Candidates of one problem: which there are, what is known of them, and the search for the best.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/statistics.h"
#include "generator/emit.h"
#include "tuner/priors.h"
#include "tuner/problem_tuner.h"
#include "tuner/strategy.h"
#include "tuner/transfer.h"

namespace rooftile {

/// Measurements of a candidate in the search and in the finals, and how many come into these.
inline constexpr int kSearchSamples = 2, kSearchRounds = 2;
inline constexpr int kFinalSamples = 2, kFinalRounds = 12;
inline constexpr std::size_t kFinalists = 8;

/// A kernel that is legal for the problem, and its measurements there.
struct Candidate {
  Variant variant;
  std::vector<double> samples_ns;  // kernel
  double pack_ns = 0, compile_ns = 0;
  bool tried = false;
  bool trusted = false;  // measured even if its registers spill
  double total_ns() const {
    return samples_ns.empty() ? std::numeric_limits<double>::infinity()
                              : median(samples_ns) + pack_ns;
  }
};

/// What a candidate's time is: what a call takes, or what it takes with its larger operand packed
/// before (runtime/packed_operand.h). Another kernel may be the fastest then.
enum class Objective : std::uint8_t { kCall, kPrepacked };

class Search {
 public:
  Search(const ProblemTunerContext& context, RowId device_row, const Problem& problem);

  void run(double end_s, Objective objective = Objective::kCall);
  /// Whether packing takes so much of the candidates' time that the objectives differ.
  bool packing_matters() const;
  /// Those that were being tried when a tuner died (CandidateRunner::suspects).
  void try_suspects(double end_s);
  /// The best few against each other, interleaved: the search's own samples were taken minutes
  /// apart.
  void finals(double end_s, Objective objective = Objective::kCall);

  /// Measured ones, the fastest for a caller first; of equals the one that compiles faster.
  std::vector<const Candidate*> preferred() const;
  /// The same for a caller who has packed this operand before.
  std::vector<const Candidate*> preferred_prepacked(Operand operand) const;
  /// Null: not a candidate here.
  const Candidate* find(const Variant& variant) const;
  /// How many samples a candidate gets in one of several rounds: fewer than usual of a problem that
  /// takes long, more of a short one.
  int round_samples(int usual) const;

 private:
  void collect_candidates();
  void recall();
  std::vector<std::size_t> seeds(const SearchSpace& space) const;
  std::vector<TransferSource> own_sources() const;
  SearchSpace space() const;
  std::vector<Observation> history() const;
  std::vector<std::size_t> next_batch(Strategy& strategy, std::vector<std::size_t>& pending,
                                      std::vector<Observation>& history);
  std::optional<std::vector<double>> measure(std::size_t candidate, int samples);
  std::vector<std::size_t> ranked() const;                   // measured ones by time
  double ns_of(const Candidate& candidate) const;            // by the objective; infinity: no time
  double packing_left_ns(const Candidate& candidate) const;  // by the objective
  double best_ns() const;
  const Candidate* best() const;  // null: none is measured
  void report() const;
  std::optional<std::size_t> index_of(const Variant& variant) const;

  const ProblemTunerContext& context_;
  RowId device_row_;
  Problem problem_;
  Signature signature_;
  double bound_ns_;
  std::vector<Prior> priors_;
  bool exhaustive_;
  Objective objective_ = Objective::kCall;
  std::vector<Candidate> candidates_;
};

}  // namespace rooftile
