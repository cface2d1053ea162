// The results of `rooftile explain`, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/dispatch/context.h"
#include "runtime/model/comparison.h"
#include "runtime/model/counterfactual.h"

namespace rooftile {

/// Explanation of one GEMM or operation.
struct ExplainedWork {
  std::string what;  // "512x512x512 nn f32"
  Operation operation;
  Residencies where;
  Explanation explanation;       // An operation sets only the decision.
  std::vector<NamedFlip> flips;  // Empty when no size changes the decision's veto.
};
ExplainedWork explain_product(const Context& context, const Problem& p, TierChoice tier,
                              const Residencies& where, Devices devices = Devices::kDefault);
/// where: a is the operand that is read, c the one that is written.
ExplainedWork explain_operation(const Context& context, const SizedOperation& operation,
                                const Residencies& where);

/// "the host would take 1.80 x as long; host from m = 95 down", or the reason why there is no other
/// choice.
std::string counterfactual_text(const ExplainedWork& work);
/// "host from 95 down; no change up to 65536".
std::string flip_text(const NamedFlip& named, Tier chosen);

std::string text_of(const ExplainedWork& work);
nlohmann::json json_of(const ExplainedWork& work);

/// The published comparison on this machine.
struct ExplainedTable {
  struct Row {
    ComparisonRow row;
    Decision decision;
    std::optional<double> measured_kernel_ns;
    std::optional<double> utilisation;  // share of the device's peak that the intensity allows
  };
  std::string device, note;
  Residencies where;
  // For float32 on the device; empty when it is not calibrated.
  std::optional<double> ridge_intensity, breakeven_flops;
  // Number of elements from which the device is faster at an element-wise operation on resident
  // operands that reads 4 bytes and writes 4 bytes per element. Empty when it is slower at all
  // sizes of element_range(), or when device or host are not calibrated.
  std::optional<double> breakeven_elements;
  std::vector<Row> rows;
};
ExplainedTable explain_table(const Context& context, const Residencies& where);
std::string text_of(const ExplainedTable& table);
nlohmann::json json_of(const ExplainedTable& table);

}  // namespace rooftile
