// The matrices of a row operation, their checks and their bindings.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/resident/device_memory.h"
#include "runtime/resident/resident_product.h"

namespace rooftile {

/// A batch of row-major matrices of float32 or of 32-bit integers. All numbers are in elements.
struct RowMatrices {
  std::shared_ptr<DeviceMemory> memory;
  std::int64_t offset = 0, ld = 0, stride = 0;
};

/// An operation that is bound to its buffers.
struct RowOperation {
  std::shared_ptr<const Pipeline> pipeline;
  DispatchStep step;
  std::vector<Access> reads, writes;
  MemoryUses uses;         ///< Keeps the buffers alive.
  MemoryUses results;      ///< Those that are written.
  double expected_ns = 0;  ///< A pessimistic guess.

  /// Whether there is nothing to do.
  bool empty() const { return pipeline == nullptr; }
  ProductSteps steps() const;
};

/// Size of a batch of matrices. A list of integers is one row.
struct RowShape {
  std::int64_t rows = 0, columns = 0, batch = 1;
};

/// Throws kInvalidArgument, naming it, for a size that is not in [least, 2^32).
void check_row_size(const char* what, std::int64_t value, std::int64_t least);

/// A size or a leading dimension as shaders get it.
inline std::uint32_t row_word(std::int64_t value) { return static_cast<std::uint32_t>(value); }

/// An extent of the grid: every device allows 65535 workgroups, and shaders loop over the rest.
std::uint32_t row_groups(std::int64_t count);
/// The extent of a grid whose invocations take a column each.
std::uint32_t column_groups(std::int64_t columns);

/// Binds the matrices of one operation in the order of its shader's bindings. Their sizes have
/// passed check_row_size. Members throw as row_operation.h says.
class RowBinder {
 public:
  explicit RowBinder(const DeviceLimits& limits) : limits_(limits) {}

  /// Bind a matrix, and return the elements from its binding's start to its first element. One
  /// without elements is bound to something that is not touched. A result must not overlap another
  /// operand, but may be an operand that is read by `read_by_element`: with the same offset, ld and
  /// stride.
  std::uint32_t read(const char* what, const RowMatrices& x, const RowShape& shape) {
    return add({.what = what, .x = x}, shape);
  }
  std::uint32_t read_by_element(const char* what, const RowMatrices& x, const RowShape& shape) {
    return add({.what = what, .x = x, .by_element = true}, shape);
  }
  std::uint32_t write(const char* what, const RowMatrices& x, const RowShape& shape);
  /// Takes the place of an operand that is left out.
  void absent() { made_.step.bindings.emplace_back(); }

  /// Checks overlaps, and returns the operation on all that was bound.
  RowOperation finish(std::shared_ptr<const Pipeline> pipeline,
                      std::vector<std::byte> push_constants,
                      const std::array<std::uint32_t, 3>& groups);

 private:
  struct Operand {
    const char* what = "";
    RowMatrices x = {};
    bool by_element = false, written = false;
    std::int64_t batch = 1;
    Access access = {};
  };
  std::uint32_t add(Operand operand, const RowShape& shape);
  static void check_apart(const Operand& x, const Operand& result);

  const DeviceLimits& limits_;
  std::vector<Operand> operands_;
  /// Bound in place of what is not touched: where there is one, bytes that the step writes and
  /// that are ordered against other steps anyway.
  BufferRange stand_in_;
  RowOperation made_;
};

}  // namespace rooftile
