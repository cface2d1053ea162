"""Checks every routine that the drop-in replaces, on shapes and arguments of all kinds, against a more precise type.

    products.py LIBRARY [ROUTINE...]     prints the number of right calls, in the environment it is run in; ROUTINE: as in "dsyrk"

Memory outside of the matrices is NaN before and after. The error bounds are those of rounding the sums.
"""
import ctypes
import itertools
import sys

import numpy as np

ROW, COL = 101, 102
TRANS = {"N": 111, "T": 112, "C": 113}
UPLO = {"U": 121, "L": 122}
DIAG = {"N": 131, "U": 132}
SIDE = {"L": 141, "R": 142}
library = ctypes.CDLL(sys.argv[1])
random = np.random.default_rng(7)
done = 0


class Real:
    """A type of operands: the letter in the names of its routines, and the type in which their results are computed for comparison."""

    def __init__(self, letter, c_type, element, bits, wide, digits):
        self.letter, self.c_type, self.element, self.bits, self.wide, self.eps = letter, c_type, element, bits, wide, 2.0**-digits


SINGLE = Real("s", ctypes.c_float, np.float32, np.uint32, np.float64, 24)
DOUBLE = Real("d", ctypes.c_double, np.float64, np.uint64, np.longdouble, 53)  # x86's long double has 64 bits
real = SINGLE


def widened(x):
    return x.astype(real.wide)


class Matrix:
    """A matrix in column-major or row-major order, with a longer ld than necessary and NaN around the elements."""

    def __init__(self, rows, columns, order=None, pad=3):
        self.by_rows = order == ROW
        self.length, lines = (columns, rows) if self.by_rows else (rows, columns)
        self.ld = max(self.length, 1) + pad
        self.memory = np.full((lines + 2) * self.ld, np.nan, real.element)
        self.view = self.elements(self.memory)
        self.view[...] = random.uniform(-1, 1, (rows, columns))
        self.before = self.memory.copy()

    def elements(self, memory):
        lines = memory[self.ld:-self.ld].reshape(-1, self.ld)[:, :self.length]
        return lines if self.by_rows else lines.T

    @property
    def pointer(self):
        return self.memory[self.ld:].ctypes.data_as(ctypes.c_void_p)

    def keep_only(self, mask):
        """Fills elements outside of the mask with NaN, because they must not be read."""
        self.view[~mask] = np.nan
        self.before = self.memory.copy()

    def check_surroundings(self, mask=True):
        """Expects memory outside of the matrix, or of the mask in it, to be unchanged."""
        written = np.zeros(self.memory.shape, bool)
        self.elements(written)[...] = mask
        np.testing.assert_array_equal(self.memory[~written].view(real.bits), self.before[~written].view(real.bits))


def op(x, trans):
    return x if trans == "N" else x.T


def by_reference(values):
    """Fortran's calling convention: letters, integers and floats by reference."""
    kinds = {str: lambda v: ctypes.c_char_p(v.encode()), int: lambda v: ctypes.byref(ctypes.c_int(v)),
             float: lambda v: ctypes.byref(real.c_type(v))}
    return [kinds.get(type(v), lambda v: v)(v) for v in values]


def by_value(values):
    return [real.c_type(v) if type(v) is float else v for v in values]


def call(routine, order, letters, values):
    """letters: (table, letter) for each flag. order: None for the Fortran routine."""
    if order is None:
        flags = [letter.lower() if done % 2 else letter for _, letter in letters]
        library[f"{real.letter}{routine}_"](*by_reference([*flags, *values]))
    else:
        library[f"cblas_{real.letter}{routine}"](order, *[table[letter] for table, letter in letters], *by_value(values))


def check(what, got, expected, bound):
    global done
    wrong = ~(np.abs(got - expected) <= bound)
    assert not wrong.any(), f"{what}: {wrong.sum()} of {wrong.size} wrong, first {np.argwhere(wrong)[0]}"
    done += 1


def magnitudes(a, b):
    """|a| |b|, in float64, which is enough for a bound and many times as fast as x86's long double."""
    return np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)


def product_bound(alpha, a, b, beta, c, depth):
    return (depth + 4) * real.eps * (abs(alpha) * magnitudes(a, b) + abs(beta) * np.abs(c)) + 1e-30


