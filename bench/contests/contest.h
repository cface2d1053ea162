// Contestants for one GEMM, timed in turn on the same rotated operands.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/baselines/baseline_ratio.h"
#include "core/device_profile.h"
#include "core/numbers/statistics.h"
#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

struct ContestSetting {
  std::filesystem::path database;
  double seconds = 2;                       // Sampling time for one problem.
  double limit_s = 3;                       // A call that takes longer is skipped.
  std::vector<Types> against = {};          // Types of further tuned kernels for the same GEMM.
  std::vector<Variant> kernels = {};        // Further kernels.
  std::vector<std::string> baselines = {};  // Vendors' libraries (bench/baselines/baseline.h).
  std::string baseline_library = {};        // Path of the library; "": it is searched.
};

/// Name as in the CSV: "openblas", "openblas1", "auto", "tuned", "default", "naive" are whole calls
/// on host pointers; "tuned_kernel", "default_kernel", "naive_kernel" are kernel times by the
/// device's clock, without packing; "tuned_kernel_f16" is one of other types, "kernel_1" the first
/// of ContestSetting::kernels. "cublas" and "clblast" are all that the library does in a call, by
/// its device's clock.
struct ContestantResult {
  std::string name;
  std::optional<Summary> time;             // Time of the whole batch; empty when it was skipped.
  std::string skipped;                     // Reason why it was skipped.
  std::string detail;                      // Kernel, or the tier that auto chose.
  double pack_ns = 0;                      // A kernel's packing, which `time` lacks; 0: none.
  std::vector<BaselineRatio> ratios = {};  // tuned_kernel and kernel_N over the baselines.
};

struct ContestResult {
  std::vector<ContestantResult> contestants;

  const Summary* time_of(std::string_view contestant) const;
};

/// A batch runs as that many GEMMs, one after the other: whole calls on operands of their own, and
/// kernels as the time of one GEMM times the batch.
class Contest {
 public:
  /// Throws kDevice without a device, kDatabase when none of this machine's devices is tuned in the
  /// database; for baselines the errors of open_baseline.
  explicit Contest(const ContestSetting& setting);
  ~Contest();

  ContestResult run(const Problem& problem);
  const DeviceProfile& device() const;
  /// One line for each baseline: its library and device.
  std::vector<std::string> baselines() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
