#include "runtime/resident/grouped_on_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "core/error.h"
#include "runtime/kernel/staging.h"

namespace rooftile {
namespace {

/// Copies of the operands on the device. Experts are numbered in the order in which groups use
/// them, so that those without rows are not copied.
class Copies {
 public:
  Copies(Resident& resident, const GroupedCall& grouped)
      : resident_(resident), given_(grouped.call), p_(grouped.call.problem) {
    Problem& to = work_.call.problem;
    to = p_;
    to.m = rows_of(grouped.groups);
    auto groups = std::make_shared<ResidentGroups>();
    for (const Group& group : grouped.groups) {
      if (group.rows == 0) continue;
      const auto known = numbers_.try_emplace(group.expert, numbers_.size()).first;
      groups->known.push_back({static_cast<std::int64_t>(known->second), group.rows});
    }
    experts_.resize(numbers_.size());
    for (const auto& [expert, number] : numbers_) experts_[number] = expert;
    to.grouping = grouping_of(groups->known, static_cast<std::int64_t>(experts_.size()));
    work_.call.groups = std::move(groups);
    add_c();
    if (reads_operands(to)) {
      work_.call.a = matrix(p_.types.a, {to.m, p_.k}, given_.a, p_.lda, to.lda);
      add_b();
    }
    if (any(p_.epilogue)) add_epilogue();
    work_.workspace.bytes = resident.device()->profile().device_memory_bytes / kShareOfMemory;
  }

  const ResidentWork& work() const { return work_; }

  void fetch_c() const {
    const Problem& to = work_.call.problem;
    std::vector<char> rows(static_cast<std::size_t>(to.m * to.ldc * bytes_of(p_.types.c)));
    resident_.download(c_, 0, rows.data(), rows.size());
    copy_matrix({to.m, p_.n}, p_.types.c, rows.data(), to.ldc, given_.c, p_.ldc);
  }

 private:
  static constexpr std::uint64_t kShareOfMemory = 4;

  std::shared_ptr<DeviceMemory> memory(std::int64_t bytes) {
    work_.uses.push_back(
        resident_.create_memory(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 16))));
    return work_.uses.back();
  }
  void upload_rows(const std::shared_ptr<DeviceMemory>& to, std::int64_t first_byte, DataType type,
                   Extent extent, const void* from, std::int64_t ld, std::int64_t ld_to) {
    if (extent.rows == 0 || extent.columns == 0) return;
    if (ld == ld_to) {
      const std::int64_t bytes = span_elements(extent, ld) * bytes_of(type);
      return resident_.upload(to, static_cast<std::uint64_t>(first_byte), from,
                              static_cast<std::uint64_t>(bytes));
    }
    std::vector<char> rows(static_cast<std::size_t>(extent.rows * ld_to * bytes_of(type)));
    copy_matrix(extent, type, from, ld, rows.data(), ld_to);
    resident_.upload(to, static_cast<std::uint64_t>(first_byte), rows.data(), rows.size());
  }
  /// A copy of a matrix whose rows are padded to whole vectors; ld becomes that of the copy.
  Region matrix(DataType type, Extent extent, const void* from, std::int64_t ld_from,
                std::int64_t& ld) {
    ld = staged_ld(extent.columns, type);
    const auto copy = memory(extent.rows * ld * bytes_of(type));
    upload_rows(copy, 0, type, extent, from, ld_from, ld);
    return {&copy->buffer, 0};
  }
  /// The parts of all experts, `bytes` each, one behind the other.
  Region parts(const void* from, std::int64_t stride_bytes, std::int64_t bytes) {
    const auto copy = memory(static_cast<std::int64_t>(experts_.size()) * bytes);
    for (std::size_t e = 0; e < experts_.size(); ++e)
      resident_.upload(copy, e * static_cast<std::uint64_t>(bytes),
                       static_cast<const char*>(from) + experts_[e] * stride_bytes,
                       static_cast<std::uint64_t>(bytes));
    return {&copy->buffer, 0};
  }
  void add_c() {
    Problem& to = work_.call.problem;
    to.ldc = staged_ld(p_.n);
    c_ = memory(to.m * to.ldc * bytes_of(p_.types.c));
    if (p_.beta != 0.0f) upload_rows(c_, 0, p_.types.c, {to.m, p_.n}, given_.c, p_.ldc, to.ldc);
    work_.call.c = {&c_->buffer, 0};
  }
  void add_b() {
    Problem& to = work_.call.problem;
    if (quantized(p_.types)) {
      const QuantizedBytes one = quantized_bytes(one_product(p_));
      to.stride_b = p_.n * ld_quantized(p_);
      work_.call.b = parts(given_.b, bytes_of_b(p_.types, p_.stride_b), one.values);
      if (!has_separate_scales(p_.types)) return;
      work_.call.scales = parts(given_.scales, one.scales, one.scales);
      if (one.zero_points > 0)
        work_.call.zero_points = parts(given_.zero_points, one.zero_points, one.zero_points);
      return;
    }
    const Extent extent = stored_b(p_);
    to.ldb = staged_ld(extent.columns, p_.types.a);
    to.stride_b = extent.rows * to.ldb;
    const std::int64_t bytes = to.stride_b * bytes_of(p_.types.a);
    const auto copy = memory(static_cast<std::int64_t>(experts_.size()) * bytes);
    for (std::size_t e = 0; e < experts_.size(); ++e)
      upload_rows(
          copy, static_cast<std::int64_t>(e) * bytes, p_.types.a, extent,
          static_cast<const char*>(given_.b) + experts_[e] * p_.stride_b * bytes_of(p_.types.a),
          p_.ldb, to.ldb);
    work_.call.b = {&copy->buffer, 0};
  }
  void add_epilogue() {
    ResidentCall& to = work_.call;
    const Epilogue& e = p_.epilogue;
    const EpilogueOperands& x = given_.epilogue;
    const auto rows = [&](const void* from) {
      const std::int64_t bytes = epilogue_bytes(p_, to.problem.m);
      const auto copy = memory(bytes);
      resident_.upload(copy, 0, from, static_cast<std::uint64_t>(bytes));
      return Region{&copy->buffer, 0};
    };
    const auto columns = [&](const void* from) {
      return parts(from, epilogue_bytes(p_, x.expert_columns), epilogue_bytes(p_, p_.n));
    };
    to.expert_columns = p_.n;
    if (e.row_scale) to.row_scale = rows(x.row_scale);
    if (e.column_scale) to.column_scale = columns(x.column_scale);
    if (e.bias != Bias::kNone) to.bias = e.bias == Bias::kRow ? rows(x.bias) : columns(x.bias);
    if (e.residual)
      to.residual = matrix(epilogue_type(p_.types), {to.problem.m, p_.n}, x.residual, x.ld_residual,
                           to.ld_residual);
  }

  Resident& resident_;
  const GemmCall& given_;
  const Problem& p_;
  ResidentWork work_;
  std::map<std::int64_t, std::size_t> numbers_;  // of the experts that groups use
  std::vector<std::int64_t> experts_;            // by these numbers
  std::shared_ptr<DeviceMemory> c_;
};

}  // namespace

void run_grouped_on_device(Resident& resident, const GroupedCall& call) {
  const Copies copies(resident, call);
  const std::shared_ptr<Run> run = resident.gemm(copies.work());
  resident.wait_for(*run);
  copies.fetch_c();
}

}  // namespace rooftile
