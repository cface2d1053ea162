// What `rooftile explain` and the C ABI say of a call: the decision, and what would run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/model/dispatch.h"

namespace rooftile {

/// How a call would be split over several devices and the host (docs/several-devices.md).
struct SplitExplanation {
  double ns = 0;            ///< Predicted time of the plan; 0: none was made.
  bool wins = false;        ///< Calls follow the plan.
  std::string shares = {};  ///< "llvmpipe 1216, host 832 rows", "" when it does not win.
  std::string reason = {};  ///< Why, or why not; "" where it was not asked for.
};

struct Explanation {
  /// Decision of the model, with the tier that sgemm uses (forced tiers included).
  Decision decision;
  bool forced = false;
  bool for_precision = false;  ///< The precision requires the tier HOST64.
  bool float64_sums = false;   ///< The precision requires float64 sums, on whatever tier.
  /// The device's kernels may round float32 operands: the precision is half or int8.
  bool may_round_operands = false;
  std::string why_not_rounded = {};  ///< "" where that is so, or where it was not asked for.
  std::string product = {};          ///< Types of the product before a pass of the host, else "".
  std::string device_name;           ///< Name of the tuned device, "" when there is none.
  std::string kernel;                ///< Text of the variant that would run, "" when there is none.
  /// How that kernel computes the problem: name(Means), "" when there is no kernel.
  std::string means = {};
  /// What a call that is forced to the device does: "runs", "certifies_first" (it waits until a
  /// kernel of its class is certified), "fails"; "" where the device is not forced.
  std::string_view forced_device = {};
  /// Kernel that would run while that one is being compiled, "" when there is none.
  std::string quick_kernel = {};
  /// Explanation for a reader, such as that nothing is tuned or that the driver changed.
  std::string note;
  SplitExplanation split = {};
  /// Times measured on exactly these sizes: kernel and packing by the tuner, BLAS by the
  /// calibration.
  std::optional<double> measured_kernel_ns = {}, measured_host_ns = {}, measured_host1_ns = {};
};

}  // namespace rooftile
