// Choice of the problem that gets the next seconds of a run. Pure functions of what each problem
// would do next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rooftile {

/// What remains to be done for a problem, in this order.
enum class TuneStage : std::uint8_t {
  kFirstLook,  ///< A few first candidates; the best certified one is stored.
  kSearch,     ///< Batches of candidates, each of which may be followed by kFinish.
  kFinish,     ///< Finals, certificates, comparison with the default and with the host.
  kDone
};

/// The next step of one problem.
struct StepOffer {
  TuneStage stage = TuneStage::kFirstLook;
  /// An earlier run could not decide on this problem's winner, so its first look comes first.
  bool undecided = false;
  double weight = 1;      ///< Importance of this problem's time, relative to other problems.
  double gain = 0;        ///< Expected decrease of log2 of its time, of a search batch.
  double cost_s = 0;      ///< Expected duration of the search batch.
  double first_s = 0;     ///< That of its first candidate, after which the batch may end.
  bool waits = false;     ///< Some of its kernels are still being compiled.
  double finish_s = 0;    ///< Expected duration of kFinish.
  double searched_s = 0;  ///< Time that its search batches took so far.
};

struct TuneStep {
  std::size_t problem = 0;
  TuneStage stage = TuneStage::kFirstLook;
  double seconds = 0;  ///< No measurement of the step begins after this time.
};

/// Shares of the time of all problems: the most that is reserved for kFinish.
inline constexpr double kMostReserved = 0.4;
/// A problem whose search got less than this part of its share of the search time is served first.
inline constexpr double kLeastShare = 0.25;

/// Returns the next step, by these rules:
/// 1. Problems without a first look come first, undecided ones before the others, in their order;
///    one that waits for compilers only where no other step is ready, and finals then get no more
///    than finish_s. Each gets an equal part of the time that is left.
/// 2. A problem whose search has ended is finished at once.
/// 3. A search batch runs only if the time left after its first candidate covers kFinish of all
///    problems: the sum of finish_s, but at most kMostReserved of total_s. Of those batches the one
///    with the largest weight * gain / cost_s runs, or one of a problem below kLeastShare; one that
///    waits for compilers only where all do.
/// 4. Where no batch can run, problems are finished, in their order. Each gets a part of the time
///    that is left, in proportion to finish_s; where the time does not cover all of them, each gets
///    its finish_s, but at most a part that is the same for all of one weight.
/// Returns no value when no time is left or every problem is done. total_s: time for all problems
/// from the beginning of the run to its end.
std::optional<TuneStep> next_step(std::span<const StepOffer> offers, double left_s, double total_s);

}  // namespace rooftile
