#include "tuner/step_costs.h"

#include <algorithm>
#include <cmath>

namespace rooftile {
namespace {

// Gain of the first batch, and how it falls with later ones, before this run has seen any. The
// searches of the frozen spaces (bench/replay) reach 80 to 90 % of the optimum after 4 candidates
// and 96 % after 16.
constexpr double kFirstGain = 0.25, kGainExponent = 1.5;
constexpr double kExpectedWeight = 3;  // Weight of the expectation, in observations.

}  // namespace

void StepCosts::compiled(double work, double seconds) {
  compile_work_ += work;
  compile_s_ += seconds;
}

void StepCosts::certified(double seconds) {
  certificates_s_ += seconds;
  ++certificates_;
}

void StepCosts::requested(std::size_t requests, double seconds) {
  requests_s_ += seconds;
  requests_ += static_cast<double>(requests);
}

void StepCosts::took(double seconds, double expected_s) {
  taken_s_ += seconds;
  expected_s_ += expected_s;
}

double StepCosts::gain(std::size_t batch) const {
  const double expected = kFirstGain / std::pow(static_cast<double>(batch + 1), kGainExponent);
  if (batch >= gains_.size()) return expected;
  const Gain& seen = gains_[batch];
  return (kExpectedWeight * expected + seen.sum) /
         (kExpectedWeight + static_cast<double>(seen.count));
}

void StepCosts::gained(std::size_t batch, double log2_gain) {
  if (batch >= gains_.size()) gains_.resize(batch + 1);
  gains_[batch].sum += std::max(0.0, log2_gain);
  ++gains_[batch].count;
}

void StepCosts::claimed(double log2_claim, double log2_gain) {
  claimed_ += log2_claim;
  realized_ += std::max(0.0, log2_gain);
}

}  // namespace rooftile
