#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "tests/precision/calls.h"

namespace rooftile {
namespace {

constexpr int kRowMajor = 101, kColMajor = 102;
template <typename Real>
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
template <typename Real>
constexpr DataType kType = std::is_same_v<Real, float> ? DataType::kF32 : DataType::kF64;

/// A value with as many bits as the type has.
template <typename Real>
Real value_of(Random& random, Values values) {
  const float x = any_value(random, values);
  if constexpr (std::is_same_v<Real, float>) return x;
  return values == Values::kIntegers ? x : x + static_cast<Real>(random.symmetric()) * x * 0x1p-26;
}

/// How a call enters a routine: by Fortran, or by CBLAS with column-major or row-major matrices.
enum class Entry : std::uint8_t { kFortran, kColumns, kRows };

/// A matrix of rows x columns, with NaN between the end of a line and the next line.
template <typename Real>
class Stored {
 public:
  Stored(Random& random, Values values, Entry entry, std::int64_t rows, std::int64_t columns)
      : by_rows_(entry == Entry::kRows), ld_((by_rows_ ? columns : rows) + any_of(random, 1, 4)) {
    memory_.assign(static_cast<std::size_t>(ld_ * (by_rows_ ? rows : columns)), kNan<Real>);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) at(i, j) = value_of<Real>(random, values);
  }
  Real& at(std::int64_t i, std::int64_t j) {
    return memory_[static_cast<std::size_t>(by_rows_ ? i * ld_ + j : j * ld_ + i)];
  }
  Real* data() { return memory_.data(); }
  int ld() const { return static_cast<int>(ld_); }

 private:
  bool by_rows_;
  std::int64_t ld_;
  std::vector<Real> memory_;
};

/// A dense matrix as a function of its indices.
using Elements = std::function<double(std::int64_t, std::int64_t)>;
template <typename Real>
Elements elements(Stored<Real>& x, char trans = 'N') {
  if (trans == 'N') return [&x](std::int64_t i, std::int64_t j) { return x.at(i, j); };
  return [&x](std::int64_t i, std::int64_t j) { return x.at(j, i); };
}

char letter(Random& random, char first, char second) {
  return random.below(2) == 0 ? first : second;
}
int cblas(char c) {
  switch (c) {
    case 'N':
      return 111;
    case 'T':
      return 112;
    case 'U':
      return 121;
    case 'L':
      return 122;
    default:
      return 0;
  }
}
int cblas_diag(char c) { return c == 'N' ? 131 : 132; }
int cblas_side(char c) { return c == 'L' ? 141 : 142; }
int cblas_order(Entry entry) { return entry == Entry::kRows ? kRowMajor : kColMajor; }

int size(Random& random) {
  return static_cast<int>(random.below(8) == 0 ? any_of(random, 60, 100) : any_of(random, 1, 40));
}

/// The letter with which the names of the type's routines begin.
template <typename Real>
constexpr char kLetter = std::is_same_v<Real, float> ? 's' : 'd';
template <typename Real>
std::string fortran(const std::string& routine) {
  return kLetter<Real> + routine + "_";
}
template <typename Real>
std::string cblas(const std::string& routine) {
  return std::string("cblas_") + kLetter<Real> + routine;
}

class Blas {
 public:
  explicit Blas(const std::string& library) : handle_(dlopen(library.c_str(), RTLD_NOW)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  template <typename... Arguments>
  void call(const std::string& name, Arguments... arguments) const {
    using Function = void (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(handle_, name.c_str()));
    if (function == nullptr) throw std::runtime_error("no symbol " + name);
    function(arguments...);
  }

 private:
  void* handle_;
};

template <typename Real>
struct Scalars {
  Real alpha, beta;
};
template <typename Real>
Scalars<Real> any_scalars(Random& random) {
  return {any_alpha(random), any_beta(random)};
}

/// Compares every element (i, j) of C for which counts(i, j) is true.
template <typename Real, typename Counts>
void compare(Tally& tally, Stored<Real>& c, std::int64_t m, std::int64_t n, std::int64_t k,
             Scalars<Real> s, const Elements& a, const Elements& b, const Elements& old,
             const Counts& counts) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (counts(i, j))
        tally.add(kType<Real>,
                  exact_sum(
                      s.alpha, k, [&](std::int64_t l) { return a(i, l); },
                      [&](std::int64_t l) { return b(l, j); }, s.beta, old(i, j)),
                  static_cast<double>(c.at(i, j)));
}
bool all(std::int64_t, std::int64_t) { return true; }

/// Operands of one gemm call or of a batch of equal shapes.
template <typename Real>
struct GemmOperands {
  Entry entry;
  Values values;
  char trans_a, trans_b;
  int m, n, k;
  Scalars<Real> s;
  std::vector<std::unique_ptr<Stored<Real>>> a, b, c, old;

