#include "runtime/call/pass_over_c.h"

#include "core/round.h"
#include "generator/sums_in.h"
#include "runtime/call/call.h"

namespace rooftile {
namespace {

constexpr std::int64_t kRowStep = 4;  // elements that a row of the device's sums is rounded up to

/// Bytes of a pass that reads the sums and makes C of them.
double bytes_over_c(const Problem& p, DataType sums) {
  const auto elements = static_cast<double>(p.m * p.n * p.batch);
  const auto bytes_c = static_cast<double>(bytes_of(p.types.c));
  const auto bytes_sum = static_cast<double>(bytes_of(sums));
  double bytes = elements * (bytes_sum + bytes_c);
  if (p.beta != 0.0f) bytes += elements * bytes_c;
  if (p.epilogue.residual)
    bytes += elements * static_cast<double>(bytes_of(epilogue_type(p.types)));
  return bytes;
}

}  // namespace

Types types_before_pass(const Problem& p) {
  if (!widens_sums(p.types)) return sums_signature(signature_of(p)).types;
  // Where k is legal, int32 holds the sums of 8-bit integers.
  return is_8_bit(p.types.a) ? Types{.a = p.types.a, .c = DataType::kI32} : kFloat64Types;
}

Problem problem_before_host_pass(const Problem& p, const Types& types) {
  Problem plain = packed_problem(p.m, p.n, p.k, p.trans_a, p.trans_b, p.batch, types);
  if (p.stride_a == 0) plain.stride_a = 0;
  if (p.stride_b == 0) plain.stride_b = 0;
  // The kernels' integer sums are scaled by the host.
  plain.alpha = types.c == DataType::kI32 && p.alpha != 0.0f ? 1.0f : p.alpha;
  return plain;
}

Problem tunable_problem(const Problem& p) {
  return widens_sums(p.types) ? problem_before_host_pass(p, types_before_pass(p)) : p;
}

std::string_view operands_of_host_pass(const Problem& p, const Types& types) {
  if (!reads_operands(p) || !widens_b(p, types)) return "c";
  return widens_a(p, types) ? "a, b and c" : "b and c";
}

double host_pass_bytes(const Problem& p, const Types& types) {
  const auto widened = [&](std::int64_t elements, double bytes_each) {
    return static_cast<double>(elements) * (bytes_each + static_cast<double>(bytes_of(types.a)));
  };
  double bytes = bytes_over_c(p, types.c);
  if (reads_operands(p) && widens_a(p, types))
    bytes += widened(p.m * p.k * (p.stride_a == 0 ? 1 : p.batch),
                     static_cast<double>(bytes_of(p.types.a)));
  if (reads_operands(p) && widens_b(p, types))
    bytes += widened(p.n * p.k * (p.stride_b == 0 ? 1 : p.batch), bytes_per_element_b(p.types));
  return bytes;
}

Problem problem_before_device_pass(const Problem& p) {
  Problem plain = p;
  plain.types = types_before_pass(p);
  plain.epilogue = {};
  plain.alpha = 1;
  plain.beta = 0;
  plain.ldc = round_up(p.n, kRowStep);
  plain.stride_c = p.batch > 1 ? p.m * plain.ldc : 0;
  return plain;
}

double device_pass_ns(const Problem& p, const DeviceRates& rates) {
  const double bytes = bytes_over_c(p, types_before_pass(p).c);
  const double gbps = gbps_for_footprint(rates, bytes);
  return rates.dispatch_ns + (gbps > 0 ? bytes / gbps : 0);
}

}  // namespace rooftile
