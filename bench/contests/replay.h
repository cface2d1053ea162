// Searches replayed on frozen spaces: no device is needed, and every seed meets the same truth.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/search/frozen_space.h"
#include "tuner/search/strategy.h"
#include "tuner/search/transfer.h"

namespace rooftile {

/// A frozen space as a search sees it, and as it really is.
struct Replay {
  std::string name;
  FrozenSpace frozen;
  SearchSpace space;
  std::vector<double> true_ns;    // kernel and packing; infinity for what failed
  std::vector<double> deviation;  // of the logarithm of a median, times the root of its samples
  double best_ns = 0;
};
/// The latest calibration of the space's device and driver in a database; none: it has no such
/// device. Throws as Store does.
std::optional<std::vector<Figure>> figures_in(const std::filesystem::path& database,
                                              const FrozenSpace& space);

/// calibration: a database whose figures are used instead of the space's own where it has that
/// device and driver; empty: the space's own. Throws kIo, kInvalidArgument.
Replay load_replay(const std::filesystem::path& file,
                   const std::filesystem::path& calibration = {});
bool same_device(const Replay& x, const Replay& y);

/// What a search saw, in order.
using Trace = std::vector<Observation>;
/// space: the replay's own, or with more known. Equal seeds meet equal noise.
Trace search(const Replay& replay, const SearchSpace& space, std::string_view strategy,
             std::uint64_t seed, std::size_t candidates);

/// Share of the optimum of what a search would hand over after 1, 2, ... candidates: the fastest in
/// finals between those that looked best, judged by its true time.
std::vector<double> shares(const Replay& replay, const Trace& trace, std::uint64_t seed,
                           std::size_t candidates);

/// What a search of one space has to teach another.
TransferSource source_of(const Replay& replay, const Trace& trace, const Replay& target);

}  // namespace rooftile
