// The tuner's finals on noisy clocks: samples as the worker takes them, elimination with the
// parameters of Search::finals, and how often the best of four close kernels wins.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/numbers/statistics.h"
#include "tests/tuner/measure/noise_model.h"
#include "tuner/measure/steady_samples.h"
#include "tuner/search/elimination.h"

namespace rooftile {
namespace {

constexpr int kSeeds = 200;
constexpr EliminationOptions kFinals = {.samples_per_round = 2, .rounds = 6, .keep = 1};

/// Whether the device reports load of other programs. Software devices do; on others, load shows
/// only as outliers.
enum class Load : std::uint8_t { kShown, kHidden };

/// Returns whether the best of four wins; two others are slower by gap, one by gap + 8 %.
bool best_wins(Noise noise, Load load, double gap, int seed) {
  NoisyClock clock(noise, static_cast<std::uint64_t>(seed));
  const auto best = static_cast<std::size_t>(seed) % 4;
  std::array<double, 4> truth = {1 + gap, 1 + gap, 1 + gap, 1 + gap};
  truth[best] = 1;
  truth[(best + 2) % 4] = 1.08 + gap;
  const auto arms = eliminate(
      truth.size(),
      [&](std::size_t arm, int count) {
        const auto take = [&] {
          const NoisyClock::Reading reading = clock.run(truth[arm]);
          return Reading{.kernel_ns = reading.ns,
                         .busy_share = load == Load::kShown ? reading.busy_share : 0};
        };
        take();  // an untimed run, as in the worker
        const SteadySamples samples = steady_samples(
            count, kMostRetakes, take, [&](int before) { clock.wait(4.0 * (1 << before)); });
        std::vector<double> ns;
        for (const Reading& reading : samples.readings) ns.push_back(reading.kernel_ns);
        return std::optional(ns);
      },
      [] { return false; }, kFinals);
  return ranking(arms).front() == best;
}

double normal_probability(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// Probability that the best kernel's median is below those of two rivals when jitter is the only
/// noise: the median of n normal samples has a standard deviation of sqrt(pi / 2n) times theirs.
/// Other noise may lower it by a hundredth.
double stated_probability(Noise noise, double gap) {
  const double jitter = noise == Noise::kJitter ? 0.02 : 0.01;
  const int samples = kFinals.samples_per_round * kFinals.rounds;
  const double deviation = jitter * std::sqrt(std::numbers::pi / 2 / samples) * std::numbers::sqrt2;
  const double rival = normal_probability(std::log1p(gap) / deviation);
  return rival * rival * (noise == Noise::kJitter ? 1 : 0.99);
}

class FinalsUnderNoise : public ::testing::TestWithParam<std::tuple<Noise, Load, double>> {};

TEST_P(FinalsUnderNoise, TheBestWinsAsOftenAsStated) {
  const auto [noise, load, gap] = GetParam();
  int right = 0;
  for (int seed = 0; seed < kSeeds; ++seed) right += best_wins(noise, load, gap, seed) ? 1 : 0;
  const double stated = stated_probability(noise, gap);
  EXPECT_GE(stated, gap < 0.03 ? 0.93 : 0.98) << "the finals take too few samples";
  // Three standard deviations of the binomial distribution: a sound tuner would fail one run in a
  // thousand, but the seeds are constant.
  EXPECT_GE(right, kSeeds * stated - 3 * std::sqrt(kSeeds * stated * (1 - stated)));
  RecordProperty("right", right);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Noise, Load, double>>& info) {
  constexpr std::array kNames = {"Jitter", "Spikes", "Levels", "Drift", "Bursts"};
  const auto [noise, load, gap] = info.param;
  return std::string(kNames[static_cast<std::size_t>(noise)]) +
         (load == Load::kShown ? "Shown" : "Hidden") + (gap < 0.03 ? "Close" : "Apart");
}

INSTANTIATE_TEST_SUITE_P(AllNoise, FinalsUnderNoise,
                         ::testing::Combine(::testing::Values(Noise::kJitter, Noise::kSpikes,
                                                              Noise::kLevels, Noise::kDrift,
                                                              Noise::kBursts),
                                            ::testing::Values(Load::kShown, Load::kHidden),
                                            ::testing::Values(0.02, 0.05)),
                         name_of);

// The stored values of a kernel: median and MAD of as many samples as the finals take.
TEST(NoiseTest, MedianAndMadAreCorrectUnderJitterAndSpikes) {
  for (const Noise noise : {Noise::kJitter, Noise::kSpikes}) {
    std::vector<double> medians, mads;
    for (int seed = 0; seed < kSeeds; ++seed) {
      NoisyClock clock(noise, static_cast<std::uint64_t>(seed));
      std::vector<double> sample;
      for (int i = 0; i < 12; ++i) sample.push_back(clock.run(1).ns);
      medians.push_back(median(sample));
      mads.push_back(median_absolute_deviation(sample));
    }
    const double jitter = noise == Noise::kJitter ? 0.02 : 0.01;
    // Spikes in a twentieth of the samples change the median by less than a tenth of a deviation.
    EXPECT_NEAR(median(medians), 1, 0.1 * jitter + 3 * jitter / std::sqrt(12.0 * kSeeds));
    // The MAD is 0.6745 standard deviations for a normal distribution, and slightly less for few
    // samples.
    EXPECT_NEAR(median(mads), 0.6745 * jitter, 0.15 * jitter);
  }
}

}  // namespace
}  // namespace rooftile
