// The runtime's choices, as callbacks that the caller provides, because report/ may include neither
// runtime nor generator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/tables/records.h"
#include "runtime/model/predict.h"

namespace rooftile {

struct ChosenKernel {
  std::string kernel;  // short name
  double ns = 0;       // expected, packing included
};

/// The kernels of a tuned device.
class KernelChoice {
 public:
  virtual ~KernelChoice() = default;
  /// The tuned times for a DispatchModel.
  virtual std::vector<PredictedClass> predicted_classes() const = 0;
  /// The kernel that a call on host memory runs; empty when none is legal for it.
  virtual std::optional<ChosenKernel> choose(const Problem& p) const = 0;
};

struct RuntimeView {
  std::string_view generator_version;  // whose certificates count
  Variant naive = {};                  // legal for everything
  std::function<std::unique_ptr<KernelChoice>(const DeviceProfile&, const DeviceRates&,
                                              std::vector<TunedKernel>,
                                              std::span<const PortfolioKernel>)>
      kernels = {};
};

}  // namespace rooftile
