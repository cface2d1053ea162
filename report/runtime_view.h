// What the runtime would do, asked by a report that sees neither runtime nor generator: the caller
// answers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/records.h"
#include "runtime/model/predict.h"

namespace rooftile {

struct ChosenKernel {
  std::string kernel;  // short name
  double ns = 0;       // expected, packing included
};

/// A tuned device's kernels.
class KernelChoice {
 public:
  virtual ~KernelChoice() = default;
  /// For DispatchModel.
  virtual std::vector<PredictedClass> predicted_classes() const = 0;
  /// What a call on host memory runs; nothing when no kernel is legal for it.
  virtual std::optional<ChosenKernel> choose(const Problem& p) const = 0;
};

struct RuntimeView {
  std::string_view generator_version;                                 // whose certificates count
  Variant naive = {};                                                 // legal for everything
  std::function<Variant(const DeviceProfile&)> default_variant = {};  // what nobody has tuned
  std::function<std::unique_ptr<KernelChoice>(const DeviceProfile&, const DeviceRates&,
                                              std::vector<TunedKernel>,
                                              std::span<const PortfolioKernel>)>
      kernels = {};
};

}  // namespace rooftile
