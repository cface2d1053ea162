// What the checks of row operations' shaders share: memory with random contents, runs, comparisons.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/error.h"
#include "core/numbers/random.h"
#include "runtime/resident/row_operation.h"

namespace rooftile::row_check {

inline constexpr double kUnit = 0x1p-24, kUlp = 0x1p-23, kSmallestNormal = 0x1p-126;
inline constexpr std::int64_t kOffset = 4;  // of each matrix in its buffer

/// A buffer that both sides see, of at least so many elements of 4 bytes.
std::shared_ptr<DeviceMemory> shared_memory(Device& device, std::int64_t elements);

/// Random float32 in [-range, range).
std::shared_ptr<DeviceMemory> random_memory(Device& device, std::int64_t elements, float range,
                                            Random& random);

/// A matrix of random float32 in [-range, range), behind kOffset elements.
RowMatrices random_matrix(Device& device, std::int64_t rows, std::int64_t ld, float range,
                          Random& random);

/// Where an element is in the contents of the matrix's memory.
std::size_t at(const RowMatrices& x, std::int64_t row, std::int64_t column);

/// The contents, as float32 or as 32-bit integers.
template <typename T>
std::vector<T> values_of(const DeviceMemory& memory) {
  static_assert(sizeof(T) == 4);
  const auto* const values = static_cast<const T*>(memory.buffer.mapped());
  return {values, values + memory.buffer.size_bytes() / sizeof(T)};
}

void run(Device& device, const RowOperation& operation);

/// Runs a call of rows or experts by its shader.
template <typename Call>
void run(Device& device, const Call& call, const Shader& shader, const ShaderCache& cache) {
  run(device, row_operation(call, compiled(device, shader, cache), device.profile().limits));
}

/// Throw kInternal, naming the shader, for an element beyond its bound, where NaN is right for NaN
/// and infinity for its equal only, and for any other byte that has changed.
void expect(double got, double expected, double bound, const char* what);
template <typename T>
void expect_unchanged(const std::vector<T>& before, const std::vector<T>& after, const char* what) {
  // NaN is not equal to itself.
  if (std::memcmp(before.data(), after.data(), after.size() * sizeof(T)) != 0)
    fail(ErrorCode::kInternal, "the shader of {} writes outside of its result", what);
}

}  // namespace rooftile::row_check
