// C ABI of grouped.h.
#include <rooftile/grouped.h>

#include <limits>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"
#include "runtime/abi/handles.h"
#include "runtime/abi/resident_arguments.h"
#include "runtime/call/grouped_call.h"
#include "runtime/resident/packing_experts.h"

namespace rooftile {
namespace {

// Kernels count groups and experts in 32 bits.
constexpr std::int64_t kMostGroups = std::numeric_limits<std::int32_t>::max();

/// Throws kInvalidArgument, naming the field, for counts that no call may have.
void check_counts(const rooftile_groups& groups) {
  if (groups.count < 0 || groups.count > kMostGroups)
    fail(ErrorCode::kInvalidArgument, "groups->count is {}; it is from 0 to {}", groups.count,
         kMostGroups);
  if (groups.experts < 1 || groups.experts > kMostGroups)
    fail(ErrorCode::kInvalidArgument, "groups->experts is {}; it is from 1 to {}", groups.experts,
         kMostGroups);
  if (groups.stride_columns < 0)
    fail(ErrorCode::kInvalidArgument, "groups->stride_columns is {}", groups.stride_columns);
}

/// The groups of a call on host memory, or whose sizes come from the host. Throws kInvalidArgument
/// for null arrays, negative counts, and what validate() of the groups refuses for a call of m
/// rows.
std::vector<Group> host_groups(const rooftile_groups& groups, std::int64_t m) {
  if (groups.count > 0 && groups.rows == nullptr)
    fail(ErrorCode::kInvalidArgument, "groups->rows is null");
  std::vector<Group> list(static_cast<std::size_t>(groups.count));
  for (std::size_t g = 0; g < list.size(); ++g) {
    const bool own = groups.experts_of_groups != nullptr;
    list[g] = {.expert = own ? groups.experts_of_groups[g] : static_cast<std::int64_t>(g),
               .rows = groups.rows[g]};
  }
  validate(list, m, groups.experts);
  return list;
}

GroupedCall checked_call(const rooftile_gemm_args* given, const rooftile_groups* given_groups) {
  const Given args("args", given);
  const Given groups("groups", given_groups);
  check_counts(*groups);
  if (args->packed != nullptr)
    fail(ErrorCode::kInvalidArgument,
         "packed is not NULL, but grouped calls on host memory read B as stored");
  std::vector<Group> list = host_groups(*groups, args->m);
  GemmCall call =
      checked_grouped_call(&*args, grouping_of(list, groups->experts), groups->stride_columns);
  return {std::move(call), std::move(list)};
}

/// The place of `count` 32-bit integers.
Region integers(const char* what, const OperandSlot& place, std::int64_t count,
                const DeviceLimits& limits) {
  if (place.buffer == nullptr) return {};
  constexpr std::int64_t kBytes = sizeof(std::int32_t);
  const std::uint64_t alignment = binding_alignment(limits), size = place.buffer->size_bytes();
  if (place.offset < 0 || place.offset > static_cast<std::int64_t>(size) / kBytes)
    fail(ErrorCode::kInvalidArgument, "{}'s offset is {}", what, place.offset);
  const auto begin = static_cast<std::uint64_t>(place.offset * kBytes);
  if (begin % alignment != 0)
    fail(ErrorCode::kInvalidArgument,
         "{} starts at byte {} of its buffer; on this device it starts at multiples of {} bytes",
         what, begin, alignment);
  if (static_cast<std::uint64_t>(count * kBytes) > size - begin)
    fail(ErrorCode::kInvalidArgument, "{} takes {} bytes from byte {} on, but its buffer has {}",
         what, count * kBytes, begin, size);
  return {place.buffer, begin};
}

void check_absent(const char* what, const rooftile_place& place) {
  if (place.buffer != nullptr)
    fail(ErrorCode::kInvalidArgument, "operands has {}, but groups->rows is not NULL", what);
}

struct GroupsOfCall {
  Grouping grouping;
  std::shared_ptr<const ResidentGroups> groups;
};

template <typename Place>
GroupsOfCall groups_of(const rooftile_groups& groups, const rooftile_grouped_operands& places,
                       std::int64_t m, const DeviceLimits& limits, const Place& place) {
  check_counts(groups);
  ResidentGroups result;
  if (groups.rows != nullptr || groups.count == 0) {
    if (groups.rows != nullptr) {
      check_absent("rows", places.rows);
      check_absent("experts_of_groups", places.experts_of_groups);
      check_absent("status", places.status);
    }
    result.known = host_groups(groups, m);
    const Grouping grouping = grouping_of(result.known, groups.experts);
    return {grouping, std::make_shared<const ResidentGroups>(std::move(result))};
  }
  if (places.rows.buffer == nullptr)
    fail(ErrorCode::kInvalidArgument, "groups->rows is NULL, and operands has no rows");
  if (groups.experts_of_groups != nullptr)
    fail(ErrorCode::kInvalidArgument,
         "groups->experts_of_groups is not NULL, but the sizes lie on the device: so do the "
         "experts");
  result.sizes = integers("rows", place(places.rows), groups.count, limits);
  result.experts =
      integers("experts_of_groups", place(places.experts_of_groups), groups.count, limits);
  result.status = integers("status", place(places.status), 1, limits);
  return {{.experts = groups.experts, .groups = groups.count},
          std::make_shared<const ResidentGroups>(std::move(result))};
}

ResidentWork work_of(const Resident& resident, const rooftile_gemm_args* given_args,
                     const rooftile_groups* given_groups,
                     const rooftile_grouped_operands* given_operands) {
  const Given args("args", given_args);
  const Given groups("groups", given_groups);
  const Given grouped("operands", given_operands);
  const Given operands("operands->operands", grouped->operands);
  const DeviceProfile& device = resident.device()->profile();
  ResidentWork work;
  const auto place = [&](const rooftile_place& given) -> OperandSlot {
    if (given.buffer == nullptr) return {};
    work.uses.push_back(memory_of(resident, given.buffer));
    return {&work.uses.back()->buffer, given.offset};
  };
  const GroupsOfCall of_call = groups_of(*groups, *grouped, args->m, device.limits, place);
  work.call =
      resident_grouped_call(&*args, operand_slots_of(*operands, place), resident.precision(),
                            of_call.grouping, groups->stride_columns, of_call.groups);
  work.workspace = workspace_bound(place(operands->workspace), operands->workspace_bytes, device);
  return work;
}

}  // namespace
}  // namespace rooftile

