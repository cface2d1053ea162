// The definition of a GEMM: C := alpha * op(A) * op(B) + beta * C, row-major, with op(A) m x k,
// op(B) k x n and C m x n.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/epilogue.h"
#include "core/types.h"

namespace rooftile {

enum class Transpose : std::uint8_t { kNo, kYes };

char letter(Transpose transpose);  // 'n' or 't'

/// One of the two matrices that are multiplied.
enum class Operand : std::uint8_t { kA, kB };

/// The groups of a grouped GEMM: the rows of A and C are divided into consecutive groups, and the
/// rows of a group are multiplied with the B of the group's expert. How many rows each group has,
/// and which expert, is known to the call only (core/groups.h).
struct Grouping {
  std::int64_t experts = 0;  // matrices B, stride_b apart; 0: the problem is not grouped
  std::int64_t groups = 0;
  std::int64_t largest = 0;  // rows of the largest group; 0: not known, or even

  bool operator==(const Grouping&) const = default;
};

/// Sizes in elements. A is stored m x k (k x m when trans_a), B k x n (n x k when trans_b), each
/// with its ld. A quantised B is stored n x k, with whole blocks in a row: ldb is ld_quantized(p).
struct Problem {
  Types types = {};
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
  Transpose trans_a = Transpose::kNo, trans_b = Transpose::kNo;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  // Elements from one matrix of the batch to the next. 0 for A or B: the whole batch shares one
  // matrix.
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  double alpha = 1, beta = 0;  // float32 but for float64 operands
  Epilogue epilogue = {};
  Grouping grouping = {};  // m counts the rows of all groups, and batch is 1

  bool operator==(const Problem&) const = default;
};

inline bool is_grouped(const Problem& p) { return p.grouping.experts > 0; }
/// alpha or beta as a problem of these types has it: rounded to float32 but for float64.
inline double scalar_of(const Types& t, double x) {
  return is_float64(t) ? x : static_cast<double>(static_cast<float>(x));
}
/// Matrices B of a problem that is not a batch.
inline std::int64_t matrices_b(const Problem& p) { return is_grouped(p) ? p.grouping.experts : 1; }

/// A problem with the smallest ld and strides, as tuner, benches and CLI use it unless told
/// otherwise. A batch shares a quantised B.
Problem packed_problem(std::int64_t m, std::int64_t n, std::int64_t k,
                       Transpose trans_a = Transpose::kNo, Transpose trans_b = Transpose::kNo,
                       std::int64_t batch = 1, const Types& types = {});

/// A packed problem of the same sizes, scalars and epilogue in other types; with B transposed if it
/// is quantised.
Problem retyped(const Problem& p, const Types& types);

/// A packed problem with m rows in groups.
Problem grouped_problem(std::int64_t m, std::int64_t n, std::int64_t k, const Grouping& grouping,
                        Transpose trans_b = Transpose::kNo, const Types& types = {});

/// The problem of one GEMM of the batch, or of all rows of a grouped one with one B.
Problem one_product(const Problem& p);

struct Extent {
  std::int64_t rows, columns;  // as stored
};
Extent stored_a(const Problem& p);
Extent stored_b(const Problem& p);

/// Elements from the first to one past the last one that a rows x columns matrix with this ld
/// touches (0 if empty).
std::int64_t span_elements(Extent extent, std::int64_t ld);
/// The same span over all matrices of a batch, or over the B of all experts.
std::int64_t span_a(const Problem& p);
std::int64_t span_b(const Problem& p);
std::int64_t span_c(const Problem& p);

/// Elements in a row of a quantised B: k rounded up to whole blocks.
std::int64_t ld_quantized(const Problem& p);
/// Number of blocks of a quantised B of all experts, and of its separate scales and zero points.
std::int64_t quantized_blocks(const Problem& p);
/// Bytes of the separate scales and zero points of a quantised B together.
std::int64_t quantization_bytes(const Problem& p);

/// Groups that can have rows: at least 1, and at most one for each row.
std::int64_t filled_groups(const Problem& p);
/// Rows of the largest group over those of a group of mean size, at least 1; 1 where it is not
/// known.
double skew(const Problem& p);

/// Distance between the sizes of two problems: the sum of the squared differences of log2 m, n, k
/// and batch. A grouped problem counts as a batch of groups of mean size, and the squared
/// difference of log2 of the skews is added.
double size_distance(const Problem& x, const Problem& y);

double flops(const Problem& p);          // 2 m n k batch
double minimum_bytes(const Problem& p);  // A and B read once, C written once, read when beta != 0

/// The order in which a caller stores matrices. Problems are row-major everywhere else: a
/// column-major GEMM is the row-major one with A and B swapped (swapped_operands).
enum class Layout : std::uint8_t { kRowMajor, kColumnMajor };

/// Throws kInvalidArgument, naming the argument, for negative sizes, an ld below the stored row's
/// (column's) length, spans whose byte count does not fit 63 bits, and types that do not go
/// together or with the rest. m, n or k == 0 are legal.
void validate(const Problem& p, Layout layout = Layout::kRowMajor);

/// The row-major problem that computes a column-major one, by C^T = op(B)^T op(A)^T: the caller
/// passes B's pointer as A and A's as B.
Problem swapped_operands(const Problem& p);

/// "1024x512x256 nt" (and " batch 8", " in 64 groups of 64 experts, the largest 512"): for people.
std::string to_string(const Problem& p);

/// Problems that share a ranked list of kernels: equal types, transposes and log2 bands of the
/// sizes. A bucket never decides whether a kernel is legal; the rules check the real problem.
struct Bucket {
  Types types;
  Transpose trans_a, trans_b;
  Epilogue epilogue;                       // compiled_part
  int m_band, n_band, k_band, batch_band;  // floor(log2(size)); size 0 has band 0
  // Of a grouped problem; otherwise -1. skew: of the largest group over the mean.
  int groups_band = -1, skew_band = -1;

  bool operator==(const Bucket&) const = default;
};
Bucket bucket_of(const Problem& p);
std::string to_string(
    const Bucket& bucket);  // "f32.nt.m10.n9.k8.b0" (".g6.s1"), the key in the database

}  // namespace rooftile
