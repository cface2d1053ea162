// Workspace of one plan, for runs that are timed.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/kernel/kernel.h"

namespace rooftile {

/// Buffers for the packed operands and the partial sums of a plan, as far as it needs them. Errors:
/// those of Device::create_buffer.
class Panels {
 public:
  Panels(Device& device, const GemmPlan& plan) {
    const auto allocate = [&](std::int64_t words, std::optional<Buffer>& buffer) {
      if (words > 0)
        buffer = device.create_buffer(static_cast<std::uint64_t>(words) * sizeof(std::uint32_t),
                                      BufferUse::kDevice);
    };
    allocate(plan.packed_a_words, a_);
    allocate(plan.packed_b_words, b_);
    allocate(plan.part_words, parts_);
  }
  Workspace workspace() const {
    return {a_ ? &*a_ : nullptr, b_ ? &*b_ : nullptr, parts_ ? &*parts_ : nullptr};
  }

 private:
  std::optional<Buffer> a_, b_, parts_;
};

}  // namespace rooftile
