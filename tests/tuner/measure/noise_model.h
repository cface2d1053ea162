// Simulated clocks with the noise of real machines, for tests of the tuner's estimators. The
// readings depend only on the seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/numbers/random.h"

namespace rooftile {

enum class Noise : std::uint8_t {
  kJitter,  // Gaussian
  kSpikes,  // interrupts: some runs take half as long again on average, never less
  kLevels,  // the clock frequency alternates between two levels, each for some thirty runs
  kDrift,   // the device heats up and is a fifth slower after three hundred runs
  kBursts,  // another program uses a third of the machine for ten runs of every sixty
};

/// Readings of one device under one kind of noise. Simulated time advances with every run,
/// measured or not. An undisturbed run takes about 1.
class NoisyClock {
 public:
  struct Reading {
    double ns;
    double busy_share;  // share of the processors' time that other programs use
  };

  NoisyClock(Noise noise, std::uint64_t seed) : noise_(noise), random_(seed) {
    for (int i = 0; i < 8; ++i) uniform();  // Separates similar seeds.
    phase_ = 60 * uniform();
    slow_ = uniform() < 0.5;
    until_ = -kDwell * std::log(uniform());
  }

  Reading run(double truth) {
    const double jitter = 1 + (noise_ == Noise::kJitter ? 0.02 : 0.01) * normal();
    double factor = 1, busy = 0;
    switch (noise_) {
      case Noise::kJitter:
        break;
      case Noise::kSpikes:
        if (uniform() < 0.05) factor = 1 - 0.5 * std::log(uniform());
        break;
      case Noise::kLevels:
        for (; now_ > until_; until_ -= kDwell * std::log(uniform())) slow_ = !slow_;
        if (slow_) factor = 1.08;
        break;
      case Noise::kDrift:
        factor = 1 + 0.2 * now_ / 300;
        break;
      case Noise::kBursts:
        if (std::fmod(now_ + phase_, 60.0) < 10) {
          factor = 1.5;
          busy = 1.0 / 3;
        }
        break;
    }
    const double ns = truth * factor * jitter;
    now_ += ns;
    return {ns, busy};
  }

  /// Nothing runs for this long.
  void wait(double ns) { now_ += ns; }
  double now() const { return now_; }

 private:
  static constexpr double kDwell = 30;
  double uniform() { return 0.5 * (static_cast<double>(random_.symmetric()) + 1) + 1e-9; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }

  Noise noise_;
  Random random_;
  double now_ = 0, phase_ = 0, until_ = 0;
  bool slow_ = false;
};

}  // namespace rooftile
