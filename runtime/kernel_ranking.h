// Which of a tuned device's kernels a problem should run, best first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/device_profile.h"
#include "db/records.h"
#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/signature.h"
#include "runtime/model/predict.h"

namespace rooftile {

/// A kernel for one problem; the candidate belongs to the ranking.
struct RankedChoice {
  const CandidateRecord* candidate;
  double expected_ns;  // packing included
};

/// An operand that was packed before the call, and what a kernel does with it.
struct PrepackedOperand {
  enum class Use : std::uint8_t {
    kReadsPanels,  // that are there: packing it costs nothing
    kReadsStored,  // as it is stored, which includes packing it from there
    kNone,         // the kernel cannot run
  };
  Operand operand;
  std::function<Use(const Variant&)> use;
};

/// Immutable and therefore thread-safe.
class KernelRanking {
 public:
  /// portfolio: kernels of classes of which nothing is tuned are left out.
  KernelRanking(const DeviceLimits& limits, const DeviceRates& rates,
                std::vector<TunedKernel> tuned, std::span<const PortfolioKernel> portfolio = {});

  /// Kernels that are legal for the problem as it would be staged, each once: those tuned on
  /// exactly these sizes by rank, then the portfolio by predicted time, then those of other tuned
  /// problems, the nearest (log distance of the sizes) first. Last, unless the portfolio prefers
  /// it, the kernel that is legal for everything.
  std::vector<RankedChoice> ranked(const Problem& staged) const;
  /// The same with operands wherever they lie, on a device that may offer less.
  std::vector<RankedChoice> ranked(const Problem& p, const Placement& placement,
                                   const DeviceLimits& limits) const;
  /// The same with an operand that is packed already: expected_ns has no more than what is left to
  /// do, and of the kernels that were tuned on exactly these sizes, too, the fastest is first.
  std::vector<RankedChoice> ranked(const Problem& p, const Placement& placement,
                                   const DeviceLimits& limits,
                                   const PrepackedOperand& prepacked) const;

  /// Kernel and packing of the best one that was tuned on exactly these sizes.
  std::optional<double> measured_ns(const Problem& staged) const;

  std::vector<PredictedClass> predicted_classes() const;

  /// Of which kernels are tuned, each once.
  std::span<const Signature> classes() const { return classes_; }
  bool has_class(const Problem& p) const;
  /// The problem, packed, in the tuned class with the same transposes whose kernels are the most
  /// like those that it wants (type_distance; then one without epilogue), and what a kernel that
  /// takes 1 ns there is expected to take here, as the rooflines go. Nothing: no class has the
  /// transposes.
  struct Near {
    Problem problem;
    double time_ratio = 1;
  };
  std::optional<Near> nearest(const Problem& p) const;

 private:
  std::vector<RankedChoice> ranked(const Problem& p, const Placement& placement,
                                   const DeviceLimits& limits,
                                   const PrepackedOperand* prepacked) const;

  struct Portfolio {
    PredictedClass predicted;
    std::vector<CandidateRecord> kernels;  // in the selector's order
  };

  DeviceLimits limits_;
  DeviceRates rates_;
  std::vector<TunedKernel> tuned_;
  std::vector<Signature> classes_;
  std::vector<Portfolio> portfolios_;
};

}  // namespace rooftile
