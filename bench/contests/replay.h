// Replays searches on frozen spaces. No device is needed, and every seed has the same true times.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers/random.h"
#include "tuner/search/frozen_space.h"
#include "tuner/search/strategy.h"
#include "tuner/search/transfer.h"

namespace rooftile {

/// A frozen space with its true times and their noise.
struct Replay {
  std::string name;
  FrozenSpace frozen;
  SearchSpace space;
  /// Time of kernel and packing; infinity for failed candidates.
  std::vector<double> true_ns;
  /// Standard deviation of the logarithm of one sample.
  std::vector<double> deviation;
  double best_ns = 0;
};
/// The latest calibration of the space's device and driver in a database; empty when it has no such
/// device. Throws the errors of Store.
std::optional<std::vector<Figure>> figures_in(const std::filesystem::path& database,
                                              const FrozenSpace& space);

/// calibration: a database whose calibration of that device and driver replaces that of the space;
/// empty: the space's own is used. Throws kIo, kInvalidArgument.
Replay load_replay(const std::filesystem::path& file,
                   const std::filesystem::path& calibration = {});
bool same_device(const Replay& x, const Replay& y);

/// Candidates that a search measured, in order.
using Trace = std::vector<Observation>;
/// Seed of a random sequence that differs from that of the strategy with this seed.
std::uint64_t noise_seed(std::uint64_t seed);
/// Median of the samples that a search takes of a candidate.
double measured_ns(const Replay& replay, std::size_t candidate, Random& noise);
/// space: the replay's own, or one with more prior data. Equal seeds give equal noise.
Trace search(const Replay& replay, const SearchSpace& space, std::string_view strategy,
             std::uint64_t seed, std::size_t candidates);

/// Share of the optimum that a search reaches after 1, 2, ... candidates: the winner of the finals
/// between the apparently best candidates, judged by its true time.
std::vector<double> shares(const Replay& replay, const Trace& trace, std::uint64_t seed,
                           std::size_t candidates);

/// Times of a search of one space, for transfer to another.
TransferSource source_of(const Replay& replay, const Trace& trace, const Replay& target);

}  // namespace rooftile
