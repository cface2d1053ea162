#include "runtime/call/call_checks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/error.h"
#include "runtime/call/packed_operand.h"
#include "runtime/call/scale_checks.h"

namespace rooftile {
namespace {

/// Bytes of a matrix: rows of row_bytes, with `pitch` bytes from one row to the next; empty for a
/// matrix that is not accessed.
struct Range {
  const char* begin;
  const char* end;
  std::int64_t row_bytes, pitch_bytes;
};
Range range_of(const void* x, Extent extent, std::int64_t ld, DataType type) {
  const char* begin = static_cast<const char*>(x);
  return {begin, begin + span_elements(extent, ld) * bytes_of(type),
          extent.columns * bytes_of(type), ld * bytes_of(type)};
}
bool ranges_meet(const Range& x, const Range& y) { return x.begin < y.end && y.begin < x.end; }

/// Returns whether two matrices share bytes. Blocks of one matrix that lie side by side in its
/// rows, as in blocked factorisations, have intersecting ranges but share nothing. With different
/// pitches, intersecting ranges count as shared.
bool overlap(const Range& x, const Range& y) {
  if (!ranges_meet(x, y)) return false;
  if (x.pitch_bytes != y.pitch_bytes) return true;
  const std::int64_t pitch = x.pitch_bytes;
  const auto distance = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(y.begin) -
                                                  reinterpret_cast<std::intptr_t>(x.begin));
  const std::int64_t column = (distance % pitch + pitch) % pitch;  // of y in x's rows
  return column < x.row_bytes || column + y.row_bytes > pitch;
}

/// Range from the first to the last byte of a batch's matrices.
template <typename Matrix>
Range whole_range(const Problem& p, Matrix matrix) {
  Range whole = matrix(0);
  for (std::int64_t i = 1; i < p.batch; ++i) {
    const Range range = matrix(i);
    whole.begin = std::min(whole.begin, range.begin);
    whole.end = std::max(whole.end, range.end);
  }
  return whole;
}

/// All matrices C of a call. Batches have thousands of them: comparing whole ranges settles nearly
/// every call, and sorting settles the rest.
class Written {
 public:
  explicit Written(const GemmCall& call)
      : call_(call), whole_(whole_range(call.problem, [this](std::int64_t i) { return c(i); })) {}

  /// Throws when two of them overlap. Matrices a stride apart cannot overlap, because validate()
  /// checked the stride.
  void check_each_other() {
    if (call_.c_array == nullptr) return;
    sort();
    for (std::size_t i = 1; i < sorted_.size(); ++i)
      if (ranges_meet(sorted_[i - 1].range, sorted_[i].range))
        fail(ErrorCode::kInvalidArgument, "two matrices C of the batch overlap");
  }

  /// Throws, naming the input, when a matrix that is read overlaps one of them. may_be(i) returns
  /// whether matrix i may coincide with the i-th C.
  template <typename Matrix, typename MayBe>
  void check_read(const char* what, Matrix matrix, MayBe may_be) {
    if (!ranges_meet(whole_, whole_range(call_.problem, matrix))) return;
    sort();
    for (std::int64_t i = 0; i < call_.problem.batch; ++i) {
      const Range read = matrix(i);
      auto c = std::partition_point(sorted_.begin(), sorted_.end(),
                                    [&](const Sorted& x) { return x.range.begin < read.end; });
      while (c != sorted_.begin() && ranges_meet((--c)->range, read))
        if (overlap(c->range, read) && !(c->index == i && may_be(i)))
          fail(ErrorCode::kInvalidArgument, "c overlaps {}", what);
    }
  }
  template <typename Matrix>
  void check_read(const char* what, Matrix matrix) {
    check_read(what, matrix, [](std::int64_t) { return false; });
  }

 private:
  struct Sorted {
    Range range;
    std::int64_t index;
  };
  Range c(std::int64_t i) const {
    const Problem& p = call_.problem;
    return range_of(call_.c_of(i), {p.m, p.n}, p.ldc, p.types.c);
  }
  void sort() {
    if (!sorted_.empty()) return;
    for (std::int64_t i = 0; i < call_.problem.batch; ++i) sorted_.push_back({c(i), i});
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Sorted& x, const Sorted& y) { return x.range.begin < y.range.begin; });
  }
  const GemmCall& call_;
  Range whole_;
  std::vector<Sorted> sorted_;
};

void check_alignment(const char* what, const void* pointer, DataType type) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if ((address & static_cast<std::uintptr_t>(bytes_of(type) - 1)) != 0)  // A power of two.
    fail(ErrorCode::kInvalidArgument, "{} is {:#x}, which is not aligned to {}'s {} bytes", what,
         address, name(type), bytes_of(type));
}

