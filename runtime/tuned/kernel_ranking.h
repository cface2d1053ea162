// Ranking of a tuned device's kernels for a problem, best first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/device_profile.h"
#include "db/tables/records.h"
#include "generator/emit.h"
#include "generator/rules.h"
#include "generator/signature.h"
#include "runtime/call/packed_operand.h"
#include "runtime/model/predict.h"

namespace rooftile {

/// A kernel for one problem. The ranking owns the candidate.
struct RankedChoice {
  const CandidateRecord* candidate;
  double expected_ns;  ///< Expected time, packing included.
};

/// An operand that was packed before the call, and how a kernel uses it.
struct PrepackedOperand {
  enum class Use : std::uint8_t {
    kReadsPacked,  ///< The kernel reads an existing packed layout, so packing costs nothing.
    kReadsStored,  ///< The kernel reads the operand as it is stored, or packs it from there.
    kNone,         ///< The kernel cannot run.
  };
  Operand operand;
  std::function<Use(const Variant&)> use;
};

/// Immutable and therefore thread-safe.
class KernelRanking {
 public:
  /// portfolio: kernels of classes without a tuned kernel are left out.
  KernelRanking(const DeviceLimits& limits, const DeviceRates& rates,
                std::vector<TunedKernel> tuned, std::span<const PortfolioKernel> portfolio = {});

  /// Returns each kernel once that is legal for the problem with this placement of operands, on a
  /// device that may support less, in this order:
  /// - kernels tuned on exactly these sizes, of a grouped problem in its bucket, by rank;
  /// - the portfolio, by predicted time;
  /// - kernels of other tuned problems, nearest first by log distance of the sizes;
  /// - the kernel that is legal for everything, unless the portfolio prefers it.
  ///
  /// With an operand that is already packed expected_ns leaves out its packing, and the kernels
  /// tuned on exactly these sizes are also sorted by that time, fastest first.
  std::vector<RankedChoice> ranked(const Problem& p, const Placement& placement,
                                   const DeviceLimits& limits,
                                   const std::optional<PrepackedOperand>& prepacked = {}) const;
  std::vector<RankedChoice> ranked(const Problem& staged) const {
    return ranked(staged, own_buffers(staged), limits_);
  }
  /// Why the first kernel of the problem's class that is not legal for its sizes is not; "" if each
  /// is legal.
  std::string refusal(const Problem& staged) const;

  /// Time of the best kernel tuned on exactly these sizes, packing included.
  std::optional<double> measured_ns(const Problem& staged) const;

  std::vector<PredictedClass> predicted_classes() const;

  const DeviceRates& rates() const { return rates_; }
  /// The classes that have tuned kernels, each once, without those of grouped problems: kernels
  /// for groups compute no other products.
  std::span<const Signature> classes() const { return classes_; }
  /// Whether kernels are tuned for problems like this one: for its class, and of a grouped one for
  /// groups of about these sizes.
  bool has_class(const Problem& p) const;
  /// Whether a kernel is tuned that may round operands (Types::rounding).
  bool rounds() const;
  /// The problem, packed, in the tuned class whose kernels are the most like those that it wants
  /// (same transposes; then type_distance; then one without epilogue), and the expected time here
  /// of a kernel that takes 1 ns there: the ratio of the rooflines. No value: nothing is tuned.
  struct Near {
    Problem problem;
    double time_ratio = 1;
  };
  std::optional<Near> nearest(const Problem& p) const;

 private:
  struct Portfolio {
    PredictedClass predicted;
    std::vector<CandidateRecord> kernels;  ///< In the selector's order.
  };

  DeviceLimits limits_;
  DeviceRates rates_;
  std::vector<TunedKernel> tuned_;
  std::vector<Signature> classes_;
  std::vector<Portfolio> portfolios_;
};

/// How kernels use a packed operand, if there is one, in this problem. is_stored: whether they also
/// find the operand as stored, in the packed operand or in the call itself.
enum class IsStored : std::uint8_t { kNo, kYes };
std::optional<PrepackedOperand> prepacked(const PackedOperand* packed, const Problem& p,
                                          IsStored is_stored);

}  // namespace rooftile
