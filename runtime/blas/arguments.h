// Arguments of the BLAS routines as values: letters in upper case, matrices column-major.
#pragma once

#include <algorithm>
#include <utility>

#include "runtime/blas/real_blas.h"
#include "runtime/blas/routines.h"

#define ROOFTILE_BLAS_API extern "C" __attribute__((visibility("default")))

namespace rooftile::blas {

/// Returns the real library's function of this name and type. It reports wrong arguments through
/// xerbla_, which the program may have replaced.
template <typename Function>
Function* real_function(const char* name) {
  return reinterpret_cast<Function*>(required_symbol(name));
}

/// CBLAS enumerators, fixed by its ABI.
enum Cblas : int {
  kRowMajor = 101,
  kColMajor = 102,
  kNoTrans = 111,
  kTrans = 112,
  kConjTrans = 113,
  kUpper = 121,
  kLower = 122,
  kNonUnit = 131,
  kUnit = 132,
  kLeft = 141,
  kRight = 142
};

/// Converts CBLAS values to letters. Values that CBLAS does not define become 0, which every check
/// rejects.
inline char trans_letter(int trans) {
  return trans == kNoTrans ? 'N' : trans == kTrans || trans == kConjTrans ? 'T' : '\0';
}
inline char uplo_letter(int uplo) { return uplo == kUpper ? 'U' : uplo == kLower ? 'L' : '\0'; }
inline char diag_letter(int diag) { return diag == kUnit ? 'U' : diag == kNonUnit ? 'N' : '\0'; }
inline char side_letter(int side) { return side == kLeft ? 'L' : side == kRight ? 'R' : '\0'; }

/// Fortran's letters in upper case; for real matrices C means T.
inline char upper(const char* letter) {
  return *letter >= 'a' && *letter <= 'z' ? static_cast<char>(*letter - 'a' + 'A') : *letter;
}
inline char trans_letter(const char* letter) {
  const char trans = upper(letter);
  return trans == 'C' ? 'T' : trans;
}

/// A row-major matrix is its transpose stored column-major.
inline char flipped(char letter) {
  switch (letter) {
    case 'N':
      return 'T';
    case 'T':
      return 'N';
    case 'U':
      return 'L';
    case 'L':
      return 'U';
    default:
      return letter;
  }
}
inline char other_side(char side) { return side == 'L' ? 'R' : side == 'R' ? 'L' : side; }

inline bool is_trans(char letter) { return letter == 'N' || letter == 'T'; }
inline bool is_uplo(char letter) { return letter == 'U' || letter == 'L'; }
inline bool is_diag(char letter) { return letter == 'U' || letter == 'N'; }
inline bool is_side(char letter) { return letter == 'L' || letter == 'R'; }
inline bool is_order(int order) { return order == kRowMajor || order == kColMajor; }
inline bool is_ld(Int ld, Int rows) { return ld >= std::max(rows, 1); }

template <typename Real>
bool is_legal(const Gemm<Real>& g) {
  return is_trans(g.trans_a) && is_trans(g.trans_b) && g.m >= 0 && g.n >= 0 && g.k >= 0 &&
         is_ld(g.lda, g.trans_a == 'N' ? g.m : g.k) && is_ld(g.ldb, g.trans_b == 'N' ? g.k : g.n) &&
         is_ld(g.ldc, g.m);
}

/// Row-major to column-major: C^T = op(B)^T op(A)^T.
template <typename Real>
Gemm<Real> column_major(int order, Gemm<Real> g) {
  if (order != kRowMajor) return g;
  std::swap(g.trans_a, g.trans_b);
  std::swap(g.m, g.n);
  std::swap(g.a, g.b);
  std::swap(g.lda, g.ldb);
  return g;
}

template <typename Real>
bool is_legal(const Syrk<Real>& s) {
  return is_uplo(s.uplo) && is_trans(s.trans) && s.n >= 0 && s.k >= 0 &&
         is_ld(s.lda, s.trans == 'N' ? s.n : s.k) && is_ld(s.ldc, s.n);
}
template <typename Real>
bool is_legal(const Symm<Real>& s) {
  return is_side(s.side) && is_uplo(s.uplo) && s.m >= 0 && s.n >= 0 &&
         is_ld(s.lda, s.side == 'L' ? s.m : s.n) && is_ld(s.ldb, s.m) && is_ld(s.ldc, s.m);
}
template <typename Real>
bool is_legal(const Triangular<Real>& t) {
  return is_side(t.side) && is_uplo(t.uplo) && is_trans(t.trans) && is_diag(t.diag) && t.m >= 0 &&
         t.n >= 0 && is_ld(t.lda, t.side == 'L' ? t.m : t.n) && is_ld(t.ldb, t.m);
}

/// C = C^T: the result is in the other triangle, with op(A) stored transposed.
template <typename Real>
Syrk<Real> column_major(int order, Syrk<Real> s) {
  if (order != kRowMajor) return s;
  s.uplo = flipped(s.uplo);
  s.trans = flipped(s.trans);
  return s;
}

/// C^T = B^T A. The same holds for triangular matrices, whose op stays.
template <typename Sided>
requires requires(Sided s) { s.side; }
Sided column_major(int order, Sided s) {
  if (order != kRowMajor) return s;
  s.side = other_side(s.side);
  s.uplo = flipped(s.uplo);
  std::swap(s.m, s.n);
  return s;
}

}  // namespace rooftile::blas
