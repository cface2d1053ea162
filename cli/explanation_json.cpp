#include <nlohmann/json.hpp>

#include "cli/explanation.h"

namespace rooftile {
namespace {

template <typename T>
nlohmann::json number(const std::optional<T>& x) {
  return x ? nlohmann::json(*x) : nlohmann::json(nullptr);
}

nlohmann::json resident(const Residencies& where) {
  nlohmann::json operands = nlohmann::json::array();
  if (where.a == Residency::kDevice) operands.push_back("a");
  if (where.b == Residency::kDevice) operands.push_back("b");
  if (where.c == Residency::kDevice) operands.push_back("c");
  return operands;
}

nlohmann::json packed(const Residencies& where) {
  if (where.a == Residency::kPacked) return "a";
  return where.b == Residency::kPacked ? nlohmann::json("b") : nlohmann::json(nullptr);
}

/// Fields that GEMMs, operations and rows of the table have in common.
nlohmann::json json_of(const Decision& d, const Operation& operation) {
  return {{"flops", operation.flops},
          {"bytes", operation.bytes},
          {"intensity", operation.flops / operation.bytes},
          {"tier", name(d.tier)},
          {"score", d.score},
          {"device_ns", d.device_ns},
          {"host_ns", d.host_ns},
          {"host1_ns", d.host1_ns},
          {"veto", d.veto},
          {"veto_name", name(d.veto_name)}};
}

}  // namespace

nlohmann::json json_of(const ExplainedWork& work) {
  const Explanation& e = work.explanation;
  const Decision& d = e.decision;
  nlohmann::json all = json_of(d, work.operation);
  nlohmann::json factors = nlohmann::json::array(), flips = nlohmann::json::array();
  const bool vetoed = d.veto_name != Veto::kNone;
  const auto known = [&](double x) { return vetoed ? nlohmann::json(nullptr) : nlohmann::json(x); };
  for (const Factor& f : d.factors)
    factors.push_back({{"name", f.name}, {"value", known(f.value)}, {"ns", known(f.ns)}});
  for (const NamedFlip& named : work.flips)
    flips.push_back({{"size", named.what},
                     {"value", named.size},
                     {"below", number(named.flip.below)},
                     {"above", number(named.flip.above)},
                     {"lowest", named.flip.searched.lowest},
                     {"highest", named.flip.searched.highest}});
  all["problem"] = work.what;
  all["resident"] = resident(work.where);
  all["packed"] = packed(work.where);
  all["forced"] = e.forced;
  all["forced_device"] = e.forced_device;
  all["factors"] = factors;
  all["split"] = e.split.wins;
  all["split_ns"] = e.split.ns;
  all["split_shares"] = e.split.shares;
  all["split_reason"] = e.split.reason;
  all["host64_ns"] = d.host64_ns;
  all["may_round_operands"] = e.may_round_operands;
  all["why_not_rounded"] = e.why_not_rounded;
  all["submit_ns"] = d.submit_ns;
  all["upload_ns"] = d.upload_ns;
  all["kernel_ns"] = d.kernel_ns;
  all["download_ns"] = d.download_ns;
  all["pass_ns"] = d.pass_ns;
  all["pass_over"] = d.pass_over;
  all["overlapped_ns"] = d.overlapped_ns;
  all["way_a"] = name(d.transfer_paths.a);
  all["way_b"] = name(d.transfer_paths.b);
  all["way_c_in"] = name(d.transfer_paths.c_in);
  all["way_c_out"] = name(d.transfer_paths.c_out);
  all["measured"] = {{"kernel_ns", number(e.measured_kernel_ns)},
                     {"host_ns", number(e.measured_host_ns)},
                     {"host1_ns", number(e.measured_host1_ns)}};
  all["counterfactual"] = {{"text", counterfactual_text(work)}, {"flips", flips}};
  all["device"] = e.device_name;
  all["kernel"] = e.kernel;
  all["means"] = e.means;
  all["quick_kernel"] = e.quick_kernel;
  all["note"] = e.note;
  return all;
}

nlohmann::json json_of(const ExplainedTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ExplainedTable::Row& row : table.rows) {
    nlohmann::json all = json_of(row.decision, operation_of(row.row));
    all["problem"] = row.row.what;
    all["utilisation"] = number(row.utilisation);
    all["measured_kernel_ns"] = number(row.measured_kernel_ns);
    rows.push_back(all);
  }
  return {{"device", table.device},
          {"note", table.note},
          {"resident", resident(table.where)},
          {"ridge_intensity", number(table.ridge_intensity)},
          {"breakeven_flops", number(table.breakeven_flops)},
          {"breakeven_elements", number(table.breakeven_elements)},
          {"rows", rows}};
}

}  // namespace rooftile
