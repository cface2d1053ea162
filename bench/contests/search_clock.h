// Searches of frozen spaces against the clock: compilation and samples take the time that was
// stored with the space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/contests/replay.h"

namespace rooftile {

/// How a search on the clock goes about its candidates.
struct ClockedSearch {
  std::string_view label;
  /// Whether one kernel of each plausible family comes before the strategy's choices, and in each
  /// batch what compiles faster comes first, as in the tuner. Otherwise the strategy's order holds.
  bool families_first = true;
  /// Workers that compile a batch before it is measured; 0: each candidate is compiled when it is
  /// measured.
  std::size_t compilers = 0;
};

struct ClockedTrace {
  Trace trace;
  std::vector<double> end_s;  ///< When each candidate of the trace was measured.
};

/// Wall time of measuring a candidate that is compiled, where best_ns is the fastest so far: as
/// many calls as the tuner makes, each cut where the tuner cuts it.
double sampling_s(const Replay& replay, std::size_t candidate, double best_ns);
/// Wall time of compiling a batch.
double compilation_s(const Replay& replay, const std::vector<std::size_t>& batch,
                     std::size_t compilers);

/// Searches with the strategy `auto` until `seconds` are over. Equal seeds give equal noise.
ClockedTrace clocked_search(const Replay& replay, const ClockedSearch& how, std::uint64_t seed,
                            double seconds);

/// Prints, for every replay and over all of them, the share of the optimum after each of some
/// times: median over the seeds. Writes it to the CSV file unless its name is empty; throws kIo.
void compare_by_clock(const std::vector<Replay>& replays, std::size_t seeds,
                      const std::string& csv);

}  // namespace rooftile
