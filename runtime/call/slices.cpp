#include "runtime/call/slices.h"

#include <algorithm>

#include "core/enum_words.h"

namespace rooftile {
namespace {

constexpr std::int64_t kAlignment = 64;
// More slices would be hours of work, and listing them would take longer than a decision may.
constexpr std::size_t kMostSlices = 1024;

struct Span {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

/// A slice: ranges of op(A)'s rows, of op(B)'s columns, and of the depth k.
struct Part {
  Span rows, columns, depth;
};

/// Returns null for calls without operands, which only ask how they would run.
void* c_at(const GemmCall& call, std::int64_t i) {
  return call.c == nullptr && call.c_array == nullptr ? nullptr : call.c_of(i);
}

/// Returns call i of a batch.
GemmCall product_of_batch(const GemmCall& call, std::int64_t i) {
  GemmCall one = call;
  one.problem = one_product(call.problem);
  one.a = call.a_of(i);
  one.b = call.b_of(i);
  one.c = c_at(call, i);
  one.a_array = one.b_array = nullptr;
  one.c_array = nullptr;
  one.epilogue.residual = call.residual_of(i);
  return one;
}

GemmCall range_of_batch(const GemmCall& call, Span range) {
  if (range.size() == 1) return product_of_batch(call, range.begin);
  GemmCall part = call;
  part.problem.batch = range.size();
  if (call.a_array != nullptr)
    part.a_array += range.begin;
  else
    part.a = call.a_of(range.begin);
  if (call.b_array != nullptr)
    part.b_array += range.begin;
  else
    part.b = call.b_of(range.begin);
  if (call.c_array != nullptr)
    part.c_array += range.begin;
  else
    part.c = c_at(call, range.begin);
  part.epilogue.residual = call.residual_of(range.begin);
  return part;
}

/// Skips rows of a quantised B, which are columns of op(B).
void skip_quantized(GemmCall& part, std::int64_t columns) {
  Problem skipped = part.problem;
  skipped.n = columns;
  const QuantizedBytes bytes = quantized_bytes(skipped);
  part.b = behind(part.b, bytes.values);
  part.scales = behind(part.scales, bytes.scales);
  part.zero_points = behind(part.zero_points, bytes.zero_points);
}

/// Returns a slice of a call without batch.
GemmCall part_of(const GemmCall& call, const Part& part) {
  const Problem& p = call.problem;
  GemmCall result = call;
  const auto offset = [](bool transposed, std::int64_t row, std::int64_t column, std::int64_t ld) {
    return transposed ? column * ld + row : row * ld + column;
  };
  result.a = behind(call.a,
                    offset(p.trans_a == Transpose::kYes, part.rows.begin, part.depth.begin, p.lda) *
                        bytes_of(p.types.a));
  if (quantized(p.types))
    skip_quantized(result, part.columns.begin);
  else
    result.b = behind(
        call.b, offset(p.trans_b == Transpose::kYes, part.depth.begin, part.columns.begin, p.ldb) *
                    bytes_of(p.types.a));
  if (call.c != nullptr)
    result.c = static_cast<char*>(call.c) +
               (part.rows.begin * p.ldc + part.columns.begin) * bytes_of(p.types.c);
  result.problem.m = part.rows.size();
  result.problem.n = part.columns.size();
  result.problem.k = part.depth.size();
  EpilogueOperands& e = result.epilogue;
  e.row_scale = behind_elements(p, e.row_scale, part.rows.begin);
  e.column_scale = behind_elements(p, e.column_scale, part.columns.begin);
  e.bias = behind_elements(p, e.bias,
                           p.epilogue.bias == Bias::kRow ? part.rows.begin : part.columns.begin);
  e.residual = behind_elements(p, e.residual, part.rows.begin * e.ld_residual + part.columns.begin);
  // Every slice of k is scaled; the operations after the sum follow the last slice.
  if (part.depth.end < p.k)
    result.problem.epilogue = {.row_scale = p.epilogue.row_scale,
                               .column_scale = p.epilogue.column_scale};
  if (part.depth.begin > 0) result.problem.beta = 1.0f;
  return result;
}

bool depth_may_be_cut(const GemmCall& call) {
  const Types& types = call.problem.types;
  // A residual that is C would be overwritten by the first slice, but the last slice needs it.
  return !quantized(types) && bytes_of(types.c) >= 4 && !widens_sums(types) &&
         (call.epilogue.residual == nullptr || call.epilogue.residual != call.c);
}

/// Splits a span into halves, the first a multiple of the alignment. Returns false for a span that
/// is too short.
bool halve(const Span& span, Span& first, Span& second) {
  if (span.size() <= kAlignment) return false;
  const std::int64_t half = (span.size() / 2 + kAlignment - 1) / kAlignment * kAlignment;
  first = {span.begin, span.begin + half};
  second = {span.begin + half, span.end};
  return true;
}

bool cut(const GemmCall& call, const Part& part, const std::function<bool(const Problem&)>& fits,
         std::vector<GemmCall>& result) {
  if (result.size() == kMostSlices) return false;
  GemmCall here = part_of(call, part);
  if (fits(here.problem)) {
    result.push_back(here);
    return true;
  }
  std::vector<Span Part::*> sizes = {&Part::rows, &Part::columns};
  if (depth_may_be_cut(call)) sizes.push_back(&Part::depth);
  Span Part::*const longest =
      *std::ranges::max_element(sizes, {}, [&](Span Part::*size) { return (part.*size).size(); });
  Part first = part, second = part;
  return halve(part.*longest, first.*longest, second.*longest) && cut(call, first, fits, result) &&
         cut(call, second, fits, result);
}

bool cut_batch(const GemmCall& call, const std::function<bool(const Problem&)>& fits,
               std::vector<GemmCall>& result) {
  if (result.size() == kMostSlices) return false;
  const Problem& p = call.problem;
  if (p.batch == 1) {
    const GemmCall one = product_of_batch(call, 0);
    return cut(one, {{0, p.m}, {0, p.n}, {0, p.k}}, fits, result);
  }
  if (fits(p)) {
    result.push_back(call);
    return true;
  }
  const std::int64_t half = p.batch / 2;
  return cut_batch(range_of_batch(call, {0, half}), fits, result) &&
         cut_batch(range_of_batch(call, {half, p.batch}), fits, result);
}

}  // namespace

std::vector<GemmCall> slices(const GemmCall& call,
                             const std::function<bool(const Problem&)>& fits) {
  std::vector<GemmCall> result;
  if (fits(call.problem)) return {call};
  if (!cut_batch(call, fits, result)) result.clear();
  return result;
}

std::string_view name(CutAlong along) {
  static constexpr EnumWords<CutAlong::kBatch> kWords = {"rows", "columns", "matrices"};
  return kWords[along];
}

std::int64_t length(const Problem& p, CutAlong along) {
  if (along == CutAlong::kBatch) return p.batch;
  return along == CutAlong::kRows ? p.m : p.n;
}

std::int64_t cut_grain(CutAlong along) { return along == CutAlong::kBatch ? 1 : kAlignment; }

GemmCall range_of(const GemmCall& call, CutAlong along, std::int64_t begin, std::int64_t size) {
  const Problem& p = call.problem;
  const Span range = {begin, begin + size};
  if (along == CutAlong::kBatch) return range_of_batch(call, range);
  Part part = {{0, p.m}, {0, p.n}, {0, p.k}};
  (along == CutAlong::kRows ? part.rows : part.columns) = range;
  return part_of(product_of_batch(call, 0), part);
}

GemmCall range_of_k(const GemmCall& call, std::int64_t begin, std::int64_t size) {
  const Problem& p = call.problem;
  return part_of(product_of_batch(call, 0), {{0, p.m}, {0, p.n}, {begin, begin + size}});
}

}  // namespace rooftile
