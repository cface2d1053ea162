// Expected cost and gain of a run's next steps, learnt from the steps that it has taken. Arithmetic
// without a clock, a device or a file.
#pragma once

#include <cstddef>
#include <vector>

namespace rooftile {

class StepCosts {
 public:
  /// What is expected of a GPU: a certificate took 0.06 s on an NVIDIA H200, 2026-11-27.
  static StepCosts of_gpu() {
    StepCosts costs;
    costs.certificates_s_ = 0.18;
    return costs;
  }

  /// Wall time of compiling a kernel with this compiler_work() (generator/compiler_work.h).
  double compile_s(double work) const { return work * compile_s_ / compile_work_; }
  void compiled(double work, double seconds);

  /// Wall time of certifying a kernel that is compiled.
  double certificate_s() const { return certificates_s_ / certificates_; }
  void certified(double seconds);

  /// Wall time of a request to the worker besides its kernels.
  double request_s() const { return requests_s_ / requests_; }
  void requested(std::size_t requests, double seconds);

  /// Ratio of the time that batches took to the time that was expected of them.
  double time_ratio() const { return taken_s_ / expected_s_; }
  void took(double seconds, double expected_s);

  /// Decrease of log2 of a problem's time by its nth search batch, counted from 0.
  double gain(std::size_t batch) const;
  void gained(std::size_t batch, double log2_gain);

  /// Ratio of the decrease to the decrease that a strategy had claimed.
  double claim_ratio() const { return realized_ / claimed_; }
  void claimed(double log2_claim, double log2_gain);

 private:
  // What is expected before anything was seen counts as some observations of that. On lavapipe 22.3
  // on an AMD EPYC with cold caches, 2026-11-23, a statement took 1.2 to 2.4 ms, and a certificate
  // 0.02 to 0.3 s.
  double compile_s_ = 3, compile_work_ = 2000;
  double certificates_s_ = 0.6, certificates_ = 3;
  double requests_s_ = 0.1, requests_ = 20;
  double taken_s_ = 2, expected_s_ = 2;
  double realized_ = 0.2, claimed_ = 0.2;
  struct Gain {
    double sum = 0;
    std::size_t count = 0;
  };
  std::vector<Gain> gains_;  ///< By batch.
};

}  // namespace rooftile