ORDERS = [None, COL, ROW]
SCALARS = [(1.0, 0.0), (-0.5, 1.0), (0.75, -2.0)]


def check_gemm(order, m, n, k, trans_a, trans_b, alpha, beta):
    a = Matrix(*((m, k) if trans_a == "N" else (k, m)), order)
    b = Matrix(*((k, n) if trans_b == "N" else (n, k)), order, pad=1)
    c = Matrix(m, n, order, pad=2)
    if beta == 0.0:
        c.keep_only(np.zeros((m, n), bool))
    wide_a, wide_b = widened(op(a.view, trans_a)), widened(op(b.view, trans_b))
    old = np.zeros((m, n)) if beta == 0.0 else widened(c.view)
    if alpha == 0.0:
        a.view[...] = np.nan
        wide_a, wide_b = np.zeros_like(wide_a), np.zeros_like(wide_b)
    call("gemm", order, [(TRANS, trans_a), (TRANS, trans_b)],
         [m, n, k, alpha, a.pointer, a.ld, b.pointer, b.ld, beta, c.pointer, c.ld])
    check(f"{real.letter}gemm {order} {m}x{n}x{k} {trans_a}{trans_b} {alpha} {beta}", c.view, alpha * wide_a @ wide_b + beta * old,
          product_bound(alpha, wide_a, wide_b, beta, old, k))
    c.check_surroundings()


def gemm():
    for order, trans_a, trans_b in itertools.product(ORDERS, "NTC", "NTC"):
        for (m, n, k), (alpha, beta) in zip([(65, 33, 127), (3, 130, 41), (200, 5, 64), (34, 67, 3)],
                                            itertools.cycle(SCALARS)):
            check_gemm(order, m, n, k, trans_a, trans_b, alpha, beta)
        for (m, n, k), (alpha, beta) in itertools.product([(1, 70, 90), (70, 1, 90), (1, 1, 50), (300, 1, 200)], SCALARS):
            check_gemm(order, m, n, k, trans_a, trans_b, alpha, beta)
    for order in ORDERS:
        for m, n, k in [(1, 1, 1), (0, 5, 5), (5, 0, 5), (5, 5, 0), (1, 70, 900), (7, 1, 7000)]:
            for alpha, beta in [*SCALARS, (0.0, 0.0), (0.0, 0.5)]:
                check_gemm(order, m, n, k, "N", "T", alpha, beta)


def array(kind, values):
    return (kind * len(values))(*values)


def gemm_batch():
    shapes = [(40, 33, 50, "N", "T", 1.0, 0.0, 3), (7, 9, 5, "T", "N", -1.0, 0.5, 2), (4, 4, 4, "N", "N", 1.0, 1.0, 0)]
    m, n, k, trans_a, trans_b, alpha, beta, count = zip(*shapes)
    for order in ORDERS:
        groups = [[(Matrix(*((m, k) if ta == "N" else (k, m)), order), Matrix(*((k, n) if tb == "N" else (n, k)), order),
                    Matrix(m, n, order)) for _ in range(count or 1)] for m, n, k, ta, tb, _, _, count in shapes]
        ld = [[group[0][i].ld for group in groups] for i in range(3)]
        a, b, c = [array(ctypes.c_void_p, [product[i].pointer.value for group, size in zip(groups, count)
                                           for product in group[:size]]) for i in range(3)]
        old = [[widened(product[2].view) for product in group] for group in groups]
        values = [*[array(ctypes.c_int, x) for x in (m, n, k)], array(real.c_type, alpha), a,
                  array(ctypes.c_int, ld[0]), b, array(ctypes.c_int, ld[1]), array(real.c_type, beta), c,
                  array(ctypes.c_int, ld[2])]
        if order is None:
            library[f"{real.letter}gemm_batch_"]("".join(trans_a).encode(), "".join(trans_b).encode(), *values,
                                 *by_reference([len(shapes)]), array(ctypes.c_int, count))
        else:
            library[f"cblas_{real.letter}gemm_batch"](
                order, *[array(ctypes.c_int, [TRANS[t] for t in x]) for x in (trans_a, trans_b)], *values, len(shapes), array(ctypes.c_int, count))
        for i, size in enumerate(count):
            for (x, y, z), z_old in zip(groups[i][:size], old[i]):
                left, right = widened(op(x.view, trans_a[i])), widened(op(y.view, trans_b[i]))
                check(f"batch {order}", z.view, alpha[i] * left @ right + beta[i] * z_old,
                      product_bound(alpha[i], left, right, beta[i], z_old, k[i]))
                z.check_surroundings()


