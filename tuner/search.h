// Candidates of one problem and their measurements.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/numbers/statistics.h"
#include "generator/emit.h"
#include "generator/priors/priors.h"
#include "tuner/problem_tuner_context.h"

namespace rooftile {

/// Samples and rounds of a candidate in the search and in the finals, and the number of finalists:
/// the fastest, and winners of other problems that are not among them.
inline constexpr int kSearchSamples = 2, kSearchRounds = 2;
inline constexpr int kFinalSamples = 2, kFinalRounds = 12;
inline constexpr std::size_t kFinalists = 8, kWinnersElsewhere = 2;

/// Times within this ratio are equal for a caller. Among equals the kernel that compiles faster
/// goes first, because programs wait for it.
inline constexpr double kEqualTimes = 1.02;

/// A kernel that is legal for the problem, and its measurements there.
struct Candidate {
  Variant variant;
  std::vector<double> samples_ns;  ///< Kernel times in calls that pack.
  /// Kernel times where operands were packed before, of a variant that packs. They are longer where
  /// the kernel otherwise finds in the caches what was just packed.
  std::vector<double> prepacked_ns = {};
  double pack_ns = 0, compile_ns = 0;
  bool tried = false;
  bool tried_before = false;  ///< In an earlier run; it may have failed there.
  bool tried_now = false;     ///< In this run, so that the worker has compiled it.
  bool measured_now = false;  ///< In this run, with times: it was not too slow to be timed.
  bool trusted = false;       ///< Measured even if its registers spill.
  /// Timed in turns with the other finalists: of calls, and of calls with an operand packed before.
  bool finalist = false, prepacked_finalist = false;
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

  const ProblemTunerContext& context() const { return context_; }
  RowId device_row() const { return device_row_; }
  const Problem& problem() const { return problem_; }
  const Signature& signature() const { return signature_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  const std::vector<Prior>& priors() const { return priors_; }
  /// Times of calls by the analytical model, one of each candidate.
  const std::vector<double>& analytical_ns() const { return analytical_ns_; }
  double bound_ns() const { return bound_ns_; }
  bool is_exhaustive() const { return exhaustive_; }
  std::optional<std::size_t> index_of(const Variant& variant) const;
  /// Null: not a candidate here.
  const Candidate* find(const Variant& variant) const;

  /// The kernel that a program takes for this problem before anything is tuned: the default kernel
  /// (generator/priors/default_kernel.h), or the fastest by the analytical model where that kernel
  /// is no candidate.
  std::size_t default_candidate() const;
  std::size_t model_choice() const;  ///< The fastest by the analytical model.
  /// The best kernel that is known before any measurement, apart from the default: the winner that
  /// is stored for this problem; otherwise the first plausible (tuner/search/strategy.h) one among
  /// the winners of the nearest problems and then this kind of device's priors, the fastest by the
  /// model first. Where there is none, the plausible candidate that compiles the fastest.
  std::optional<std::size_t> best_known() const;
  /// The winners of the device's problems that are candidates here, nearest problem first.
  std::vector<std::size_t> winners_elsewhere() const;

  bool is_rejected(std::size_t candidate) const;  ///< As CandidateRunner::rejected.

  /// Selects the objective of the functions below.
  void aim_at(Objective objective) { objective_ = objective; }
  /// Measures a candidate and returns the times of whole calls. No value: it has no times. Times
  /// that are slowed beside the candidate's earlier ones (quiet_wait.h) are taken again as long as
  /// again(), which gets the wall time that they took, returns true; empty: they are not.
  std::optional<std::vector<double>> measure(std::size_t candidate, int samples,
                                             const std::function<bool(double)>& again = {});
  /// Compiles the candidates that this run has not measured yet, where that pays
  /// (CandidateRunner::compile_ahead).
  void compile_ahead(const std::vector<std::size_t>& batch, Wanted wanted = Wanted::kNow) const;
  /// Whether some of them are being compiled ahead.
  bool is_compiling(const std::vector<std::size_t>& batch) const;
  /// Lets a candidate be measured even if its registers spill.
  void trust(std::size_t candidate) { candidates_[candidate].trusted = true; }
  /// Replaces the samples of the finalists by those that were taken in turns. Other candidates rank
  /// behind them from now on, because their times are of other moments.
  void set_finalists(std::span<const std::size_t> candidates,
                     std::vector<std::vector<double>> samples);
  double ns_of(const Candidate& candidate) const;  ///< Infinity: no time.
  double best_ns() const;
  const std::vector<double>& samples_of(const Candidate& candidate) const;
  std::vector<std::size_t> ranked() const;  ///< Measured candidates by time.

  /// Number of candidates that were measured or failed, in this run or an earlier one.
  std::size_t tried() const;
  bool measured_now() const;  ///< Whether this run has times of any candidate.
  /// Whether packing takes so much of the candidates' time that the objectives differ.
  bool packing_matters() const;
  /// Returns measured candidates, the fastest call first; among equals the one that compiles
  /// faster.
  std::vector<const Candidate*> preferred() const;
  /// Same for calls whose operand was packed before.
  std::vector<const Candidate*> preferred_prepacked(Operand operand) const;
  /// Returns the number of samples of a candidate in one of several rounds: fewer than usual for a
  /// problem that takes long, more for a short one.
  int round_samples(int usual) const;
  /// Returns the number of rounds of a batch of the search.
  int search_rounds() const;

 private:
  void collect_candidates();
  void recall();
  std::optional<std::size_t> index_of_row(RowId candidate) const;
  double packing_left_ns(const Candidate& candidate) const;
  /// Whether its operands are packed before the samples.
  bool timed_prepacked(const Candidate& candidate) const;
  std::vector<double>& samples_of(Candidate& candidate) const;
  const Candidate* best() const;  ///< Null: none is measured.
  void report() const;

  const ProblemTunerContext& context_;
  RowId device_row_;
  Problem problem_;
  Signature signature_;
  double bound_ns_;
  std::vector<Prior> priors_;
  bool exhaustive_;
  Objective objective_ = Objective::kCall;
  std::vector<Candidate> candidates_;
  std::vector<double> analytical_ns_;
};

}  // namespace rooftile
