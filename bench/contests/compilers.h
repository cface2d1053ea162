// Kernels that threads compile while others are timed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/device_profile.h"
#include "core/problem.h"
#include "core/variant.h"
#include "tuner/worker/measure.h"

namespace rooftile {

/// Why the device cannot run the kernel on the problem, which need not be staged.
std::optional<std::string> why_illegal(const Variant& variant, const DeviceLimits& limits,
                                       const Problem& problem);

/// Compiles legal kernels in the order in which they are wanted, each once for a signature. A
/// driver may never return, and nothing waits for the threads. Not thread-safe.
class Compilers {
 public:
  explicit Compilers(std::shared_ptr<Device> device, double longest_s = 60);
  void add(const Variant& variant, const Problem& problem);
  /// Lets so many threads work until all kernels that were added are compiled.
  void start(unsigned threads);
  /// Whether one was started in this process, which then ends by std::_Exit.
  static bool any_threads();
  /// Gives the measurer the kernel that it will need, unless it has it or it was not added. Throws
  /// the kernel's error, and kCompile after longest_s, each time that it is asked for the kernel.
  void provide(Measurer& measurer, const Variant& variant, const Problem& problem);

 private:
  struct Work;
  struct Task;
  std::shared_ptr<Device> device_;
  double longest_s_;
  std::shared_ptr<Work> work_;
  std::map<std::string, std::shared_ptr<Task>> tasks_;
};

}  // namespace rooftile