def gemm_batch_strided():
    m, n, k, count = 31, 45, 64, 4
    for order in ORDERS:
        a = random.uniform(-1, 1, (count, m, k)).astype(real.element)
        b = random.uniform(-1, 1, (k, n)).astype(real.element)
        c = np.full((count, m, n), np.nan, real.element)
        expected = widened(a) @ widened(b)
        bound = (k + 4) * real.eps * magnitudes(a, b)
        pa, pb, pc = [x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, c)]
        if order == ROW:
            library[f"cblas_{real.letter}gemm_batch_strided"](
                ROW, 111, 111, m, n, k, real.c_type(1), pa, k, m * k, pb, n, 0, real.c_type(0), pc, n, m * n, count)
        else:  # C^T = B^T A^T
            values = [n, m, k, 1.0, pb, n, 0, pa, k, m * k, 0.0, pc, n, m * n, count]
            if order is None:
                library[f"{real.letter}gemm_batch_strided_"](*by_reference(["N", "N", *values]))
            else:
                library[f"cblas_{real.letter}gemm_batch_strided"](COL, 111, 111, *by_value(values))
        check(f"strided {order}", c, expected, bound)


def vector(length, step):
    """Elements in BLAS' order, as a view of memory that is NaN between and around them."""
    memory = np.full(max(length, 1) * abs(step) + 2, np.nan, real.element)
    view = memory[1:1 + length * abs(step)][::abs(step)][::1 if step > 0 else -1]
    view[...] = random.uniform(-1, 1, length)
    return memory, view


def gemv():
    steps = itertools.cycle([(1, 1), (2, -3), (-1, 2), (-2, -1)])
    for order, trans in itertools.product(ORDERS, "NTC"):
        for (m, n), (alpha, beta) in zip([(65, 33), (3, 130), (200, 5), (1, 1), (40, 70)], itertools.cycle([*SCALARS, (0.0, 0.5)])):
            inc_x, inc_y = next(steps)
            a = Matrix(m, n, order)
            memory_x, x = vector(n if trans == "N" else m, inc_x)
            memory_y, y = vector(m if trans == "N" else n, inc_y)
            wide, old = widened(op(a.view, trans)), widened(y)
            if beta == 0.0:
                y[...], old = np.nan, np.zeros_like(old)
            if alpha == 0.0:
                a.view[...], wide = np.nan, np.zeros_like(wide)
            around = memory_y.copy()
            pointers = [memory[1:].ctypes.data_as(ctypes.c_void_p) for memory in (memory_x, memory_y)]
            call("gemv", order, [(TRANS, trans)], [m, n, alpha, a.pointer, a.ld, pointers[0], inc_x, beta, pointers[1], inc_y])
            check(f"{real.letter}gemv {order} {trans} {m} {n} {inc_x} {inc_y}", y, alpha * wide @ widened(x) + beta * old,
                  product_bound(alpha, wide, widened(x), beta, old, len(x)))
            y[...] = around[1:1 + len(y) * abs(inc_y)][::abs(inc_y)][::1 if inc_y > 0 else -1]
            np.testing.assert_array_equal(memory_y.view(real.bits), around.view(real.bits))


def triangle(uplo, n):
    return np.tril(np.ones((n, n), bool)) if uplo == "L" else np.triu(np.ones((n, n), bool))


def syrk():
    for order, uplo, trans in itertools.product(ORDERS, "UL", "NTC"):
        for (n, k), (alpha, beta) in zip([(65, 40), (9, 130), (200, 77), (1, 50), (40, 0)], itertools.cycle(SCALARS)):
            a = Matrix(*((n, k) if trans == "N" else (k, n)), order)
            c = Matrix(n, n, order, pad=1)
            mask = triangle(uplo, n)
            c.keep_only(mask if beta else np.zeros_like(mask))
            wide = widened(op(a.view, trans))
            old = widened(np.where(mask, c.view, 0)) if beta else np.zeros((n, n))
            call("syrk", order, [(UPLO, uplo), (TRANS, trans)],
                 [n, k, alpha, a.pointer, a.ld, beta, c.pointer, c.ld])
            expected, bound = alpha * wide @ wide.T + beta * old, product_bound(alpha, wide, wide.T, beta, old, k)
            check(f"{real.letter}syrk {order} {uplo}{trans} {n} {k}", c.view[mask], expected[mask], bound[mask])
            c.check_surroundings(mask)


