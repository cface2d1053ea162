// One kernel on one problem, as it is and with one thing changed at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/limiter/changes.h"
#include "core/problem.h"
#include "runtime/kernel/kernel.h"
#include "tuner/worker/panels.h"
#include "tuner/worker/timed_operands.h"

namespace rooftile {

/// What a change does to the time of the kernel.
struct Movement {
  Change change;
  /// Share of the kernel's time that what was doubled takes: (changed time / time) - 1. For kIdle
  /// the share in which units had nothing to do: 1 - (time of twice the workgroups / time) / 2.
  double share = 0;
  double error = 0;  ///< Standard error of share.
};

/// Keeps kernel, operands and changed kernels. Not thread-safe. Errors: those of Kernel and Device;
/// kInternal when a kernel, changed or not, computes something wrong (spot check against float64).
class LimiterTrial {
 public:
  /// The operands rotate through rotate_bytes, as those of the tuner. The problem is staged, has
  /// beta 0 and no epilogue.
  LimiterTrial(std::shared_ptr<Device> device, const Variant& variant, const Problem& problem,
               double rotate_bytes);

  /// Times of so many rounds in ns, in which the unchanged kernel and each change take turns.
  void measure(int rounds);
  /// Median of the unchanged kernel.
  double ns() const;
  /// Those of all changes, the largest share first.
  std::vector<Movement> movements() const;
  /// The unchanged kernel beside the control, which only has a `nothing`: 0 but for noise.
  Movement control() const;

 private:
  struct Changed {
    Change change;
    Pipeline pipeline;
    std::vector<std::unique_ptr<CommandList>> lists = {};  ///< One of each operand set.
    std::vector<double> ns = {};
  };
  void pack();
  /// The steps of the kernel behind packing.
  std::vector<Step> steps(std::size_t set, float alpha);
  std::vector<Step> changed_steps(const Changed& changed, std::size_t set);
  void spread_operands();
  Movement movement(const Changed& one) const;
  double run(CommandList& list);
  /// Time of one sample in ns: processor time where a long one runs on the host's processors.
  double sample(const std::vector<std::unique_ptr<CommandList>>& lists, bool wall);
  void check(std::size_t set, CommandList& list, std::string_view what);

  std::shared_ptr<Device> device_;
  Problem problem_;
  Variant variant_;
  Kernel kernel_;
  Placement placement_;
  TimedOperands operands_;
  std::vector<Panels> panels_;  ///< One of each operand set.
  std::vector<Buffer> spread_a_, spread_b_;
  std::vector<std::unique_ptr<CommandList>> unchanged_;
  bool on_host_;
  std::vector<double> ns_, base_;  ///< Unchanged: by the device's clock; as sample() says.
  std::vector<Changed> changed_;
  std::size_t turn_ = 0;
};

}  // namespace rooftile
