#include "runtime/resident/resident_call.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/call/call_checks.h"

namespace rooftile {
namespace {

// The addresses of buffer i, counted from 1, begin at i << kBufferBits: no device has larger
// buffers.
constexpr int kBufferBits = 40;
constexpr std::uint64_t kLargestBuffer = std::uint64_t{1} << kBufferBits;

std::uint64_t bytes_of_elements(DataType type, std::int64_t elements) {
  return static_cast<std::uint64_t>(elements * bytes_of(type));
}

void check_inside(const char* what, const Region& region, std::uint64_t bytes) {
  if (region.buffer == nullptr || bytes == 0) return;
  const std::uint64_t size = region.buffer->size_bytes();
  if (region.offset_bytes > size || bytes > size - region.offset_bytes)
    fail(ErrorCode::kInvalidArgument,
         "{} takes {} bytes from byte {} on, but its buffer has {} bytes", what, bytes,
         region.offset_bytes, size);
}

}  // namespace

const void* OperandAddresses::address(const char* what, const OperandSlot& place,
                                      std::int64_t element_bytes) {
  if (place.buffer == nullptr) return nullptr;
  if (place.offset < 0 || place.offset >= static_cast<std::int64_t>(kLargestBuffer) / element_bytes)
    fail(ErrorCode::kInvalidArgument, "{}'s offset is {}", what, place.offset);
  auto known = std::ranges::find(buffers_, place.buffer);
  if (known == buffers_.end()) known = buffers_.insert(known, place.buffer);
  const auto number = static_cast<std::uint64_t>(known - buffers_.begin()) + 1;
  const std::uint64_t address =
      (number << kBufferBits) + static_cast<std::uint64_t>(place.offset * element_bytes);
  return reinterpret_cast<const void*>(address);
}

Region OperandAddresses::region(const void* address) const {
  if (address == nullptr) return {};
  const auto value = reinterpret_cast<std::uint64_t>(address);
  return {buffers_[(value >> kBufferBits) - 1], value & (kLargestBuffer - 1)};
}

void locate_operand(ResidentCall& resident, const GemmCall& call, const OperandAddresses& addresses,
                    Operand operand) {
  const Problem& p = call.problem;
  if (operand == Operand::kA) {
    resident.a = addresses.region(call.a);
    return check_inside("a", resident.a, bytes_of_elements(p.types.a, span_a(p)));
  }
  resident.b = addresses.region(call.b);
  const QuantizedBytes bytes = quantized_bytes(p);
  check_inside("b", resident.b,
               quantized(p.types) ? static_cast<std::uint64_t>(bytes.values)
                                  : bytes_of_elements(p.types.a, span_b(p)));
  if (!has_separate_scales(p.types)) return;
  resident.scales = addresses.region(call.scales);
  check_inside("the scales of b", resident.scales, static_cast<std::uint64_t>(bytes.scales));
  if (p.types.b.zero_point == ZeroPoint::kMiddle) return;
  resident.zero_points = addresses.region(call.zero_points);
  check_inside("the zero points of b", resident.zero_points,
               static_cast<std::uint64_t>(bytes.zero_points));
}

ResidentCall checked_resident_call(const GemmCall& call, const OperandAddresses& addresses) {
  const Problem& p = call.problem;
  ResidentCall resident{.problem = p, .packed = call.packed};
  if (is_empty(p)) return resident;
  resident.c = addresses.region(call.c);
  check_inside("c", resident.c, bytes_of_elements(p.types.c, span_c(p)));
  const Epilogue& e = p.epilogue;
  const auto located = [&](const char* what, bool used, const void* address, std::int64_t count) {
    if (!used) return Region{};
    const Region region = addresses.region(address);
    check_inside(what, region, static_cast<std::uint64_t>(epilogue_bytes(p, count)));
    return region;
  };
  const EpilogueOperands& x = call.epilogue;
  resident.row_scale = located("row_scale", e.row_scale, x.row_scale, p.m);
  resident.expert_columns = x.expert_columns;
  const std::int64_t columns = column_elements(p, x.expert_columns);
  resident.column_scale = located("column_scale", e.column_scale, x.column_scale, columns);
  resident.bias =
      located("bias", e.bias != Bias::kNone, x.bias, e.bias == Bias::kRow ? p.m : columns);
  if (e.residual) {
    // Checked before anything is multiplied by these values, which might overflow.
    const std::int64_t stride = p.batch > 1 ? x.stride_residual : 0;
    constexpr auto kLargest = static_cast<std::int64_t>(kLargestBuffer);
    if (x.ld_residual < p.n || x.ld_residual > kLargest || stride < 0 ||
        stride > kLargest / p.batch)
      fail(ErrorCode::kInvalidArgument, "ld_residual is {} and stride_residual {}", x.ld_residual,
           x.stride_residual);
    const std::int64_t last = (p.batch - 1) * stride;
    resident.residual =
        located("residual", true, x.residual, last + span_elements({p.m, p.n}, x.ld_residual));
    resident.ld_residual = x.ld_residual;
    resident.stride_residual = stride;
  }
  if (reads_operands(p)) {
    locate_operand(resident, call, addresses, Operand::kA);
    locate_operand(resident, call, addresses, Operand::kB);
  }
  validate_call(call, Values::kNotReadable);
  return resident;
}

}  // namespace rooftile
