#include "runtime/abi/resident_arguments.h"

#include "core/error.h"
#include "runtime/abi/c_api_arguments.h"
#include "runtime/verify/precision_guard.h"

namespace rooftile {
namespace {

void check_unused(const char* what, const OperandSlot& place, const char* with) {
  if (place.buffer != nullptr)
    fail(ErrorCode::kInvalidArgument, "operands has {}, but args has no {}", what, with);
}

// The context's own workspaces may take one in this many parts of the device's memory.
constexpr std::uint64_t kShareOfMemory = 4;

void check_null(const char* what, const void* pointer) {
  if (pointer != nullptr)
    fail(ErrorCode::kInvalidArgument,
         "{} is not NULL: operands in buffers are passed in `operands`, not as pointers", what);
}

/// The same call on host memory, at addresses that stand for the places.
class HostForm {
 public:
  HostForm(const rooftile_gemm_args& given, const OperandSlots& places) : args_(given) {
    const DataType type_a = data_type("type", given.type),
                   type_c = data_type("type_c", given.type_c);
    for (const auto& [what, pointer] :
         {std::pair{"a", given.a}, {"b", given.b}, {"c", static_cast<const void*>(given.c)}})
      check_null(what, pointer);
    check_null("a_array", given.a_array);
    check_null("b_array", given.b_array);
    check_null("c_array", given.c_array);
    const bool quantized = given.quantization != nullptr;
    args_.a = address("a", places.a, bytes_of(type_a));
    args_.b = address("b", places.b, quantized ? 1 : bytes_of(type_a));
    args_.c = const_cast<void*>(address("c", places.c, bytes_of(type_c)));
    if (quantized) add_quantization(given.quantization, places, bytes_of(type_a));
    if (given.epilogue != nullptr) add_epilogue(given.epilogue, places, type_a);
  }
  HostForm(const HostForm&) = delete;
  HostForm& operator=(const HostForm&) = delete;

  const rooftile_gemm_args& args() const { return args_; }
  const OperandAddresses& addresses() const { return addresses_; }

 private:
  const void* address(const char* what, const OperandSlot& place, std::int64_t element_bytes) {
    return addresses_.address(what, place, element_bytes);
  }
  void add_epilogue(const rooftile_epilogue* epilogue, const OperandSlots& places,
                    DataType type_a) {
    const Given given("epilogue", epilogue);
    check_knows_float64(epilogue, type_a);
    const std::int64_t element_bytes = bytes_of(epilogue_type({.a = type_a}));
    epilogue_ = *given;
    const auto located = [&](const char* what, const void* pointer, const OperandSlot& place) {
      check_null(what, pointer);
      return address(what, place, element_bytes);
    };
    epilogue_.row_scale = located("row_scale", given->row_scale, places.row_scale);
    epilogue_.column_scale = located("column_scale", given->column_scale, places.column_scale);
    epilogue_.bias = located("bias", given->bias, places.bias);
    epilogue_.residual = located("residual", given->residual, places.residual);
    args_.epilogue = &epilogue_;
  }
  void add_quantization(const rooftile_quantization* quantization, const OperandSlots& places,
                        std::int64_t bytes_a) {
    const Given given("quantization", quantization);
    check_null("scales", given->scales);
    check_null("zero_points", given->zero_points);
    quantization_ = *given;
    if (given->format != 0) {
      check_unused("scales", places.scales, "separate scales");
      check_unused("zero_points", places.zero_points, "separate zero points");
      args_.quantization = &quantization_;
      return;
    }
    const bool floats = value_of(given->zero_point) == ROOFTILE_ZERO_POINT_FLOAT;
    quantization_.scales = address("scales", places.scales, bytes_a);
    quantization_.zero_points = address("zero_points", places.zero_points, floats ? bytes_a : 1);
    args_.quantization = &quantization_;
  }