  GemmOperands(Random& random, int batch)
      : entry(static_cast<Entry>(random.below(3))),
        values(any_values(random)),
        trans_a(letter(random, 'N', 'T')),
        trans_b(letter(random, 'N', 'T')),
        m(size(random)),
        n(size(random)),
        k(size(random) * 4),
        s(any_scalars<Real>(random)) {
    const auto add = [&](auto& list, int rows, int columns) {
      if (list.empty())
        list.push_back(std::make_unique<Stored<Real>>(random, values, entry, rows, columns));
      else  // Matrices of a batch have the same ld.
        list.push_back(std::make_unique<Stored<Real>>(*list.back()));
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) list.back()->at(i, j) = value_of<Real>(random, values);
    };
    for (int i = 0; i < batch; ++i) {
      trans_a == 'N' ? add(a, m, k) : add(a, k, m);
      trans_b == 'N' ? add(b, k, n) : add(b, n, k);
      add(c, m, n);
      old.push_back(std::make_unique<Stored<Real>>(*c.back()));
    }
  }
  void check(Tally& tally) {
    for (std::size_t i = 0; i < c.size(); ++i)
      compare(tally, *c[i], m, n, k, s, elements(*a[i], trans_a), elements(*b[i], trans_b),
              elements(*old[i]), all);
  }
};

template <typename Real>
void gemm(const Blas& blas, Random& random, Tally& tally) {
  GemmOperands<Real> x(random, 1);
  Real *const a = x.a[0]->data(), *const b = x.b[0]->data(), *const c = x.c[0]->data();
  const int lda = x.a[0]->ld(), ldb = x.b[0]->ld(), ldc = x.c[0]->ld();
  if (x.entry == Entry::kFortran)
    blas.call(fortran<Real>("gemm"), &x.trans_a, &x.trans_b, &x.m, &x.n, &x.k, &x.s.alpha, a, &lda,
              b, &ldb, &x.s.beta, c, &ldc);
  else
    blas.call(cblas<Real>("gemm"), cblas_order(x.entry), cblas(x.trans_a), cblas(x.trans_b), x.m,
              x.n, x.k, x.s.alpha, a, lda, b, ldb, x.s.beta, c, ldc);
  x.check(tally);
}

template <typename Real>
void gemm_batch(const Blas& blas, Random& random, Tally& tally) {
  GemmOperands<Real> x(random, 3);
  std::array<Real*, 3> a, b, c;
  for (std::size_t i = 0; i < 3; ++i)
    a[i] = x.a[i]->data(), b[i] = x.b[i]->data(), c[i] = x.c[i]->data();
  const int lda = x.a[0]->ld(), ldb = x.b[0]->ld(), ldc = x.c[0]->ld(), groups = 1, count = 3;
  const int trans_a = cblas(x.trans_a), trans_b = cblas(x.trans_b);
  if (x.entry == Entry::kFortran)
    blas.call(fortran<Real>("gemm_batch"), &x.trans_a, &x.trans_b, &x.m, &x.n, &x.k, &x.s.alpha,
              a.data(), &lda, b.data(), &ldb, &x.s.beta, c.data(), &ldc, &groups, &count);
  else
    blas.call(cblas<Real>("gemm_batch"), cblas_order(x.entry), &trans_a, &trans_b, &x.m, &x.n, &x.k,
              &x.s.alpha, a.data(), &lda, b.data(), &ldb, &x.s.beta, c.data(), &ldc, groups,
              &count);
  x.check(tally);
}

