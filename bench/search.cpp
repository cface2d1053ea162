// Compares search strategies on frozen spaces (replay/README.md): how close to the optimum each is
// after a number of measured candidates, over many seeds. No device is needed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <thread>

#include "bench/contests/program.h"
#include "bench/contests/replay.h"
#include "bench/contests/search_curves.h"
#include "core/numbers/statistics.h"
#include "tuner/search/strategies.h"

namespace rooftile::search_bench {
namespace {

constexpr std::size_t kFirst = 4, kEarly = 16;  // candidates after which the results are reported
// Their seeds differ from those of the compared searches.
constexpr std::uint64_t kEarlierSearches = 1000;

/// The other spaces whose searches a search may use.
enum class Sources : std::uint8_t { kNone, kSameDevice, kOtherDevices, kAll };

struct Arm {
  std::string label, strategy;
  Sources sources;
  bool priors = true;  // false: as on a device of an unknown kind
};

const std::vector<Arm>& arms() {
  static const std::vector<Arm> all = {
      {"exhaustive", "exhaustive", Sources::kNone},
      {"random", "random", Sources::kNone},
      {"model", "model", Sources::kNone},
      {"transfer", "transfer", Sources::kAll},
      {"auto", "auto", Sources::kNone},
      {"auto, other problems known", "auto", Sources::kSameDevice},
      {"auto, other devices known", "auto", Sources::kOtherDevices},
      {"auto, both known", "auto", Sources::kAll},
      {"auto, no priors", "auto", Sources::kNone, false},
      {"auto, no priors, other devices known", "auto", Sources::kOtherDevices, false},
  };
  return all;
}

bool is_source(const Replay& replay, const Replay& target, Sources sources) {
  if (&replay == &target || sources == Sources::kNone) return false;
  if (sources == Sources::kAll) return true;
  return same_device(replay, target) == (sources == Sources::kSameDevice);
}

/// The first candidate on any device: the default, where the space has it.
std::vector<std::size_t> default_start(const Replay& replay) {
  const auto& starts = replay.space.starts;
  const bool has =
      !starts.empty() && replay.space.variants[starts.front()] == replay.frozen.starts.front();
  return {starts.begin(), starts.begin() + (has ? 1 : 0)};
}

struct Settings {
  std::vector<std::string> files, strategies;
  std::size_t seeds = 100, candidates = 64;
  std::string calibration, csv, plot;
};

template <typename Work>
void parallel(std::size_t count, const Work& work) {
  const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> pool;
  for (std::size_t t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      for (std::size_t i = t; i < count; i += threads) work(i);
    });
}

class Comparison {
 public:
  explicit Comparison(const Settings& settings) : settings_(settings) {
    for (const std::string& file : settings.files)
      replays_.push_back(load_replay(file, settings.calibration));
    // Results of each space's search, for transfer to the other spaces.
    earlier_.assign(replays_.size(), std::vector<Trace>(settings.seeds));
    parallel(replays_.size() * settings.seeds, [&](std::size_t i) {
      const std::size_t space = i / settings.seeds, seed = i % settings.seeds;
      earlier_[space][seed] = search(replays_[space], replays_[space].space, "auto",
                                     kEarlierSearches + seed, settings.candidates);
    });
  }

  void run() {
    for (const Replay& replay : replays_) {
      const auto guess =
          static_cast<std::size_t>(std::ranges::min_element(replay.space.analytical_ns) -
                                   replay.space.analytical_ns.begin());
      fmt::print("{}: {} candidates, {} on {}\n", replay.name, replay.true_ns.size(),
                 to_string(replay.frozen.problem), replay.frozen.driver);
      fmt::print("  the analytical choice, {}, has {:.1f} % of the optimum\n",
                 short_name(replay.space.variants[guess]),
                 100 * replay.best_ns / replay.true_ns[guess]);
      for (const Arm& arm : arms())
        if (wanted(arm, replay)) compare(arm, replay);
      std::fflush(stdout);
    }
    summarize();
    if (!settings_.csv.empty()) write_csv(settings_.csv, curves_);
    if (!settings_.plot.empty()) plot(settings_.plot, curves_);
  }