/// Checks an array of a batch's pointers, or the first matrix when there is no array.
void check_pointers(const char* what, const void* first, const void* const* array,
                    std::int64_t batch, DataType type) {
  if (array == nullptr && first == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", what);
  if (array == nullptr) check_alignment(what, first, type);
  for (std::int64_t i = 0; array != nullptr && i < batch; ++i) {
    if (array[i] == nullptr) fail(ErrorCode::kInvalidArgument, "{}[{}] is null", what, i);
    check_alignment(what, array[i], type);
  }
}

void check_epilogue(const GemmCall& call, Written& written) {
  const Problem& p = call.problem;
  const Epilogue& e = p.epilogue;
  const EpilogueOperands& x = call.epilogue;
  const DataType type = epilogue_type(p.types);
  const auto check_vector = [&](const char* what, bool used, const void* vector,
                                std::int64_t size) {
    if (!used) return;
    if (vector == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", what);
    check_alignment(what, vector, type);
    written.check_read(what, [&](std::int64_t) { return range_of(vector, {1, size}, size, type); });
  };
  check_vector("row_scale", e.row_scale, x.row_scale, p.m);
  const std::int64_t columns = column_elements(p, x.expert_columns);
  check_vector("column_scale", e.column_scale, x.column_scale, columns);
  check_vector("bias", e.bias != Bias::kNone, x.bias, e.bias == Bias::kRow ? p.m : columns);
  if (e.clamp && !(e.low <= e.high)) {
    const auto text = [&](double limit) {
      return is_float64(p.types) ? fmt::format("{}", limit)
                                 : fmt::format("{}", static_cast<float>(limit));
    };
    fail(ErrorCode::kInvalidArgument, "the clamp's limits are {} and {}", text(e.low),
         text(e.high));
  }
  if (!e.residual) return;
  if (x.residual == nullptr) fail(ErrorCode::kInvalidArgument, "residual is null");
  check_alignment("residual", x.residual, type);
  if (x.ld_residual < p.n)
    fail(ErrorCode::kInvalidArgument, "ld_residual is {}, but its rows are {} elements long",
         x.ld_residual, p.n);
  if (p.batch > 1 && x.stride_residual < 0)
    fail(ErrorCode::kInvalidArgument, "stride_residual is {}", x.stride_residual);
  const auto end = static_cast<__int128>(p.m) * x.ld_residual +
                   static_cast<__int128>(p.batch - 1) * (p.batch > 1 ? x.stride_residual : 0);
  if (end > std::numeric_limits<std::int64_t>::max() / bytes_of(type))
    fail(ErrorCode::kInvalidArgument,
         "ld_residual is {} and stride_residual {}: such a residual fits no address space",
         x.ld_residual, x.stride_residual);
  // An in-place residual is legal: the invocation that writes an element is the one that reads it.
  written.check_read(
      "the residual other than in place",
      [&](std::int64_t i) {
        return range_of(call.residual_of(i), {p.m, p.n}, x.ld_residual, type);
      },
      [&](std::int64_t i) {
        return p.types.c == type && call.residual_of(i) == call.c_of(i) && x.ld_residual == p.ldc;
      });
}

/// `written` is null where there is no C.
void check_quantized(const GemmCall& call, Written* written, Values values) {
  const Problem& p = call.problem;
  const QuantizedBytes bytes = quantized_bytes(p);
  if (call.b_array != nullptr)
    fail(ErrorCode::kInvalidArgument, "b_array is not NULL, but a batch shares a quantised B");
  const auto check = [&](const char* what, const void* begin, std::int64_t size, DataType type) {
    if (size == 0) return;
    if (begin == nullptr) fail(ErrorCode::kInvalidArgument, "{} is null", what);
    check_alignment(what, begin, type);
    const Range range = {static_cast<const char*>(begin), static_cast<const char*>(begin) + size,
                         size, size};
    if (written != nullptr) written->check_read(what, [&](std::int64_t) { return range; });
  };
  const bool floats = p.types.b.zero_point == ZeroPoint::kFloat;
  check("b", call.b, bytes.values, DataType::kI8);
  check("the scales of b", call.scales, bytes.scales, p.types.a);
  check("the zero points of b", call.zero_points, bytes.zero_points,
        floats ? p.types.a : DataType::kI8);
  if (values == Values::kReadable) check_scales(p, {call.b, call.scales, call.zero_points});
}

}  // namespace

void validate_call(const GemmCall& call, Values values) {
  const Problem& p = call.problem;
  if (is_empty(p)) return;
  check_pointers("c", call.c, call.c_array, p.batch, p.types.c);
  Written written(call);
  written.check_each_other();
  if (any(p.epilogue)) check_epilogue(call, written);
  if (p.k == 0 || p.alpha == 0.0f) return;
  // A packed operand may be left out.
  const auto is_given = [&](Operand operand) {
    return call.packed == nullptr || call.packed->shape.operand != operand ||
           has_operand(call, operand);
  };
  const bool reads_b = is_given(Operand::kB);
  if (is_given(Operand::kA)) {
    check_pointers("a", call.a, call.a_array, p.batch, p.types.a);
    if (reads_b && !quantized(p.types))
      check_pointers("b", call.b, call.b_array, p.batch, p.types.a);
    written.check_read(
        "a", [&](std::int64_t i) { return range_of(call.a_of(i), stored_a(p), p.lda, p.types.a); });
  }
  if (!reads_b) return;
  if (quantized(p.types)) return check_quantized(call, &written, values);
  check_pointers("b", call.b, call.b_array, p.batch, p.types.a);
  if (is_grouped(p)) {  // The B of all experts count as one matrix without gaps.
    const std::int64_t all = span_b(p);
    written.check_read("b", [&](std::int64_t) {
      return range_of(call.b, {1, all}, all, p.types.a);
    });
    return;
  }
  written.check_read(
      "b", [&](std::int64_t i) { return range_of(call.b_of(i), stored_b(p), p.ldb, p.types.a); });
}

void validate_operand(const GemmCall& call, Operand operand) {
  const Problem& p = call.problem;
  const Extent extent = operand == Operand::kA ? stored_a(p) : stored_b(p);
  if (extent.rows == 0 || extent.columns == 0) return;
  if (operand == Operand::kA) return check_pointers("a", call.a, nullptr, 1, p.types.a);
  if (quantized(p.types)) return check_quantized(call, nullptr, Values::kReadable);
  check_pointers("b", call.b, nullptr, 1, p.types.a);
}

}  // namespace rooftile
