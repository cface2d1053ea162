#include "bench/contests/replay.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <numbers>

#include "core/error.h"
#include "core/numbers/statistics.h"
#include "db/store.h"
#include "runtime/model/calibration.h"
#include "tuner/search.h"
#include "tuner/search/strategies.h"

namespace rooftile {
namespace {

// Seeds a random sequence that differs from the strategy's.
constexpr std::uint64_t kNoise = 0x5eed, kFinalNoise = 0xf1a1;

/// A standard normal value (Box and Muller).
double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.unit())) *
         std::cos(2 * std::numbers::pi * random.unit());
}

double measured(const Replay& replay, std::size_t candidate, double samples, Random& noise) {
  return replay.true_ns[candidate] *
         std::exp(replay.deviation[candidate] / std::sqrt(samples) * normal(noise));
}

}  // namespace

std::uint64_t noise_seed(std::uint64_t seed) { return seed ^ kNoise; }

double measured_ns(const Replay& replay, std::size_t candidate, Random& noise) {
  return measured(replay, candidate, kSearchRounds * kSearchSamples, noise);
}

std::optional<std::vector<Figure>> figures_in(const std::filesystem::path& database,
                                              const FrozenSpace& space) {
  const Store store(database, OpenMode::kReadOnly);
  for (const DeviceRecord& device : store.devices())
    if (device.profile.name == space.device && device.profile.driver_info == space.driver)
      return store.latest_calibration(device.id, Provenance::kOwn);
  return std::nullopt;
}

Replay load_replay(const std::filesystem::path& file, const std::filesystem::path& calibration) {
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (!stream) fail(ErrorCode::kIo, "cannot read {}", file.string());
  Replay replay{.name = file.stem().string(), .frozen = parse_frozen_space(text, file.string())};
  if (!calibration.empty())
    if (auto figures = figures_in(calibration, replay.frozen))
      replay.frozen.figures = *std::move(figures);
  std::vector<Variant> variants;
  for (const FrozenPoint& point : replay.frozen.points) {
    const bool measured = point.status == SampleStatus::kMeasured;
    variants.push_back(point.variant);
    replay.true_ns.push_back(measured ? point.kernel_ns + point.pack_ns
                                      : std::numeric_limits<double>::infinity());
    replay.deviation.push_back(
        measured ? kNormalDeviation * kMedianError * point.mad_ns / point.kernel_ns : 0);
  }
  replay.best_ns = *std::ranges::min_element(replay.true_ns);
  if (!std::isfinite(replay.best_ns))
    fail(ErrorCode::kInvalidArgument, "{}: nothing of it was measured", file.string());
  replay.space =
      search_space(replay.frozen.problem, calibration_from_figures(replay.frozen.figures).device,
                   std::move(variants));
  // Follows Search::seeds() for a space without earlier winners: the default comes first.
  for (const Variant& start : replay.frozen.starts) {
    const auto found = std::ranges::find(replay.space.variants, start);
    if (found == replay.space.variants.end()) continue;
    const auto index = static_cast<std::size_t>(found - replay.space.variants.begin());
    const bool is_default = start == replay.frozen.starts.front();
    if ((is_default || is_plausible(replay.space, index)) &&
        std::ranges::find(replay.space.starts, index) == replay.space.starts.end())
      replay.space.starts.push_back(index);
  }
  return replay;
}

bool same_device(const Replay& x, const Replay& y) {
  return x.frozen.device == y.frozen.device && x.frozen.driver == y.frozen.driver;
}

Trace search(const Replay& replay, const SearchSpace& space, std::string_view strategy_name,
             std::uint64_t seed, std::size_t candidates) {
  const auto strategy = make_strategy(strategy_name, space, seed);
  Random noise(noise_seed(seed));
  Trace trace;
  while (trace.size() < candidates) {
    const auto batch = strategy->propose(trace, std::min(kSearchBatch, candidates - trace.size()));
    if (batch.empty()) break;
    for (const std::size_t i : batch) trace.push_back({i, measured_ns(replay, i, noise)});
  }
  return trace;
}

std::vector<double> shares(const Replay& replay, const Trace& trace, std::uint64_t seed,
                           std::size_t candidates) {
  Random noise(seed ^ kFinalNoise);
  std::vector<double> result;
  Trace finalists;
  for (std::size_t i = 0; i < candidates; ++i) {
    if (i < trace.size()) {
      finalists.push_back(trace[i]);
      std::ranges::stable_sort(finalists, {}, &Observation::ns);
      finalists.resize(std::min(finalists.size(), kFinalists));
    }
    Observation best = {0, std::numeric_limits<double>::infinity()};
    for (const Observation& finalist : finalists)
      if (const double ns =
              measured(replay, finalist.candidate, kFinalRounds * kFinalSamples, noise);
          ns < best.ns)
        best = {finalist.candidate, ns};
    result.push_back(std::isfinite(best.ns) ? replay.best_ns / replay.true_ns[best.candidate] : 0);
  }
  return result;
}

TransferSource source_of(const Replay& replay, const Trace& trace, const Replay& target) {
  TransferSource source{
      .problem = replay.frozen.problem,
      .nearness = same_device(replay, target) ? 1 : weight_of(Nearness::kSameDriver)};
  for (const Observation& o : trace)
    if (std::isfinite(o.ns)) source.measured.push_back({replay.space.variants[o.candidate], o.ns});
  return source;
}

}  // namespace rooftile
