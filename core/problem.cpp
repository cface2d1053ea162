#include "core/problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/round.h"

namespace rooftile {
namespace {

constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostElementBytes = 4;

void validate_size(const char* what, std::int64_t value) {
  if (value < 0)
    fail(ErrorCode::kInvalidArgument, "{} is {}; sizes must not be negative", what, value);
}

// Spans are computed in __int128, because rows * ld may exceed 63 bits before the check refuses it;
// in elements, since four times that may exceed 127.
struct StoredAs {
  Layout layout;
  std::int64_t element_bytes;
};

void validate_operand(const char* what, Extent extent, std::int64_t ld, StoredAs storage) {
  const bool row_major = storage.layout == Layout::kRowMajor;
  const std::int64_t lines = row_major ? extent.rows : extent.columns;
  const std::int64_t length = row_major ? extent.columns : extent.rows;
  const char* const line = row_major ? "rows" : "columns";
  if (ld < (length > 0 ? length : 1))
    fail(ErrorCode::kInvalidArgument, "ld{} is {}, but the stored {} of {} are {} elements long",
         what, ld, line, what, length);
  if (static_cast<__int128>(lines) * ld > kMaxBytes / storage.element_bytes)
    fail(ErrorCode::kInvalidArgument, "{} with {} {} and ld{} {} does not fit an address space",
         what, lines, line, what, ld);
}

void validate_stride(const char* what, const Problem& p, std::int64_t stride, std::int64_t span) {
  if (stride < 0)
    fail(ErrorCode::kInvalidArgument, "stride_{} is {}; it must not be negative", what, stride);
  if (static_cast<__int128>(p.batch - 1) * stride + span > kMaxBytes / kMostElementBytes)
    fail(ErrorCode::kInvalidArgument, "{} matrices stride_{} {} apart do not fit an address space",
         p.batch, what, stride);
}

void validate_integers(const Problem& p) {
  // A longer sum of products of the largest magnitude overflows an int32.
  const std::int64_t longest_k =
      std::numeric_limits<std::int32_t>::max() / largest_product(p.types.a);
  if (p.k > longest_k)
    fail(ErrorCode::kInvalidArgument, "k is {}; sums of {} products may overflow beyond {}", p.k,
         name(p.types.a), longest_k);
  if (p.types.c != DataType::kI32) return;
  if (p.alpha != 0.0f && p.alpha != 1.0f)
    fail(ErrorCode::kInvalidArgument, "alpha is {}; it is 0 or 1 where the result is int32",
         p.alpha);
  if (p.beta != 0.0f && p.beta != 1.0f)
    fail(ErrorCode::kInvalidArgument, "beta is {}; it is 0 or 1 where the result is int32", p.beta);
  if (any(p.epilogue))
    fail(ErrorCode::kInvalidArgument,
         "an int32 result has no epilogue; float32, float16 and bfloat16 ones have");
}

void validate_quantized(const Problem& p, Layout layout) {
  if (layout != Layout::kRowMajor || p.trans_b != Transpose::kYes)
    fail(ErrorCode::kInvalidArgument,
         "a quantised B is stored n x k: row-major and transposed, nothing else");
  if (p.ldb != std::max<std::int64_t>(ld_quantized(p), 1))
    fail(ErrorCode::kInvalidArgument, "ldb is {}; {} blocks of {} make rows of {}", p.ldb,
         ld_quantized(p) / p.types.b.block, p.types.b.block, ld_quantized(p));
  if (p.batch > 1 && p.stride_b != 0 && !is_grouped(p))
    fail(ErrorCode::kInvalidArgument,
         "stride_b is {}; all members of a batch share a quantised B, so it must be 0", p.stride_b);
}

std::int64_t span_of_batch(const Problem& p, Extent extent, std::int64_t ld, std::int64_t stride) {
  const std::int64_t one = span_elements(extent, ld);
  return one == 0 || p.batch == 0 ? 0 : (p.batch - 1) * stride + one;
}

/// A stack of quantised B is one matrix with the rows of all experts.
void validate_grouping(const Problem& p, Layout layout) {
  const Grouping& g = p.grouping;
  validate_size("experts", g.experts);
  validate_size("groups", g.groups);
  validate_size("the largest group", g.largest);
  if (layout != Layout::kRowMajor || p.trans_a != Transpose::kNo)
    fail(ErrorCode::kInvalidArgument,
         "the rows of a grouped A are stored one behind the other: row-major and not transposed");
  if (p.batch != 1)
    fail(ErrorCode::kInvalidArgument, "batch is {}; a grouped GEMM is no batch", p.batch);
  const std::int64_t span = span_elements(stored_b(p), p.ldb);
  if (quantized(p.types) && g.experts > 1 && p.stride_b != p.n * ld_quantized(p))
    fail(
        ErrorCode::kInvalidArgument,
        "stride_b is {}; the quantised B of all experts lie one behind the other, {} elements each",
        p.stride_b, p.n * ld_quantized(p));
  if (p.stride_b < 0 || (g.experts > 1 && p.stride_b < span && p.stride_b != 0))
    fail(ErrorCode::kInvalidArgument,
         "stride_b is {}; the B of an expert takes {} elements (0: all experts share one)",
         p.stride_b, span);
  if (static_cast<__int128>(g.experts) * p.stride_b + span > kMaxBytes / kMostElementBytes)
    fail(ErrorCode::kInvalidArgument, "{} matrices stride_b {} apart do not fit an address space",
         g.experts, p.stride_b);
}

int band(std::int64_t size) {
  return size <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(size)) - 1;
}

/// Elements of a matrix; the largest number where they are more, which validate() refuses.
std::int64_t elements(std::int64_t rows, std::int64_t columns) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(rows, columns, &product) ? std::numeric_limits<std::int64_t>::max()
                                                         : product;
}

}  // namespace

