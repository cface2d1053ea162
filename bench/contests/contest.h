// Contestants of one product, timed in turn on the same rotated operands.
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

namespace rooftile {

struct ContestSetting {
  std::filesystem::path database;
  double seconds = 2;               // of samples for one problem
  double limit_s = 3;               // a product that takes longer is skipped
  std::vector<Types> against = {};  // tuned kernels of the same product in other types besides
  std::vector<std::string> yardsticks =
      {};                              // vendors' libraries besides (bench/baselines/baseline.h)
  std::string yardstick_library = {};  // path of theirs; "": searched
};

/// Name as in the CSV: "openblas", "openblas1", "auto", "tuned", "default", "naive" are whole calls
/// on host pointers, "tuned_kernel", "default_kernel", "naive_kernel" a product's time by the
/// device's clock, packing not included; "tuned_kernel_f16" and the like one of other types.
/// "cublas" and "clblast" are that library's time by its device's clock, whatever it does besides
/// included.
struct ContestantResult {
  std::string name;
  std::optional<Summary> time;  // of the whole batch; nothing when it was skipped
  std::string skipped;          // why
  std::string detail;           // kernel, or the tier that auto chose
};

struct ContestResult {
  std::vector<ContestantResult> contestants;
  std::optional<double>
      pack_ns;  // of the tuned kernel; nothing when it packs nothing or did not run
  std::vector<YardstickRatio> ratios;  // of those that ran beside a tuned kernel

  const Summary* time_of(std::string_view contestant) const;
};

/// A batch is run as that many products, one after the other: whole calls on operands of their own,
/// kernels as one product's time times the batch.
class Contest {
 public:
  /// Throws kDevice without a device, kDatabase when none of this machine's devices is tuned in the
  /// database; for yardsticks as open_yardstick.
  explicit Contest(const ContestSetting& setting);
  ~Contest();

  ContestResult run(const Problem& problem);
  const DeviceProfile& device() const;
  /// One line a yardstick: its library and device.
  std::vector<std::string> yardsticks() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rooftile