  rooftile_gemm_args args_;
  rooftile_epilogue epilogue_ = {};
  rooftile_quantization quantization_ = {};
  OperandAddresses addresses_;
};

/// Throws where the guard requires more than the device offers: for device buffers there is neither
/// a scan, nor a spot check, nor a host that sums in float64. Integer sums are exact. They and
/// float64 sums meet any precision.
void check_guard(const GemmCall& call) {
  const Guard& guard = call.guard;
  if (guard.scan_range || guard.check_spots)
    fail(ErrorCode::kUnsupported,
         "the guard asks for a scan of the operands or a check of the result, which calls on "
         "device buffers do not support");
  const bool more = needs_float64(guard) || precision_of(guard) == Precision::kHigh;
  if (more && !has_precise_sums(call.problem.types))
    fail(
        ErrorCode::kUnsupported,
        "the precision is {}, which calls on device buffers do not support: call with host memory, "
        "or with the precision standard",
        needs_float64(guard) ? "exact64 (or kappa is at least 1000)" : "high");
}

void check_resident(const rooftile_gemm_args& args, const OperandSlots& places) {
  const TierChoice tier = tier_choice(args.tier);
  if (tier != TierChoice::kAuto && tier != TierChoice::kDevice)
    fail(ErrorCode::kInvalidArgument,
         "the tier is a host tier, but calls on device buffers run on the device");
  if (args.epilogue == nullptr) {
    check_unused("row_scale", places.row_scale, "epilogue");
    check_unused("column_scale", places.column_scale, "epilogue");
    check_unused("bias", places.bias, "epilogue");
    check_unused("residual", places.residual, "epilogue");
  }
  if (args.quantization == nullptr) {
    check_unused("scales", places.scales, "quantization");
    check_unused("zero_points", places.zero_points, "quantization");
  }
}

}  // namespace

ResidentCall resident_call(const rooftile_gemm_args* given, const OperandSlots& places,
                           Precision precision) {
  return resident_grouped_call(given, places, precision, {}, 0, nullptr);
}

ResidentCall resident_grouped_call(const rooftile_gemm_args* given, const OperandSlots& places,
                                   Precision precision, const Grouping& grouping,
                                   std::int64_t expert_columns,
                                   std::shared_ptr<const ResidentGroups> groups) {
  const Given args("args", given);
  check_knows_float64(given);
  check_resident(*args, places);
  const HostForm form(*args, places);
  GemmCall call = checked_grouped_call(&form.args(), grouping, expert_columns);
  if (!call.guard.precision) call.guard.precision = precision;
  check_guard(call);
  if (const Rounding permitted = permitted_rounding(call.guard); permitted != Rounding::kNone)
    call.problem.types.rounding = rounding_of(call.problem.types, permitted);
  ResidentCall resident = checked_resident_call(call, form.addresses());
  resident.groups = std::move(groups);
  return resident;
}

ResidentCall resident_experts(const rooftile_gemm_args* given, const OperandSlots& places,
                              const Grouping& grouping) {
  const Given args("args", given);
  check_knows_float64(given);
  if (args->packed != nullptr)
    fail(ErrorCode::kInvalidArgument, "args has a packed operand already");
  // How A and C are stored, and the epilogue of later calls, do not matter.
  rooftile_gemm_args alone = *args;
  alone.epilogue = nullptr;
  alone.lda = std::max<std::int64_t>(args->k, 1);
  alone.ldc = std::max<std::int64_t>(args->n, 1);
  OperandSlots of_b = places;
  of_b.row_scale = of_b.column_scale = of_b.bias = of_b.residual = {};
  check_resident(alone, of_b);
  const HostForm form(alone, of_b);
  const GemmCall call = checked_grouped_call(&form.args(), grouping, 0);
  ResidentCall resident{.problem = call.problem};
  resident.problem.alpha = 1;
  locate_operand(resident, call, form.addresses(), Operand::kB);
  return resident;
}

ResidentCall resident_operand(const rooftile_gemm_args* given, const OperandSlots& places,
                              Operand operand) {
  const Given args("args->call", given);
  check_knows_float64(given);
  check_resident(*args, places);
  const HostForm form(*args, places);
  const GemmCall call = checked_call(&form.args());
  ResidentCall resident{.problem = call.problem};
  locate_operand(resident, call, form.addresses(), operand);
  return resident;
}

void describe(const ResidentProduct& product, rooftile_prepared* prepared) {
  rooftile_prepared result = {};
  result.workspace_bytes = static_cast<std::size_t>(product.workspace_bytes());
  result.expected_ns = product.expected_ns();
  copy_text(result.kernel, product.empty() ? "" : short_name(product.kernel()->variant()));
  give_struct("prepared", prepared, result);
}

WorkspaceBound workspace_bound(const OperandSlot& place, std::uint64_t bytes,
                               const DeviceProfile& device) {
  if (place.buffer == nullptr)
    return {.bytes = bytes > 0 ? bytes : device.device_memory_bytes / kShareOfMemory};
  const std::uint64_t alignment = binding_alignment(device.limits);
  if (place.offset < 0 || place.offset % static_cast<std::int64_t>(alignment) != 0)
    fail(ErrorCode::kInvalidArgument,
         "the workspace's offset is {}; on this device it has to be a multiple of {} bytes",
         place.offset, alignment);
  const auto offset = static_cast<std::uint64_t>(place.offset);
  const std::uint64_t size = place.buffer->size_bytes();
  if (offset >= size || bytes > size - offset)
    fail(ErrorCode::kInvalidArgument,
         "a workspace of {} bytes from byte {} on is not in its buffer of {} bytes", bytes, offset,
         size);
  return {{place.buffer, offset}, bytes > 0 ? bytes : size - offset};
}

}  // namespace rooftile