char letter(Transpose transpose) { return transpose == Transpose::kYes ? 't' : 'n'; }

Problem packed_problem(std::int64_t m, std::int64_t n, std::int64_t k, Transpose trans_a,
                       Transpose trans_b, std::int64_t batch, const Types& types) {
  const auto at_least_one = [](std::int64_t x) { return x > 0 ? x : 1; };
  // Sizes are not validated here: what no stride can hold is refused by validate().
  Problem p = {.types = types,
               .m = m,
               .n = n,
               .k = k,
               .batch = batch,
               .trans_a = trans_a,
               .trans_b = trans_b,
               .lda = at_least_one(trans_a == Transpose::kYes ? m : k),
               .ldb = at_least_one(trans_b == Transpose::kYes ? k : n),
               .ldc = at_least_one(n),
               .stride_a = batch == 1 ? 0 : elements(m, k),
               .stride_b = batch == 1 ? 0 : elements(k, n),
               .stride_c = batch == 1 ? 0 : elements(m, n)};
  if (quantized(types)) {
    p.ldb = at_least_one(ld_quantized(p));
    p.stride_b = 0;
  }
  return p;
}

Problem retyped(const Problem& p, const Types& types) {
  Problem other = packed_problem(p.m, p.n, p.k, p.trans_a,
                                 quantized(types) ? Transpose::kYes : p.trans_b, p.batch, types);
  other.alpha = p.alpha;
  other.beta = p.beta;
  other.epilogue = p.epilogue;
  other.grouping = p.grouping;
  if (p.grouping.experts > 1)
    other.stride_b = elements(stored_b(other).rows, stored_b(other).columns);
  return other;
}

Problem grouped_problem(std::int64_t m, std::int64_t n, std::int64_t k, const Grouping& grouping,
                        Transpose trans_b, const Types& types) {
  Problem p = packed_problem(m, n, k, Transpose::kNo, trans_b, 1, types);
  p.grouping = grouping;
  if (grouping.experts > 1) p.stride_b = elements(stored_b(p).rows, stored_b(p).columns);
  return p;
}

Problem one_product(const Problem& p) {
  Problem one = p;
  one.batch = 1;
  one.grouping = {};
  one.stride_a = one.stride_b = one.stride_c = 0;
  return one;
}

Extent stored_a(const Problem& p) {
  return p.trans_a == Transpose::kYes ? Extent{p.k, p.m} : Extent{p.m, p.k};
}
Extent stored_b(const Problem& p) {
  if (quantized(p.types)) return {p.n, ld_quantized(p)};
  return p.trans_b == Transpose::kYes ? Extent{p.n, p.k} : Extent{p.k, p.n};
}

