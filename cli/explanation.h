// What `rooftile explain` finds out, and how it says it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/dispatch/context.h"
#include "runtime/model/comparison.h"
#include "runtime/model/counterfactual.h"

namespace rooftile {

/// One product or operation.
struct ExplainedWork {
  std::string what;  // "512x512x512 nn f32"
  Operation operation;
  Residencies where;
  Explanation explanation;       // of an operation: the decision alone
  std::vector<NamedFlip> flips;  // none when no size changes the decision's veto
};
ExplainedWork explain_product(const Context& context, const Problem& p, TierChoice tier,
                              const Residencies& where);
/// where: a is what is read, c what is written.
ExplainedWork explain_operation(const Context& context, const SizedOperation& operation,
                                const Residencies& where);

/// "the host would take 1.80 x as long; host from m = 95 down", or why there is nothing to say.
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
  // Of float32 on the device; nothing when it is not calibrated.
  std::optional<double> ridge_intensity, breakeven_flops;
  // From so many elements on the device is faster at an element-wise operation whose operands are
  // on the device, 4 bytes read and 4 written. Nothing: at no size up to element_range()'s highest,
  // or device or host are not calibrated.
  std::optional<double> breakeven_elements;
  std::vector<Row> rows;
};
ExplainedTable explain_table(const Context& context, const Residencies& where);
std::string text_of(const ExplainedTable& table);
nlohmann::json json_of(const ExplainedTable& table);

}  // namespace rooftile
