#include "runtime/verify/fallback_check.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/half.h"
#include "core/numbers/random.h"
#include "core/quantized.h"
#include "core/round.h"
#include "generator/layout.h"
#include "runtime/verify/certify.h"
#include "runtime/verify/random_operand.h"
#include "runtime/verify/reference.h"

namespace rooftile {
namespace {

constexpr double kFallbackTimeoutNs = 10e9;  // lavapipe compiles in the first run.
constexpr std::int64_t kOffset = 4;          // Elements before each matrix that may have an offset.

/// Small problem that covers the edges of the fallback's 8 x 8 tile and of the blocks of a
/// quantised B.
Problem small_problem(const Signature& s) {
  Problem p = packed_problem(9, 13, 37, s.trans_a, s.trans_b, 2, s.types);
  p.epilogue = s.epilogue;
  if (p.epilogue.clamp) {
    p.epilogue.low = -0.5f;
    p.epilogue.high = 2.0f;
  }
  p.lda += 3;
  if (!quantized(p.types)) p.ldb += 5;
  p.ldc += 1;
  p.stride_a = stored_a(p).rows * p.lda + 2;
  p.stride_b = quantized(p.types) ? 0 : stored_b(p).rows * p.ldb + 2;
  p.stride_c = p.m * p.ldc + 2;
  p.beta = 1;
  return p;
}

std::vector<char> random_elements(DataType type, std::int64_t count, Random& random) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = random.symmetric();
    if (type == DataType::kI8) value *= 127;
    if (type == DataType::kU8) value = (value + 1) * 127.5f;
    if (type == DataType::kI32) value *= 1000;
  }
  std::vector<char> elements(static_cast<std::size_t>(count * bytes_of(type)));
  narrow(type, values.data(), elements.data(), count);
  return elements;
}

struct HostOperands {
  std::vector<char> a, b, c, scales, zero_points, vectors, residual;
};

HostOperands operands_of(const Problem& p) {
  Random random(1);
  HostOperands x;
  x.a = random_elements(p.types.a, kOffset + span_a(p), random);
  x.c = random_elements(p.types.c, kOffset + span_c(p) + p.ldc, random);
  x.vectors = random_elements(DataType::kF32, 2 * (p.m + p.n), random);
  x.residual = random_elements(DataType::kF32, span_c(p), random);
  if (!quantized(p.types)) {
    x.b = random_elements(p.types.a, kOffset + span_b(p), random);
    return x;
  }
  const QuantizedBytes bytes = quantized_bytes(p);
  const std::int64_t blocks = quantized_blocks(p);
  x.b = random_b(p.types, p.n * ld_quantized(p), random);
  if (has_block_format(p.types)) return x;
  x.scales = random_elements(p.types.a, blocks, random);
  x.zero_points = p.types.b.zero_point == ZeroPoint::kFloat
                      ? random_elements(p.types.a, blocks, random)
                      : random_bytes(bytes.zero_points, random);
  return x;
}

/// Copies host memory to a buffer that both sides see and that consists of whole vectors.
Buffer buffer_of(Device& device, const std::vector<char>& bytes, BufferUse use) {
  Buffer buffer = device.create_buffer(
      round_up(std::max<std::uint64_t>(bytes.size(), 1), kWidestLoadBytes), use);
  std::ranges::copy(bytes, static_cast<char*>(buffer.mapped()));
  return buffer;
}

/// Throws unless every element is within its bound and everything else is unchanged.
void check_result(const Problem& p, const HostOperands& host, const Placement& at, const void* c) {
  const auto floats = [](const std::vector<char>& x, std::int64_t i) {
    return element(DataType::kF32, x.data(), i);
  };
  const Problem one = one_product(p);
  const std::int64_t bytes_a = bytes_of(p.types.a), bytes_c = bytes_of(p.types.c);
  std::vector<char> outside = host.c;
  std::memcpy(outside.data(), c, outside.size());
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const WideOperands wide =
        widen(one, {host.a.data() + (at.offset_a + i * p.stride_a) * bytes_a,
                    host.b.data() + bytes_of_b(p.types, at.offset_b + i * p.stride_b),
                    host.scales.data(), host.zero_points.data()});
    for (std::int64_t row = 0; row < p.m; ++row)
      for (std::int64_t column = 0; column < p.n; ++column) {
        const std::int64_t there = at.offset_c + i * p.stride_c + row * p.ldc + column;
        const EpilogueValues values = {
            .row_scale = floats(host.vectors, at.offset_row_scale + row),
            .column_scale = floats(host.vectors, at.offset_column_scale + column),
            .bias = floats(host.vectors,
                           at.offset_bias + (p.epilogue.bias == Bias::kRow ? row : column)),
            .residual = floats(host.residual, i * p.stride_c + row * p.ldc + column)};
        const ReferenceElement expected = reference_element(
            one, wide, element(p.types.c, host.c.data(), there), values, row, column);
        const double got = element(p.types.c, c, there);
        if (!(error_ratio(p, expected, got) <= 1))
          fail(ErrorCode::kInternal, "it computes {} instead of {} in {}", got, expected.value,
               to_string(p));
        std::memcpy(outside.data() + there * bytes_c, host.c.data() + there * bytes_c,
                    static_cast<std::size_t>(bytes_c));
      }
  }
  if (outside != host.c) fail(ErrorCode::kInternal, "it writes outside of C in {}", to_string(p));
}

/// The certificate of a grouped kernel has few problems, all of them small.
void check_grouped(std::shared_ptr<Device> device, const Variant& variant,
                   const Signature& signature, const ShaderCache& cache) {
  const Kernel kernel(device, variant, signature, cache);
  const Certificate certificate = certify(*device, kernel, signature);
  if (!certificate.passed) fail(ErrorCode::kInternal, "it is wrong: {}", certificate.detail);
}

}  // namespace

void check_on(std::shared_ptr<Device> device, const Variant& variant, const Signature& signature,
              const ShaderCache& cache) {
  if (signature.grouped) return check_grouped(std::move(device), variant, signature, cache);
  const Problem p = small_problem(signature);
  const HostOperands host = operands_of(p);
  const Placement placement = {.offset_a = kOffset,
                               .offset_b = quantized(p.types) ? 0 : kOffset,
                               .offset_c = kOffset,
                               .readable_a = span_a(p),
                               .readable_b = span_b(p),
                               .offset_row_scale = 0,
                               .offset_column_scale = p.m,
                               .offset_bias = p.m + p.n,
                               .ld_residual = p.ldc,
                               .stride_residual = p.stride_c};
  const Buffer a = buffer_of(*device, host.a, BufferUse::kUpload),
               b = buffer_of(*device, host.b, BufferUse::kUpload),
               c = buffer_of(*device, host.c, BufferUse::kDownload),
               scales = buffer_of(*device, host.scales, BufferUse::kUpload),
               zero_points = buffer_of(*device, host.zero_points, BufferUse::kUpload),
               vectors = buffer_of(*device, host.vectors, BufferUse::kUpload),
               residual = buffer_of(*device, host.residual, BufferUse::kUpload);
  const Kernel kernel(device, variant, signature, cache);
  const Operands operands = {.a = &a,
                             .b = &b,
                             .c = &c,
                             .placement = placement,
                             .vectors = &vectors,
                             .residual = &residual,
                             .scales = &scales,
                             .zero_points = &zero_points};
  CommandList list = device->record(kernel.steps(kernel.plan(p, placement), operands, {}).steps);
  device->run(list, kFallbackTimeoutNs);
  check_result(p, host, placement, c.mapped());
}

}  // namespace rooftile