std::int64_t span_elements(Extent extent, std::int64_t ld) {
  return extent.rows == 0 || extent.columns == 0 ? 0 : (extent.rows - 1) * ld + extent.columns;
}

std::int64_t span_a(const Problem& p) { return span_of_batch(p, stored_a(p), p.lda, p.stride_a); }
std::int64_t span_b(const Problem& p) {
  if (!is_grouped(p)) return span_of_batch(p, stored_b(p), p.ldb, p.stride_b);
  const std::int64_t one = span_elements(stored_b(p), p.ldb);
  return one == 0 ? 0 : (p.grouping.experts - 1) * p.stride_b + one;
}
std::int64_t span_c(const Problem& p) { return span_of_batch(p, {p.m, p.n}, p.ldc, p.stride_c); }

std::int64_t ld_quantized(const Problem& p) {
  // A k so large that rounding it up would overflow stays as it is: validate() refuses it.
  const std::int64_t block = p.types.b.block;
  return block == 0 || p.k > kMaxBytes - block ? p.k : round_up(p.k, block);
}
std::int64_t quantized_blocks(const Problem& p) {
  return quantized(p.types) ? matrices_b(p) * p.n * (ld_quantized(p) / p.types.b.block) : 0;
}
std::int64_t quantization_bytes(const Problem& p) {
  const std::int64_t blocks = quantized_blocks(p);
  if (blocks == 0 || has_block_format(p.types)) return 0;
  const std::int64_t scales = blocks * bytes_of(p.types.a);
  switch (p.types.b.zero_point) {
    case ZeroPoint::kPacked:
      return scales +
             matrices_b(p) * p.n * ((ld_quantized(p) / p.types.b.block * p.types.b.bits + 7) / 8);
    case ZeroPoint::kFloat:
      return 2 * scales;
    default:
      return scales;
  }
}

std::int64_t filled_groups(const Problem& p) {
  return std::max<std::int64_t>(std::min(p.grouping.groups, p.m), 1);
}

double skew(const Problem& p) {
  const double mean = static_cast<double>(p.m) / static_cast<double>(filled_groups(p));
  return std::max(static_cast<double>(p.grouping.largest) / std::max(mean, 1.0), 1.0);
}

double size_distance(const Problem& x, const Problem& y) {
  const auto square = [](double difference) { return difference * difference; };
  const auto difference = [](std::int64_t a, std::int64_t b) {
    const auto log_size = [](std::int64_t size) {
      return std::log2(static_cast<double>(std::max<std::int64_t>(size, 1)));
    };
    return log_size(a) - log_size(b);
  };
  const auto matrices = [](const Problem& p) { return is_grouped(p) ? filled_groups(p) : p.batch; };
  const auto groups = [](const Problem& p) { return is_grouped(p) ? filled_groups(p) : 1; };
  const double rows = difference(x.m, y.m) - difference(groups(x), groups(y));
  return square(rows) + square(difference(x.n, y.n)) + square(difference(x.k, y.k)) +
         square(difference(matrices(x), matrices(y))) +
         square(std::log2(skew(x)) - std::log2(skew(y)));
}

double flops(const Problem& p) {
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
         static_cast<double>(p.batch);
}

double minimum_bytes(const Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n),
               k = static_cast<double>(p.k);
  const double c_passes = p.beta == 0.0f ? 1.0 : 2.0;
  const double batch = static_cast<double>(p.batch);
  const auto matrices = [&](std::int64_t stride) { return p.batch > 1 && stride == 0 ? 1 : batch; };
  // Groups without rows may leave experts out, which is not known here.
  const double experts = is_grouped(p) && p.stride_b != 0
                             ? static_cast<double>(std::min(p.grouping.experts, p.grouping.groups))
                             : 1;
  const double bytes_b = experts * (k * n * bytes_per_element_b(p.types) +
                                    static_cast<double>(quantization_bytes(p) / matrices_b(p)));
  return m * k * matrices(p.stride_a) * static_cast<double>(bytes_of(p.types.a)) +
         bytes_b * matrices(p.stride_b) +
         c_passes * m * n * batch * static_cast<double>(bytes_of(p.types.c));
}