def symm():
    for order, side, uplo in itertools.product(ORDERS, "LR", "UL"):
        for (m, n), (alpha, beta) in zip([(65, 40), (9, 130), (70, 101), (1, 50), (40, 0)], itertools.cycle(SCALARS)):
            size = m if side == "L" else n
            a, b, c = Matrix(size, size, order), Matrix(m, n, order, pad=1), Matrix(m, n, order)
            mask = triangle(uplo, size)
            part = widened(np.where(mask, a.view, 0))
            whole = part + part.T - np.diag(np.diag(part))
            a.keep_only(mask)
            if beta == 0.0:
                c.keep_only(np.zeros((m, n), bool))
            old = widened(c.view) if beta else np.zeros((m, n))
            left, right = (whole, widened(b.view)) if side == "L" else (widened(b.view), whole)
            call("symm", order, [(SIDE, side), (UPLO, uplo)],
                 [m, n, alpha, a.pointer, a.ld, b.pointer, b.ld, beta, c.pointer, c.ld])
            check(f"{real.letter}symm {order} {side}{uplo} {m} {n}", c.view, alpha * left @ right + beta * old,
                  product_bound(alpha, left, right, beta, old, size))
            c.check_surroundings()


def check_triangular(routine, order, side, uplo, trans, diag, m, n, alpha):
    size = m if side == "L" else n
    a, b = Matrix(size, size, order, pad=2), Matrix(m, n, order)
    mask = triangle(uplo, size)
    if diag == "U":
        mask &= ~np.eye(size, dtype=bool)
    a.view[...] /= max(size, 1)  # keeps the matrix well conditioned
    np.fill_diagonal(a.view, 1 + np.abs(np.diag(a.view)))
    a.keep_only(mask)
    full = op(widened(np.where(mask, a.view, np.eye(size) if diag == "U" else 0)), trans)
    old = widened(b.view)
    call(routine, order, [(SIDE, side), (UPLO, uplo), (TRANS, trans), (DIAG, diag)],
         [m, n, alpha, a.pointer, a.ld, b.pointer, b.ld])
    got = widened(b.view)
    if routine == "trmm":
        left, right = (full, old) if side == "L" else (old, full)
        got, expected, bound = got, alpha * left @ right, product_bound(alpha, left, right, 0, 0, size)
    else:  # Checks that X solves op(A) X = alpha B, or X op(A) = alpha B, within rounding errors.
        left, right = (full, got) if side == "L" else (got, full)
        got, expected = left @ right, alpha * old
        bound = (size + 8) * real.eps * (magnitudes(left, right) + np.abs(expected)) * 4 + 1e-30
    check(f"{routine} {order} {side}{uplo}{trans}{diag} {m} {n} {alpha}", got, expected, bound)
    b.check_surroundings()


def trmm(routine="trmm"):
    for order, side, uplo, trans, diag in itertools.product(ORDERS, "LR", "UL", "NTC", "NU"):
        for (m, n), (alpha, _) in zip([(65, 40), (9, 130), (1, 5)], itertools.cycle(SCALARS)):
            check_triangular(routine, order, side, uplo, trans, diag, m, n, alpha)
    for side, uplo, trans in itertools.product("LR", "UL", "NT"):
        check_triangular(routine, None, side, uplo, trans, "N", 170, 203, -1.5)


def trsm():
    trmm("trsm")


ROUTINES = [(SINGLE, gemv)] + [(each, function) for each in (SINGLE, DOUBLE)
                              for function in (gemm, gemm_batch, gemm_batch_strided, syrk, symm, trmm, trsm)]

if __name__ == "__main__":
    for real, function in ROUTINES:
        name = real.letter + function.__name__
        if len(sys.argv) < 3 or name in sys.argv[2:]:
            before = done
            function()
            assert done > before, f"{name} checked nothing"
    print(done)