template <typename Real>
void gemm_batch_strided(const Blas& blas, Random& random, Tally& tally) {
  GemmOperands<Real> x(random, 2);
  // Both matrices of an operand, the second directly after the first.
  const auto joined = [](std::vector<std::unique_ptr<Stored<Real>>>& list, std::size_t length) {
    std::vector<Real> memory(2 * length);
    for (std::size_t i = 0; i < 2; ++i)
      std::copy_n(list[i]->data(), length, memory.data() + i * length);
    return memory;
  };
  const auto length = [&](Stored<Real>& matrix, int rows, int columns) {
    return static_cast<int>(matrix.ld() * (x.entry == Entry::kRows ? rows : columns));
  };
  const int stride_a = x.trans_a == 'N' ? length(*x.a[0], x.m, x.k) : length(*x.a[0], x.k, x.m),
            stride_b = x.trans_b == 'N' ? length(*x.b[0], x.k, x.n) : length(*x.b[0], x.n, x.k),
            stride_c = length(*x.c[0], x.m, x.n), count = 2;
  std::vector<Real> a = joined(x.a, stride_a), b = joined(x.b, stride_b), c = joined(x.c, stride_c);
  const int lda = x.a[0]->ld(), ldb = x.b[0]->ld(), ldc = x.c[0]->ld();
  if (x.entry == Entry::kFortran)
    blas.call(fortran<Real>("gemm_batch_strided"), &x.trans_a, &x.trans_b, &x.m, &x.n, &x.k,
              &x.s.alpha, a.data(), &lda, &stride_a, b.data(), &ldb, &stride_b, &x.s.beta, c.data(),
              &ldc, &stride_c, &count);
  else
    blas.call(cblas<Real>("gemm_batch_strided"), cblas_order(x.entry), cblas(x.trans_a),
              cblas(x.trans_b), x.m, x.n, x.k, x.s.alpha, a.data(), lda, stride_a, b.data(), ldb,
              stride_b, x.s.beta, c.data(), ldc, stride_c, count);
  for (std::size_t i = 0; i < 2; ++i)
    std::copy_n(c.data() + i * stride_c, stride_c, x.c[i]->data());
  x.check(tally);
}

template <typename Real>
void gemv(const Blas& blas, Random& random, Tally& tally) {
  const auto entry = static_cast<Entry>(random.below(3));
  const Values values = any_values(random);
  const char trans = letter(random, 'N', 'T');
  const int m = size(random) * 3, n = size(random) * 3;
  const int length_x = trans == 'N' ? n : m, length_y = trans == 'N' ? m : n;
  const Scalars<Real> s = any_scalars<Real>(random);
  const int incx = static_cast<int>(any_of(random, 1, 3)) * (random.below(2) == 0 ? 1 : -1),
            incy = static_cast<int>(any_of(random, 1, 3)) * (random.below(2) == 0 ? 1 : -1);
  Stored<Real> a(random, values, entry, m, n);
  const auto vector = [&](int length, int increment) {
    std::vector<Real> x(static_cast<std::size_t>(length * std::abs(increment)), kNan<Real>);
    for (int i = 0; i < length; ++i)
      x[static_cast<std::size_t>(i * std::abs(increment))] = value_of<Real>(random, values);
    return x;
  };
  std::vector<Real> x = vector(length_x, incx), y = vector(length_y, incy);
  const std::vector<Real> old = y;
  const int lda = a.ld();
  if (entry == Entry::kFortran)
    blas.call(fortran<Real>("gemv"), &trans, &m, &n, &s.alpha, a.data(), &lda, x.data(), &incx,
              &s.beta, y.data(), &incy);
  else
    blas.call(cblas<Real>("gemv"), cblas_order(entry), cblas(trans), m, n, s.alpha, a.data(), lda,
              x.data(), incx, s.beta, y.data(), incy);
  const auto at = [](const std::vector<Real>& v, int length, int increment, std::int64_t i) {
    const std::int64_t place = increment > 0 ? i : length - 1 - i;
    return static_cast<double>(v[static_cast<std::size_t>(place * std::abs(increment))]);
  };
  const Elements op = elements(a, trans);
  for (int i = 0; i < length_y; ++i)
    tally.add(kType<Real>,
              exact_sum(
                  s.alpha, length_x, [&](std::int64_t l) { return op(i, l); },
                  [&](std::int64_t l) { return at(x, length_x, incx, l); }, s.beta,
                  at(old, length_y, incy, i)),
              at(y, length_y, incy, i));
}

bool in_triangle(char uplo, std::int64_t i, std::int64_t j) {
  return uplo == 'U' ? i <= j : i >= j;
}

/// Sets the elements that a routine must not read to NaN.
template <typename Real>
void keep_triangle(Stored<Real>& x, char uplo, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (!in_triangle(uplo, i, j)) x.at(i, j) = kNan<Real>;
}

