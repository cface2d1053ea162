// The search for the fastest kernel of one problem, without the measurements: the page makes them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/device_profile.h"
#include "tuner/search/candidate_queue.h"
#include "tuner/search/strategy.h"

namespace rooftile::web {

class Tuning {
 public:
  /// Candidates are the legal kernels of the problem in the order of the kernel space, then those
  /// of `known` (winners on other devices) that are legal. Kernels that differ in their spirv-opt
  /// passes alone are one, because the page has no spirv-opt. The search begins with the default,
  /// the known ones and one kernel of each plausible family, as native searches do. Throws
  /// kInvalidArgument for an unknown strategy, and kUnsupported where no kernel is legal.
  Tuning(const DeviceProfile& device, const Problem& problem, const DeviceRates& rates,
         std::string_view strategy, std::uint64_t seed, std::span<const Variant> known);
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;

  const Problem& problem() const { return problem_; }  ///< Over rows padded to whole vectors.
  const DeviceLimits& limits() const { return device_.limits; }
  const DeviceRates& rates() const { return rates_; }
  const std::vector<Variant>& candidates() const { return space_.variants; }
  /// Order of cost by the model; nanoseconds where the rates are measured.
  double analytical_ns(std::size_t candidate) const { return space_.analytical_ns.at(candidate); }

  /// Returns up to `count` candidates to measure next, what compiles fastest first; fewer only
  /// where all others were proposed or observed.
  std::vector<std::size_t> propose(std::size_t count);
  /// Takes a measured time; infinity: the kernel failed. Of several times of a candidate the last
  /// one counts.
  void observe(std::size_t candidate, double ns);

 private:
  CandidateQueue queue(std::span<const Variant> known) const;
  bool observed(std::size_t candidate) const;

  DeviceProfile device_;
  Problem problem_;
  DeviceRates rates_;
  SearchSpace space_;
  std::unique_ptr<Strategy> strategy_;
  CandidateQueue queue_;
  std::vector<bool> proposed_;
  std::vector<Observation> history_;
};

}  // namespace rooftile::web
