#include "cli/explanation.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::array kDimensions = {Dimension::kM, Dimension::kN, Dimension::kK, Dimension::kBatch};

bool is_legal(const Problem& p) {
  try {
    validate(p);
    return true;
  } catch (const Error&) {
    return false;  // Beyond the address space.
  }
}

std::vector<NamedFlip> flips_of(const Context& context, const Problem& p,
                                const Residencies& where) {
  std::vector<NamedFlip> flips;
  for (const Dimension dimension : kDimensions) {
    if (is_grouped(p) && dimension == Dimension::kBatch) continue;
    const std::int64_t size = size_of(p, dimension);
    const auto device_is_chosen = [&](std::int64_t other) {
      const Problem changed = resized(p, dimension, other);
      return is_legal(changed) && context.decide(changed, where).tier == Tier::kDevice;
    };
    flips.push_back({name(dimension), size, find_flip(size, search_range(size), device_is_chosen)});
  }
  return flips;
}

double peak_of(const ComparisonRow& row, const DeviceRates& rates) {
  const auto* p = std::get_if<Problem>(&row.work);
  return p != nullptr ? peak_gflops(rates, p->types) : rates.fma_gflops;
}

/// Same decision as for the rows of the table: the host has to fetch resident operands.
std::optional<double> breakeven_elements(const Context& context) {
  SizedOperation scale = {.kind = &parse_operation("scale"), .elements = 1, .type = DataType::kF32};
  const auto pays = [&](std::int64_t elements) {
    scale.elements = static_cast<double>(elements);
    return context.decide(call_of(scale, Residency::kDevice, Residency::kDevice)).tier ==
           Tier::kDevice;
  };
  if (pays(1)) return 1;
  const Flip flip = find_flip(1, element_range(1), pays);
  return flip.above ? std::optional(static_cast<double>(*flip.above)) : std::nullopt;
}

}  // namespace

ExplainedWork explain_product(const Context& context, const Problem& p, TierChoice tier,
                              const Residencies& where, Devices devices) {
  ExplainedWork work = {
      .what = to_string(p) + (p.types == Types{} ? " f32" : ""),
      .operation = {.flops = flops(p), .bytes = minimum_bytes(p)},
      .where = where,
      .explanation = context.explain({.problem = p, .tier = tier, .devices = devices}, where),
      .flips = {}};
  if (depends_on_size(work.explanation.decision.veto_name))
    work.flips = flips_of(context, p, where);
  return work;
}

ExplainedWork explain_operation(const Context& context, const SizedOperation& operation,
                                const Residencies& where) {
  const auto decide = [&](double elements) {
    SizedOperation other = operation;
    other.elements = elements;
    return context.decide(call_of(other, where.a, where.c));
  };
  ExplainedWork work = {.what = fmt::format("{} of {:.0f} elements {}", operation.kind->name,
                                            operation.elements, name(operation.type)),
                        .operation = operation.operation(),
                        .where = where,
                        .explanation = {.decision = decide(operation.elements),
                                        .device_name = context.device_name(),
                                        .kernel = {},
                                        .note = {}},
                        .flips = {}};
  if (!depends_on_size(work.explanation.decision.veto_name)) return work;
  const auto elements = static_cast<std::int64_t>(operation.elements);
  work.flips.push_back(
      {"elements", elements, find_flip(elements, element_range(elements), [&](std::int64_t other) {
         return decide(static_cast<double>(other)).tier == Tier::kDevice;
       })});
  return work;
}

ExplainedTable explain_table(const Context& context, const Residencies& where) {
  const DeviceRates& device = context.model().device();
  const bool calibrated = is_calibrated(device);
  ExplainedTable table = {.device = context.device_name(),
                          .note = context.note(),
                          .where = where,
                          .ridge_intensity = {},
                          .breakeven_flops = {},
                          .breakeven_elements = {},
                          .rows = {}};
  if (calibrated) {
    table.ridge_intensity = ridge_intensity(device.fma_gflops, memory_gbps(device));
    table.breakeven_flops = breakeven_flops(device.submit_ns, device.fma_gflops);
    table.breakeven_elements = breakeven_elements(context);
  }
  for (const ComparisonRow& row : comparison_rows()) {
    ExplainedTable::Row explained = {
        .row = row, .decision = {}, .measured_kernel_ns = {}, .utilisation = {}};
    if (const auto* p = std::get_if<Problem>(&row.work)) {
      const Explanation explanation = context.explain({.problem = *p}, where);
      explained.decision = explanation.decision;
      explained.measured_kernel_ns = explanation.measured_kernel_ns;
    } else {
      explained.decision =
          context.decide(call_of(std::get<SizedOperation>(row.work), where.a, where.c));
    }
    const Operation operation = operation_of(row);
    if (const double peak = peak_of(row, device); calibrated && peak > 0)
      explained.utilisation =
          attainable_gflops(operation.flops / operation.bytes, peak, memory_gbps(device)) / peak;
    table.rows.push_back(std::move(explained));
  }
  return table;
}

}  // namespace rooftile