template <typename Real>
void syrk(const Blas& blas, Random& random, Tally& tally) {
  const auto entry = static_cast<Entry>(random.below(3));
  const Values values = any_values(random);
  const char uplo = letter(random, 'U', 'L'), trans = letter(random, 'N', 'T');
  const int n = size(random), k = size(random) * 4;
  const Scalars<Real> s = any_scalars<Real>(random);
  Stored<Real> a(random, values, entry, trans == 'N' ? n : k, trans == 'N' ? k : n),
      c(random, values, entry, n, n);
  keep_triangle(c, uplo, n);
  Stored<Real> old = c;
  const int lda = a.ld(), ldc = c.ld();
  if (entry == Entry::kFortran)
    blas.call(fortran<Real>("syrk"), &uplo, &trans, &n, &k, &s.alpha, a.data(), &lda, &s.beta,
              c.data(), &ldc);
  else
    blas.call(cblas<Real>("syrk"), cblas_order(entry), cblas(uplo), cblas(trans), n, k, s.alpha,
              a.data(), lda, s.beta, c.data(), ldc);
  compare(tally, c, n, n, k, s, elements(a, trans), elements(a, trans == 'N' ? 'T' : 'N'),
          elements(old),
          [uplo](std::int64_t i, std::int64_t j) { return in_triangle(uplo, i, j); });
}

template <typename Real>
void symm(const Blas& blas, Random& random, Tally& tally) {
  const auto entry = static_cast<Entry>(random.below(3));
  const Values values = any_values(random);
  const char side = letter(random, 'L', 'R'), uplo = letter(random, 'U', 'L');
  const int m = size(random) * 2, n = size(random) * 2, order = side == 'L' ? m : n;
  const Scalars<Real> s = any_scalars<Real>(random);
  Stored<Real> a(random, values, entry, order, order), b(random, values, entry, m, n),
      c(random, values, entry, m, n), old = c;
  keep_triangle(a, uplo, order);
  const int lda = a.ld(), ldb = b.ld(), ldc = c.ld();
  if (entry == Entry::kFortran)
    blas.call(fortran<Real>("symm"), &side, &uplo, &m, &n, &s.alpha, a.data(), &lda, b.data(), &ldb,
              &s.beta, c.data(), &ldc);
  else
    blas.call(cblas<Real>("symm"), cblas_order(entry), cblas_side(side), cblas(uplo), m, n, s.alpha,
              a.data(), lda, b.data(), ldb, s.beta, c.data(), ldc);
  const Elements whole = [&](std::int64_t i, std::int64_t j) {
    return in_triangle(uplo, i, j) ? a.at(i, j) : a.at(j, i);
  };
  compare(tally, c, m, n, order, s, side == 'L' ? whole : elements(b),
          side == 'L' ? elements(b) : whole, elements(old), all);
}

template <typename Real>
struct TriangularCall {
  Entry entry;
  Values values;
  char side, uplo, trans, diag;
  int m, n, order;
  Real alpha;
  Stored<Real> a, b, old;

  explicit TriangularCall(Random& random)
      : entry(static_cast<Entry>(random.below(3))),
        values(random.below(2) == 0 ? Values::kUniform : Values::kIntegers),
        side(letter(random, 'L', 'R')),
        uplo(letter(random, 'U', 'L')),
        trans(letter(random, 'N', 'T')),
        diag(letter(random, 'N', 'U')),
        m(size(random) * 2),
        n(size(random) * 2),
        order(side == 'L' ? m : n),
        alpha(any_alpha(random)),
        a(random, values, entry, order, order),
        b(random, values, entry, m, n),
        old(b) {
    keep_triangle(a, uplo, order);
    for (int i = 0; i < order; ++i) {
      // The matrix is well conditioned, so that the solution does not grow.
      for (int j = 0; j < order; ++j) a.at(i, j) /= static_cast<Real>(order) * 2048;
      a.at(i, i) = diag == 'U' ? kNan<Real> : Real{1.25} + random.symmetric();
    }
  }
  void run(const Blas& blas, const char* routine) {
    const int lda = a.ld(), ldb = b.ld();
    if (entry == Entry::kFortran)
      blas.call(fortran<Real>(routine), &side, &uplo, &trans, &diag, &m, &n, &alpha, a.data(), &lda,
                b.data(), &ldb);
    else
      blas.call(cblas<Real>(routine), cblas_order(entry), cblas_side(side), cblas(uplo),
                cblas(trans), cblas_diag(diag), m, n, alpha, a.data(), lda, b.data(), ldb);
  }
  /// Element (i, j) of op(A).
  double at(std::int64_t i, std::int64_t j) {
    if (trans != 'N') std::swap(i, j);
    if (i == j && diag == 'U') return 1;
    return in_triangle(uplo, i, j) ? static_cast<double>(a.at(i, j)) : 0.0;
  }
};

