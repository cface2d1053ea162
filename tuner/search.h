// Candidates of one problem, their measurements, and the search for the best.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/numbers/statistics.h"
#include "generator/emit.h"
#include "tuner/problem_tuner_context.h"
#include "tuner/search/priors.h"
#include "tuner/search/strategy.h"
#include "tuner/search/transfer.h"

namespace rooftile {

/// Samples and rounds of a candidate in the search and in the finals, and the number of finalists.
inline constexpr int kSearchSamples = 2, kSearchRounds = 2;
inline constexpr int kFinalSamples = 2, kFinalRounds = 12;
inline constexpr std::size_t kFinalists = 8;

/// A kernel that is legal for the problem, and its measurements there.
struct Candidate {
  Variant variant;
  std::vector<double> samples_ns;  ///< Kernel times in calls that pack.
  /// Kernel times where operands were packed before, of a variant that packs. They are longer where
  /// the kernel otherwise finds in the caches what was just packed.
  std::vector<double> prepacked_ns = {};
  double pack_ns = 0, compile_ns = 0;
  bool tried = false;
  bool trusted = false;  ///< Measured even if its registers spill.
  double total_ns() const {
    return samples_ns.empty() ? std::numeric_limits<double>::infinity()
                              : median(samples_ns) + pack_ns;
  }
};

/// Time that the search minimises: that of a call, or that of a call whose larger operand was
/// packed before (runtime/call/packed_operand.h). The fastest kernels may differ.
enum class Objective : std::uint8_t { kCall, kPrepacked };

class Search {
 public:
  Search(const ProblemTunerContext& context, RowId device_row, const Problem& problem);

  void run(double end_s, Objective objective = Objective::kCall);
  /// Whether packing takes so much of the candidates' time that the objectives differ.
  bool packing_matters() const;
  /// Tries the candidates that were running when a tuner died (CandidateRunner::suspects).
  void try_suspects(double end_s);
  /// Compares the best few candidates, interleaved, because the search's own samples were taken
  /// minutes apart.
  void finals(double end_s, Objective objective = Objective::kCall);

  /// Returns measured candidates, the fastest call first; among equals the one that compiles
  /// faster.
  std::vector<const Candidate*> preferred() const;
  /// Same for calls whose operand was packed before.
  std::vector<const Candidate*> preferred_prepacked(Operand operand) const;
  /// Null: not a candidate here.
  const Candidate* find(const Variant& variant) const;
  /// Returns the number of samples of a candidate in one of several rounds: fewer than usual for a
  /// problem that takes long, more for a short one.
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
  std::vector<std::size_t> ranked() const;         ///< Measured candidates by time.
  double ns_of(const Candidate& candidate) const;  ///< By the objective; infinity: no time.
  double packing_left_ns(const Candidate& candidate) const;  ///< By the objective.
  /// Whether its operands are packed before the samples, by the objective.
  bool timed_prepacked(const Candidate& candidate) const;
  std::vector<double>& samples_of(Candidate& candidate) const;  ///< By the objective.
  double best_ns() const;
  const Candidate* best() const;  ///< Null: none is measured.
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