 private:
  bool wanted(const Arm& arm, const Replay& replay) const {
    if (!settings_.strategies.empty() &&
        std::ranges::find(settings_.strategies, arm.strategy) == settings_.strategies.end())
      return false;
    return arm.sources == Sources::kNone || std::ranges::any_of(replays_, [&](const Replay& r) {
             return is_source(r, replay, arm.sources);
           });
  }

  void compare(const Arm& arm, const Replay& replay) {
    std::vector<std::vector<double>> of_seeds(settings_.seeds);
    parallel(settings_.seeds, [&](std::size_t seed) {
      SearchSpace space = replay.space;
      if (!arm.priors) space.starts = default_start(replay);
      std::vector<TransferSource> sources;
      for (std::size_t r = 0; r < replays_.size(); ++r)
        if (is_source(replays_[r], replay, arm.sources))
          sources.push_back(source_of(replays_[r], earlier_[r][seed], replay));
      space.transferred = transferred(space, sources);
      of_seeds[seed] =
          shares(replay, search(replay, space, arm.strategy, seed, settings_.candidates), seed,
                 settings_.candidates);
    });
    curves_.push_back(summarized(replay.name, arm.label, of_seeds));
    std::string line;
    for (const std::size_t n : {kFirst, kEarly, settings_.candidates}) {
      const Level level = level_after(curves_.back(), n);
      line += fmt::format("  {:>3}: {:5.1f} % [{:5.1f}, {:5.1f}]", n, 100 * level.middle,
                          100 * level.interval.low, 100 * level.interval.high);
    }
    fmt::print("  {:<36}{}\n", arm.label, line);
  }

  void summarize() const {
    fmt::print("all {} spaces: geometric mean of the medians (the lowest)\n", replays_.size());
    for (const Arm& arm : arms()) {
      std::string line;
      for (const std::size_t n : {kEarly, settings_.candidates}) {
        std::vector<double> middles;
        for (const Curve& curve : curves_)
          if (curve.label == arm.label) middles.push_back(level_after(curve, n).middle);
        if (middles.empty()) continue;
        line += fmt::format("  {:>3}: {:5.1f} % ({:5.1f})", n, 100 * geometric_mean(middles),
                            100 * *std::ranges::min_element(middles));
      }
      if (!line.empty()) fmt::print("  {:<36}{}\n", arm.label, line);
    }
  }

  static Level level_after(const Curve& curve, std::size_t candidates) {
    return curve.levels[std::min(candidates, curve.levels.size()) - 1];
  }

  const Settings& settings_;
  std::vector<Replay> replays_;
  std::vector<std::vector<Trace>> earlier_;  // by space and seed
  std::vector<Curve> curves_;
};

}  // namespace

void run(CLI::App& app, int argc, char** argv) {
  app.footer(
      "The searches run on frozen spaces, without a device.\nExample: rooftile-bench search "
      "bench/replay/*-22.csv --plot search.svg");
  Settings settings;
  app.add_option("files", settings.files, "Frozen spaces, as rooftile db export-space writes them")
      ->required();
  app.add_option("--seeds", settings.seeds, "Searches of each strategy and space (default 100)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--candidates", settings.candidates, "Candidates of each search (default 64)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--strategies", settings.strategies, "Only these")
      ->check(CLI::IsMember(strategy_names()));
  app.add_option(
      "--calibration", settings.calibration,
      "Database whose calibrations replace those of the spaces, for the devices that it has");
  app.add_option("--csv", settings.csv, "Write every curve's median and 95 % interval there");
  app.add_option("--plot", settings.plot,
                 "Draw the curves there, as PNG if it ends so, else SVG (needs gnuplot)");
  app.parse(argc, argv);
  Comparison(settings).run();
}

}  // namespace rooftile::search_bench