template <typename Real>
void trmm(const Blas& blas, Random& random, Tally& tally) {
  TriangularCall<Real> t(random);
  t.run(blas, "trmm");
  const Elements op = [&](std::int64_t i, std::int64_t j) { return t.at(i, j); };
  const bool left = t.side == 'L';
  compare(tally, t.b, t.m, t.n, t.order, {t.alpha, 0}, left ? op : elements(t.old),
          left ? elements(t.old) : op, elements(t.old), all);
}

/// Checks one system op(A) x = alpha * right-hand side at a time; for side R, the matrix is the
/// transpose of op(A). The bound is that of substitution: |error| <= gamma_n |op(A)^-1| |op(A)|
/// |x| (Higham, Accuracy and Stability of Numerical Algorithms, 8.5), where the inverse of the
/// comparison matrix bounds |op(A)^-1|.
template <typename Real>
void trsm(const Blas& blas, Random& random, Tally& tally) {
  TriangularCall<Real> t(random);
  t.run(blas, "trsm");
  const bool left = t.side == 'L';
  const auto op = [&](std::int64_t i, std::int64_t j) {
    return static_cast<double>(left ? t.at(i, j) : t.at(j, i));
  };
  const bool op_is_lower = (t.uplo == 'L') == (t.trans == 'N');
  const bool lower = op_is_lower == left;  // The transpose of a lower matrix is upper.
  const std::int64_t order = t.order;
  std::vector<Wide> x(static_cast<std::size_t>(order));
  std::vector<double> size(x.size()), error = size;  // Bounds need few digits.
  for (std::int64_t s = 0; s < (left ? t.n : t.m); ++s) {
    const auto element = [&](Stored<Real>& of, std::int64_t i) -> Real& {
      return left ? of.at(i, s) : of.at(s, i);
    };
    const auto solve = [&](auto& y, const auto& right, const auto& off_diagonal,
                           const auto& diagonal) {
      for (std::int64_t step = 0; step < order; ++step) {
        const std::int64_t i = lower ? step : order - 1 - step;
        auto sum = right(i);
        for (std::int64_t j = lower ? 0 : i + 1; j < (lower ? i : order); ++j)
          sum -= off_diagonal(i, j) * y[static_cast<std::size_t>(j)];
        y[static_cast<std::size_t>(i)] = sum / diagonal(i);
      }
    };
    solve(
        x,
        [&](std::int64_t i) {
          return static_cast<Wide>(t.alpha) * static_cast<Wide>(element(t.old, i));
        },
        op, [&](std::int64_t i) { return op(i, i); });
    for (std::int64_t i = 0; i < order; ++i) {
      double sum = std::fabs(static_cast<double>(t.alpha) * static_cast<double>(element(t.old, i)));
      for (std::int64_t j = 0; j < order; ++j)
        sum += std::fabs(op(i, j) * static_cast<double>(x[static_cast<std::size_t>(j)]));
      size[static_cast<std::size_t>(i)] = sum;
    }
    solve(
        error, [&](std::int64_t i) { return size[static_cast<std::size_t>(i)]; },
        [&](std::int64_t i, std::int64_t j) { return -std::fabs(op(i, j)); },
        [&](std::int64_t i) { return std::fabs(op(i, i)); });
    for (std::int64_t i = 0; i < order; ++i)
      tally.add(kType<Real>,
                {x[static_cast<std::size_t>(i)], error[static_cast<std::size_t>(i)],
                 static_cast<double>(order) + 3},
                static_cast<double>(element(t.b, i)));
  }
}

}  // namespace

std::vector<Routine> blas_routines(const std::string& library) {
  const auto blas = std::make_shared<const Blas>(library);
  std::vector<Routine> routines;
  using Call = void (*)(const Blas&, Random&, Tally&);
  const auto add = [&](const char* name, Call call) {
    routines.push_back({name, [blas, call](Random& random, Tally& tally) {
                          ++tally.calls;
                          call(*blas, random, tally);
                        }});
  };
  add("sgemm", gemm<float>);
  add("sgemm_batch", gemm_batch<float>);
  add("sgemm_batch_strided", gemm_batch_strided<float>);
  add("sgemv", gemv<float>);
  add("ssyrk", syrk<float>);
  add("ssymm", symm<float>);
  add("strmm", trmm<float>);
  add("strsm", trsm<float>);
  add("dgemm", gemm<double>);
  add("dgemm_batch", gemm_batch<double>);
  add("dgemm_batch_strided", gemm_batch_strided<double>);
  add("dsyrk", syrk<double>);
  add("dsymm", symm<double>);
  add("dtrmm", trmm<double>);
  add("dtrsm", trsm<double>);
  return routines;
}

}  // namespace rooftile