void validate(const Problem& p, Layout layout) {
  validate_size("m", p.m);
  validate_size("n", p.n);
  validate_size("k", p.k);
  validate_size("batch", p.batch);
  validate(p.types);
  validate_operand("a", stored_a(p), p.lda, {layout, bytes_of(p.types.a)});
  validate_operand("b", stored_b(p), p.ldb, {layout, bytes_of(p.types.a)});
  validate_operand("c", {p.m, p.n}, p.ldc, {layout, bytes_of(p.types.c)});
  if (is_8_bit(p.types.a)) validate_integers(p);
  if (quantized(p.types)) validate_quantized(p, layout);
  if (p.grouping != Grouping{}) validate_grouping(p, layout);
  if (p.batch <= 1) return;
  const bool row_major = layout == Layout::kRowMajor;
  const auto span = [&](Extent extent, std::int64_t ld) {
    return row_major ? span_elements(extent, ld) : span_elements({extent.columns, extent.rows}, ld);
  };
  validate_stride("a", p, p.stride_a, span(stored_a(p), p.lda));
  validate_stride("b", p, p.stride_b, span(stored_b(p), p.ldb));
  validate_stride("c", p, p.stride_c, span({p.m, p.n}, p.ldc));
  // The GEMMs of a batch run in parallel, so none may write to the C of another. Matrices side by
  // side in the rows of one matrix (columns, in column-major order), as heads of attention are, do
  // not overlap. Other interleaved rows are legal for BLAS, but a stride that is too short is far
  // more often a mistake.
  const std::int64_t inner = row_major ? p.n : p.m;
  const bool side_by_side = p.stride_c >= inner && p.stride_c <= p.ldc / p.batch + inner &&
                            (p.batch - 1) * p.stride_c + inner <= p.ldc;
  if (!side_by_side && p.stride_c < span({p.m, p.n}, p.ldc))
    fail(ErrorCode::kInvalidArgument,
         "stride_c is {}, but a C of the batch takes {} elements: they would overlap", p.stride_c,
         span({p.m, p.n}, p.ldc));
}

Problem swapped_operands(const Problem& p) {
  Problem swapped = p;
  swapped.m = p.n;
  swapped.n = p.m;
  swapped.trans_a = p.trans_b;
  swapped.trans_b = p.trans_a;
  swapped.lda = p.ldb;
  swapped.ldb = p.lda;
  swapped.stride_a = p.stride_b;
  swapped.stride_b = p.stride_a;
  swapped.epilogue = transposed(p.epilogue);
  return swapped;
}

std::string to_string(const Problem& p) {
  std::string text =
      fmt::format("{}x{}x{} {}{}", p.m, p.n, p.k, letter(p.trans_a), letter(p.trans_b));
  if (p.types != Types{}) text += " " + to_string(p.types);
  if (p.batch != 1) text += fmt::format(" batch {}", p.batch);
  if (any(p.epilogue)) text += " " + to_string(p.epilogue);
  if (!is_grouped(p)) return text;
  text += fmt::format(" in {} groups of {} experts", p.grouping.groups, p.grouping.experts);
  if (p.grouping.largest > 0) text += fmt::format(", the largest {}", p.grouping.largest);
  return text;
}

Bucket bucket_of(const Problem& p) {
  Bucket bucket = {p.types,   p.trans_a, p.trans_b, compiled_part(p.epilogue),
                   band(p.m), band(p.n), band(p.k), band(p.batch)};
  if (!is_grouped(p)) return bucket;
  bucket.groups_band = band(p.grouping.groups);
  bucket.skew_band = band(static_cast<std::int64_t>(skew(p)));
  return bucket;
}

std::string to_string(const Bucket& b) {
  const std::string epilogue = any(b.epilogue) ? "." + to_string(b.epilogue) : "";
  const std::string groups =
      b.groups_band < 0 ? "" : fmt::format(".g{}.s{}", b.groups_band, b.skew_band);
  return fmt::format("{}.{}{}{}.m{}.n{}.k{}.b{}{}", to_string(b.types), letter(b.trans_a),
                     letter(b.trans_b), epilogue, b.m_band, b.n_band, b.k_band, b.batch_band,
                     groups);
}

}  // namespace rooftile
