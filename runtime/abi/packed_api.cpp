// The C ABI of packed.h.
#include <rooftile/packed.h>

#include <algorithm>

#include "runtime/abi/c_api_arguments.h"
#include "runtime/abi/c_api_guard.h"
#include "runtime/abi/handles.h"
#include "runtime/abi/resident_arguments.h"
#include "runtime/call/call_checks.h"
#include "runtime/resident/packing.h"

namespace rooftile {

Names<rooftile_packed, NamedPacked>& packed_names() {
  // Never destroyed: see resident_api.cpp.
  static auto& names = *new Names<rooftile_packed, NamedPacked>("packed operand");
  return names;
}

namespace {

constexpr std::size_t kMostSizes = 64;

/// The request without its call: the caller adds where the operand lies.
PackRequest request_of(const rooftile_pack_args& args) {
  if (args.call == nullptr) fail(ErrorCode::kInvalidArgument, "args->call is null");
  PackRequest request;
  request.operand = row_major_operand(args.operand, args.call->layout);
  if (args.size_count > kMostSizes)
    fail(ErrorCode::kInvalidArgument, "size_count is {}; at most {} sizes are allowed",
         args.size_count, kMostSizes);
  if (args.size_count > 0) checked("sizes", args.sizes);
  for (std::size_t i = 0; i < args.size_count; ++i) {
    if (args.sizes[i] < 0) fail(ErrorCode::kInvalidArgument, "sizes[{}] is {}", i, args.sizes[i]);
    request.sizes.push_back(args.sizes[i]);
  }
  return request;
}

void check_packable(const GemmCall& call, Operand operand) {
  if (call.packed != nullptr)
    fail(ErrorCode::kInvalidArgument, "args->call has a packed operand already");
  PackedOperand wanted;
  wanted.shape = shape_of(call.problem, operand);
  check_packed(wanted, call, Layout::kRowMajor);
}

void give(rooftile_packed** target, std::shared_ptr<const PackedOperand> packed) {
  *target = packed_names().add(std::make_shared<NamedPacked>(NamedPacked{std::move(packed)}));
}

}  // namespace
}  // namespace rooftile

extern "C" {

rooftile_status rooftile_pack(rooftile_context* context, const rooftile_pack_args* given,
                              rooftile_packed** packed) {
  using namespace rooftile;
  return guarded([&] {
    *checked("packed", packed) = nullptr;
    checked("context", context);
    const Given args("args", given);
    PackRequest request = request_of(*args);
    request.call = checked_call(args->call);
    check_packable(request.call, request.operand);
    validate_operand(request.call, request.operand);
    give(packed, context->context.pack(request));
  });
}

rooftile_status rooftile_resident_pack(rooftile_context* context, const rooftile_pack_args* given,
                                       const rooftile_resident_operands* given_operands,
                                       rooftile_packed** packed) {
  using namespace rooftile;
  return guarded([&] {
    *checked("packed", packed) = nullptr;
    const std::shared_ptr<Resident> resident = resident_of(context);
    const Given args("args", given);
    const Given operands("operands", given_operands);
    PackRequest request = request_of(*args);
    StoredOperand stored;
    const auto place = [&](const rooftile_place& at) -> OperandSlot {
      if (at.buffer == nullptr) return {};
      stored.uses.push_back(memory_of(*resident, at.buffer));
      return {&stored.uses.back()->buffer, at.offset};
    };
    stored.call = resident_operand(args->call, operand_slots_of(*operands, place), request.operand);
    const bool is_a = request.operand == Operand::kA;
    if ((is_a ? stored.call.a : stored.call.b).buffer == nullptr)
      fail(ErrorCode::kInvalidArgument, "operands has no buffer for the operand that is packed");
    request.call.problem = stored.call.problem;
    request.call.packed = stored.call.packed;
    check_packable(request.call, request.operand);
    if (!is_a) {
      ResidentCall later = stored.call;  // as a call that reads B
      later.problem.alpha = 1;
      later.problem.m = std::max<std::int64_t>(later.problem.m, 1);
      resident->check_scales(later, stored.uses);
    }
    give(packed, pack_resident(*resident, request, stored, context->context.id()));
  });
}

rooftile_status rooftile_packed_query(rooftile_packed* packed, rooftile_packed_info* info) {
  using namespace rooftile;
  return guarded([&] {
    const auto named = packed_names().get(packed);
    const PackedOperand& operand = *named->packed;
    rooftile_packed_info result = {};
    result.device_bytes = device_bytes(operand);
    result.layouts = static_cast<int>(operand.forms.size());
    result.plain_copy = operand.stored() != nullptr ? 1 : 0;
    copy_text(result.kernel, operand.kernel);
    give_struct("info", info, result);
  });
}

rooftile_status rooftile_packed_release(rooftile_packed* packed) {
  using namespace rooftile;
  return guarded([&] { packed_names().release(packed); });
}

}  // extern "C"
