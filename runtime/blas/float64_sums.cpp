#include "runtime/blas/float64_sums.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rooftile::blas {
namespace {

/// Elements of a square matrix that are used; the others are neither read nor written.
enum class Part { kAll, kUpper, kLower, kStrictlyUpper, kStrictlyLower };

Part triangle(char uplo) { return uplo == 'U' ? Part::kUpper : Part::kLower; }
Part triangle(char uplo, char diag) {
  if (diag != 'U') return triangle(uplo);
  return uplo == 'U' ? Part::kStrictlyUpper : Part::kStrictlyLower;
}

/// A column-major float64 matrix without padding; elements that were not read are zero.
class Copy {
 public:
  Copy(Int rows, Int columns)
      : rows_(rows),
        columns_(columns),
        values_(static_cast<double*>(
            std::calloc(std::max<std::size_t>(static_cast<std::size_t>(rows), 1) *
                            std::max<std::size_t>(static_cast<std::size_t>(columns), 1),
                        sizeof(double)))) {}
  ~Copy() { std::free(values_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  bool exists() const { return values_ != nullptr; }
  double* data() { return values_; }
  const Int* ld() const { return &ld_; }

  void read(const float* x, Int ld, Part part = Part::kAll) {
    each_column(part, [&](std::ptrdiff_t j, std::ptrdiff_t begin, std::ptrdiff_t end) {
      const float* const from = x + j * ld;
      std::copy(from + begin, from + end, values_ + j * rows_ + begin);
    });
  }
  void write(float* x, Int ld, Part part = Part::kAll) const {
    each_column(part, [&](std::ptrdiff_t j, std::ptrdiff_t begin, std::ptrdiff_t end) {
      const double* const from = values_ + j * rows_;
      std::transform(from + begin, from + end, x + j * ld + begin,
                     [](double value) { return static_cast<float>(value); });
    });
  }

 private:
  /// Calls column(j, begin, end) for the used rows [begin, end) of each column j.
  template <typename Column>
  void each_column(Part part, const Column& column) const {
    const std::ptrdiff_t rows = rows_;
    for (std::ptrdiff_t j = 0; j < columns_; ++j) {
      const std::ptrdiff_t above = std::min(j, rows), past = std::min(j + 1, rows);
      switch (part) {
        case Part::kAll:
          column(j, 0, rows);
          break;
        case Part::kUpper:
          column(j, 0, past);
          break;
        case Part::kStrictlyUpper:
          column(j, 0, above);
          break;
        case Part::kLower:
          column(j, above, rows);
          break;
        case Part::kStrictlyLower:
          column(j, past, rows);
          break;
      }
    }
  }

  std::ptrdiff_t rows_, columns_;
  double* values_;
  Int ld_ = static_cast<Int>(std::max<std::ptrdiff_t>(rows_, 1));
};

/// The elements of a BLAS vector in logical order.
template <typename Element>
class Vector {
 public:
  Vector(Element* x, Int count, Int increment)
      : first_(increment < 0 ? x - std::ptrdiff_t{count - 1} * increment : x),
        increment_(increment) {}
  Element& operator[](std::ptrdiff_t i) const { return first_[i * increment_]; }

 private:
  Element* first_;
  std::ptrdiff_t increment_;
};

constexpr const char* kNoMemory = "there is no memory for the float64 copies of its operands";
constexpr Int kOne = 1;

bool triangular_in_float64(const char* name, RealRoutines<double>::TriangularRoutine routine,
                           const Triangular<float>& t) {
  const Int order = t.side == 'L' ? t.m : t.n;
  Copy a(order, order), b(t.m, t.n);
  if (!a.exists() || !b.exists()) return say_float32(name, kNoMemory);
  a.read(t.a, t.lda, triangle(t.uplo, t.diag));
  b.read(t.b, t.ldb);
  const double alpha = t.alpha;
  routine(&t.side, &t.uplo, &t.trans, &t.diag, &t.m, &t.n, &alpha, a.data(), a.ld(), b.data(),
          b.ld(), 1, 1, 1, 1);
  b.write(t.b, t.ldb);
  return true;
}

}  // namespace

bool say_float32(const char* routine, const char* why) {
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  const char* const log = ::secure_getenv("ROOFTILE_LOG");
  if (!said.test_and_set() && (log == nullptr || std::strcmp(log, "off") != 0))
    std::fprintf(
        stderr,
        "rooftile: %s does not sum in float64, as ROOFTILE_PRECISION or ROOFTILE_TIER asks: "
        "%s; %s computes in float32\n",
        routine, why, real_blas().name);
  return false;
}

bool gemm_in_float64(const Gemm<float>& g) {
  const Int rows_a = g.trans_a == 'N' ? g.m : g.k, columns_a = g.trans_a == 'N' ? g.k : g.m;
  const Int rows_b = g.trans_b == 'N' ? g.k : g.n, columns_b = g.trans_b == 'N' ? g.n : g.k;
  Copy a(rows_a, columns_a), b(rows_b, columns_b), c(g.m, g.n);
  if (!a.exists() || !b.exists() || !c.exists()) return say_float32("sgemm", kNoMemory);
  a.read(g.a, g.lda);
  b.read(g.b, g.ldb);
  if (g.beta != 0.0f) c.read(g.c, g.ldc);
  multiply(real_routines<double>(),
           Gemm<double>{g.trans_a, g.trans_b, g.m, g.n, g.k, g.alpha, a.data(), *a.ld(), b.data(),
                        *b.ld(), g.beta, c.data(), *c.ld()});
  c.write(g.c, g.ldc);
  return true;
}

bool gemv_in_float64(const Gemv& v) {
  const Int length_x = v.trans == 'N' ? v.n : v.m, length_y = v.trans == 'N' ? v.m : v.n;
  Copy a(v.m, v.n), x(length_x, 1), y(length_y, 1);
  if (!a.exists() || !x.exists() || !y.exists()) return say_float32("sgemv", kNoMemory);
  a.read(v.a, v.lda);
  const Vector<const float> from(v.x, length_x, v.incx);
  for (Int i = 0; i < length_x; ++i) x.data()[i] = from[i];
  const Vector<float> result(v.y, length_y, v.incy);
  if (v.beta != 0.0f)
    for (Int i = 0; i < length_y; ++i) y.data()[i] = result[i];
  const double alpha = v.alpha, beta = v.beta;
  real_routines<double>().gemv(&v.trans, &v.m, &v.n, &alpha, a.data(), a.ld(), x.data(), &kOne,
                               &beta, y.data(), &kOne, 1);
  for (Int i = 0; i < length_y; ++i) result[i] = static_cast<float>(y.data()[i]);
  return true;
}

bool syrk_in_float64(const Syrk<float>& s) {
  Copy a(s.trans == 'N' ? s.n : s.k, s.trans == 'N' ? s.k : s.n), c(s.n, s.n);
  if (!a.exists() || !c.exists()) return say_float32("ssyrk", kNoMemory);
  a.read(s.a, s.lda);
  if (s.beta != 0.0f) c.read(s.c, s.ldc, triangle(s.uplo));
  const double alpha = s.alpha, beta = s.beta;
  real_routines<double>().syrk(&s.uplo, &s.trans, &s.n, &s.k, &alpha, a.data(), a.ld(), &beta,
                               c.data(), c.ld(), 1, 1);
  c.write(s.c, s.ldc, triangle(s.uplo));
  return true;
}

bool symm_in_float64(const Symm<float>& s) {
  const Int order = s.side == 'L' ? s.m : s.n;
  Copy a(order, order), b(s.m, s.n), c(s.m, s.n);
  if (!a.exists() || !b.exists() || !c.exists()) return say_float32("ssymm", kNoMemory);
  a.read(s.a, s.lda, triangle(s.uplo));
  b.read(s.b, s.ldb);
  if (s.beta != 0.0f) c.read(s.c, s.ldc);
  const double alpha = s.alpha, beta = s.beta;
  real_routines<double>().symm(&s.side, &s.uplo, &s.m, &s.n, &alpha, a.data(), a.ld(), b.data(),
                               b.ld(), &beta, c.data(), c.ld(), 1, 1);
  c.write(s.c, s.ldc);
  return true;
}

bool trmm_in_float64(const Triangular<float>& t) {
  return triangular_in_float64("strmm", real_routines<double>().trmm, t);
}
bool trsm_in_float64(const Triangular<float>& t) {
  return triangular_in_float64("strsm", real_routines<double>().trsm, t);
}

}  // namespace rooftile::blas