extern "C" {

rooftile_status rooftile_grouped_gemm(rooftile_context* context, const rooftile_gemm_args* args,
                                      const rooftile_groups* groups) {
  using namespace rooftile;
  return guarded([&] {
    if (context == nullptr) fail(ErrorCode::kInvalidArgument, "context is null");
    Context::forget_last_answer();
    context->context.grouped(checked_call(args, groups));
  });
}

rooftile_status rooftile_resident_prepare_grouped(rooftile_context* context,
                                                  const rooftile_gemm_args* args,
                                                  const rooftile_groups* groups,
                                                  const rooftile_grouped_operands* operands,
                                                  rooftile_prepared* prepared) {
  using namespace rooftile;
  return guarded([&] {
    const std::shared_ptr<Resident> resident = resident_of(context);
    const ResidentProduct product =
        resident->product(work_of(*resident, args, groups, operands), AwaitCertificate::kYes);
    if (prepared != nullptr) describe(product, prepared);
  });
}

rooftile_status rooftile_resident_grouped_gemm(rooftile_context* context,
                                               const rooftile_gemm_args* args,
                                               const rooftile_groups* groups,
                                               const rooftile_grouped_operands* operands,
                                               rooftile_run** run) {
  using namespace rooftile;
  return guarded([&] {
    if (run != nullptr) *run = nullptr;
    const std::shared_ptr<Resident> resident = resident_of(context);
    const ResidentWork work = work_of(*resident, args, groups, operands);
    context->context.grouped_counter()(work.call.problem);
    give(
        resident, [&] { return resident->gemm(work); }, run);
  });
}

rooftile_status rooftile_resident_pack_experts(rooftile_context* context,
                                               const rooftile_gemm_args* given_args,
                                               const rooftile_groups* given_groups,
                                               const rooftile_resident_operands* given_operands,
                                               rooftile_packed** packed) {
  using namespace rooftile;
  return guarded([&] {
    *checked("packed", packed) = nullptr;
    const std::shared_ptr<Resident> resident = resident_of(context);
    const Given args("args", given_args);
    const Given groups("groups", given_groups);
    const Given operands("operands", given_operands);
    check_counts(*groups);
    StoredOperand stored;
    const auto place = [&](const rooftile_place& given) -> OperandSlot {
      if (given.buffer == nullptr) return {};
      stored.uses.push_back(memory_of(*resident, given.buffer));
      return {&stored.uses.back()->buffer, given.offset};
    };
    stored.call = resident_experts(&*args, operand_slots_of(*operands, place),
                                   {.experts = groups->experts, .groups = groups->count});
    if (stored.call.b.buffer == nullptr)
      fail(ErrorCode::kInvalidArgument, "operands has no buffer for b");
    *packed = packed_names().add(std::make_shared<NamedPacked>(
        NamedPacked{pack_experts(*resident, stored, context->context.id())}));
  });
}

rooftile_status rooftile_list_grouped_gemm(rooftile_list* list, const rooftile_gemm_args* args,
                                           const rooftile_groups* groups,
                                           const rooftile_grouped_operands* operands) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = list_names().get(list);
    const ResidentWork work = work_of(*named->resident, args, groups, operands);
    named->list->add_gemm(work);
    named->count_grouped(work.call.problem);
  });
}

}  // extern "C"
