#include "runtime/resident/row_check_tools.h"

#include <cmath>

namespace rooftile::row_check {
namespace {

constexpr double kTimeoutNs = 10e9;  // lavapipe compiles in the first run.

}  // namespace

std::shared_ptr<DeviceMemory> shared_memory(Device& device, std::int64_t elements) {
  auto memory = std::make_shared<DeviceMemory>();
  memory->buffer = device.create_buffer(static_cast<std::uint64_t>((elements + 3) / 4) * 16,
                                        BufferUse::kDownload);
  return memory;
}

std::shared_ptr<DeviceMemory> random_memory(Device& device, std::int64_t elements, float range,
                                            Random& random) {
  auto memory = shared_memory(device, elements);
  auto* const values = static_cast<float*>(memory->buffer.mapped());
  for (std::int64_t i = 0; i < (elements + 3) / 4 * 4; ++i) values[i] = range * random.symmetric();
  return memory;
}

RowMatrices random_matrix(Device& device, std::int64_t rows, std::int64_t ld, float range,
                          Random& random) {
  return {random_memory(device, kOffset + rows * ld, range, random), kOffset, ld, 0};
}

std::size_t at(const RowMatrices& x, std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(x.offset + row * x.ld + column);
}

void run(Device& device, const RowOperation& operation) {
  CommandList list = device.record(operation.steps().steps);
  device.run(list, kTimeoutNs);
}

void expect(double got, double expected, double bound, const char* what) {
  const bool right = std::isnan(expected)   ? std::isnan(got)
                     : std::isinf(expected) ? got == expected
                                            : std::abs(got - expected) <= bound;
  if (!right)
    fail(ErrorCode::kInternal, "the shader of {} computes {} instead of {}", what, got, expected);
}

}  // namespace rooftile::row_check
