"""Products of every kind of operand against float64, and what is refused."""
import array
import ctypes
import gc
import mmap
import sys
import types

import numpy
import pytest
import rooftile as rt

EPS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def operands(m, n, k, batch_a=(), batch_b=(), dtype="float32", seed=3):
    """Positive numbers, so that sums of k products are off by k roundings of the sum itself at most."""
    random = numpy.random.default_rng(seed)
    return (random.random((*batch_a, m, k), dtype="float32").astype(dtype),
            random.random((*batch_b, k, n), dtype="float32").astype(dtype))


def close(c, a, b, dtype="float32"):
    exact = a.astype(float) @ b.astype(float)
    assert c.shape == exact.shape
    numpy.testing.assert_allclose(c, exact, rtol=(a.shape[-1] + 2) * 2.0**-23 + 2 * EPS[dtype])


def layouts(x):
    """Yields the same matrices in several memory layouts."""
    rows, columns = x.shape[-2:]
    yield x
    yield numpy.swapaxes(numpy.ascontiguousarray(numpy.swapaxes(x, -1, -2)), -1, -2)
    padded = numpy.full((*x.shape[:-2], rows + 2, columns + 3), numpy.nan if x.dtype.kind == "f" else 99, dtype=x.dtype)
    padded[..., 1:-1, 2:-1] = x
    yield padded[..., 1:-1, 2:-1]
    spread = numpy.full((*x.shape[:-2], rows, 2 * columns), numpy.nan if x.dtype.kind == "f" else 99, dtype=x.dtype)
    spread[..., ::2] = x
    yield spread[..., ::2]
    yield numpy.flip(numpy.ascontiguousarray(numpy.flip(x)))
    shifted = numpy.frombuffer(b"x" + x.tobytes(), dtype="u1")[1:].view(x.dtype).reshape(x.shape)
    assert x.size == 0 or not shifted.flags.aligned
    yield shifted


@pytest.mark.parametrize("m,n,k", [(3, 5, 4), (1, 1, 7), (5, 3, 1), (1, 1, 1), (1, 6, 3), (4, 1, 2), (33, 65, 17)])
def test_any_layout_is_multiplied_right(m, n, k):
    a, b = operands(m, n, k)
    for x in layouts(a):
        for y in layouts(b):
            close(rt.matmul(x, y), a, b)
            close(rt.matmul(x, y, alpha=2) / 2, a, b)


def test_views_with_a_leading_dimension_are_not_copied(monkeypatch):
    from rooftile import _views

    def copied(*_):
        raise AssertionError("copied")

    monkeypatch.setattr(_views.View, "copied", copied)
    a, b = operands(5, 7, 6)
    big = numpy.zeros((2, 9, 20), dtype="float32")
    big[:, 1:6, 3:9] = a
    for x in (a, numpy.asfortranarray(a), big[0, 1:6, 3:9], numpy.asfortranarray(big[1])[1:6, 3:9], big[:, 1:6, 3:9]):
        out = numpy.zeros((*x.shape[:-2], 5, 7), "float32")
        rt.matmul(x, b, out=out, alpha=1)
        rt.matmul(x, b, out=numpy.zeros((*x.shape[:-2], 7, 5), "float32").swapaxes(-1, -2), alpha=1)
    with pytest.raises(AssertionError, match="copied"):
        rt.matmul(numpy.zeros((5, 12), "float32")[:, ::2], b)


@pytest.mark.parametrize("batch_a,batch_b", [((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3), (2, 1)),
                                             ((1,), (1,)), ((0,), (0,)), ((2, 0), ())])
def test_batches_are_repeated_as_in_numpy(batch_a, batch_b):
    a, b = operands(3, 5, 4, batch_a, batch_b)
    for x in layouts(a):
        for y in layouts(b):
            close(rt.matmul(x, y), a, b)
    shape = (a @ b).shape
    for out in (numpy.full((*shape[:-2], 5, 3), numpy.nan, "float32").swapaxes(-1, -2), numpy.full((*shape, 2), numpy.nan, "float32")[..., 0],
                numpy.moveaxis(numpy.full((*shape[-2:], *shape[:-2]), numpy.nan, "float32"), (0, 1), (-2, -1))):
        assert rt.matmul(a, b, out=out) is out
        close(out, a, b)


@pytest.mark.parametrize("batch", [(3,), (2, 3), (3, 1)])
def test_results_side_by_side_in_the_rows_of_one_matrix(monkeypatch, batch):
    """As the heads of an attention are, by rows and by columns."""
    from rooftile import _views
    a, b = operands(4, 5, 6, batch, batch)
    by_rows = numpy.full((*batch[:-1], 4, batch[-1], 5), numpy.nan, "float32").swapaxes(-3, -2)
    by_columns = numpy.full((*batch[:-1], 5, batch[-1], 4), numpy.nan, "float32").swapaxes(-3, -2).swapaxes(-1, -2)
    for out in (by_rows, by_columns, by_rows[..., ::-1, :, :]):
        assert rt.matmul(a, b, out=out, bias=numpy.ones(5, "float32")) is out
        close(out - 1, a, b)
        rt.matmul(a, b, out=out, beta=1)
        close((out - 1) / 2, a, b)
    if len(batch) == 1:
        monkeypatch.setattr(_views.View, "copied", None)
        rt.matmul(a, b, out=by_rows)
        rt.matmul(a, b, out=by_columns)


def test_overlapping_windows_are_a_batch():
    signal = numpy.arange(40, dtype="float32")
    windows = numpy.lib.stride_tricks.as_strided(signal, (6, 4, 5), (8, 20, 4), writeable=False)
    b = operands(4, 3, 5)[1]
    close(rt.matmul(windows, b), windows, b)


def test_vectors_are_rows_and_columns():
    a, b = operands(4, 6, 5)
    close(rt.matmul(a[0], b)[None], a[:1], b)
    close(rt.matmul(a, b[:, 2])[:, None], a, b[:, 2:3])
    product = rt.matmul(a[0], b[:, 2])
    assert type(product) is numpy.float32 and abs(product - a[0] @ b[:, 2]) < 1e-5
    assert type(rt.matmul(*(x.astype("int8") for x in (a[0], a[0])))) is numpy.int32
    place = numpy.empty((), "float32")
    assert rt.matmul(a[0], b[:, 2], out=place) is place and place == product
    stack = operands(4, 6, 5, (3,))[0]
    close(rt.matmul(stack, b[:, 2])[..., None], stack, b[:, 2:3])
    out = numpy.full(8, numpy.nan, "float32")
    rt.matmul(a, b[:, 2], out=out[::2], c=numpy.ones(4, "float32"))
    close(out[::2, None] - 1, a, b[:, 2:3])


@pytest.mark.parametrize("m,n,k", [(2, 3, 0), (0, 2, 3), (2, 0, 3), (0, 0, 0)])
def test_sizes_of_zero(m, n, k):
    a, b = operands(m, n, k)
    for x in layouts(a):
        close(rt.matmul(x, b), a, b)
    c = numpy.full((m, n), 2, "float32")
    assert (rt.matmul(a, b, c=c, beta=3) == (6 if k == 0 else 0)).all()
    assert rt.matmul(a, b, bias=numpy.ones(n, "float32")).shape == (m, n)


def rounded_to_bfloat16(x):
    bits = x.view("u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")


def widened(x):
    return (x.astype("u4") << 16).view("f4") if x.dtype == numpy.uint16 else x.astype("f4")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    a, b = (x.astype("f2") if dtype == "float16" else rounded_to_bfloat16(x) for x in operands(5, 9, 33))
    for x in layouts(a):
        c = rt.matmul(x, b, dtype=dtype)
        assert c.dtype == a.dtype
        close(widened(c), widened(a), widened(b), dtype)
    wide = rt.matmul(a, numpy.asfortranarray(b), dtype=dtype, dtype_out="float32", c=numpy.ones((5, 9), "float32"))
    close(wide - 1, widened(a), widened(b))
    if dtype == "float16":
        assert (rt.matmul(a, b) == c).all()
        assert (rt.matmul(a.view("u2"), b.view("u2"), dtype=numpy.float16) == c).all()
    else:
        with pytest.raises(TypeError, match="^a is uint16.*dtype="):
            rt.matmul(a, b)


def held_as(x, dtype):
    return bfloat16_array(x) if dtype == "bfloat16" else x.astype(dtype)


def bfloat16_array(x):
    """As the package itself returns bfloat16."""
    return rt.matmul(numpy.eye(len(x), dtype="float32"), x, dtype_out="bfloat16")


@pytest.mark.parametrize("types", [("float32", "float16"), ("float16", "float32"), ("float32", "bfloat16"), ("bfloat16", "float32"),
                                   ("float16", "bfloat16"), ("bfloat16", "float16")])
def test_floats_of_two_types_are_multiplied_as_float32(types):
    a, b = (held_as(x, dtype) for x, dtype in zip(operands(5, 9, 33), types))
    for x in layouts(a):
        for y in layouts(b):
            c = rt.matmul(x, y)
            assert c.dtype == numpy.float32
            close(c, widened(a), widened(b))
    half = rt.matmul(a, b, dtype_out="float16")
    assert half.dtype == numpy.float16
    close(half, widened(a), widened(b), "float16")
    close(rt.matmul(a[None], b), widened(a[None]), widened(b))
    if "bfloat16" in types:  # as a program has it that knows nothing of the package's mark
        plain = [numpy.array(x.tolist(), x.dtype.name) for x in (a, b)]
        close(rt.matmul(*plain, dtype="bfloat16"), widened(a), widened(b))


def test_the_packages_bfloat16_says_what_it_is():
    a, b = (bfloat16_array(x) for x in operands(5, 5, 5))
    c = rt.matmul(a, b.T)
    assert c.dtype == numpy.uint16 and c.dtype.metadata == {"rooftile": "bfloat16"}
    close(widened(rt.matmul(a[:2], b[:, 1:].copy())), widened(a[:2]), widened(b[:, 1:]), "bfloat16")
    assert rt.matmul(a, b, out=c) is c
    assert rt.matmul(a[0], b[0]).shape == () and rt.matmul(a[0], b[0]).dtype.metadata
    with pytest.raises(TypeError, match="^a is bfloat16 and dtype float16"):
        rt.matmul(a, b, dtype="float16")


def test_lists_are_float32():
    a, b = operands(3, 4, 5)
    close(rt.matmul(a.tolist(), b), a, b)
    close(rt.matmul(list(a), b), a, b)
    close(rt.matmul(a, tuple(map(tuple, b.tolist()))), a, b)
    assert rt.matmul([[1, 2], [3, 4]], [1, 0.5]).tolist() == [2, 5]
    assert rt.matmul([[1, 2], [3, 4]], numpy.ones(2, "float16")).dtype == numpy.float32
    assert rt.matmul([[numpy.inf, 3.4e38]], [[1], [1e-320]]).tolist() == [[numpy.inf]]
    for number in (2**63, 2**64, -2**63 - 1, 2**100):
        assert rt.matmul([[number]], [[1]]).tolist() == [[float(number)]]
    for a, b, name in (([[1e300]], [[1]], "a"), ([[1]], [[-1e300, numpy.inf]], "b"), ([[2**128]], [[1]], "a")):
        with pytest.raises(ValueError, match=f"^{name} has numbers beyond the range of float32"):
            rt.matmul(a, b)


@pytest.mark.parametrize("batch", [(), (3,), (1,)])
def test_out_with_leading_axes_gets_the_product_in_each(batch):
    a, b = operands(3, 5, 4, batch)
    for lead in ((2, 3), (1, 3), (3,), (4, 2, 3)):
        out = numpy.full((*lead, 5, 3), numpy.nan, "float32").swapaxes(-1, -2)
        assert rt.matmul(a, b, out=out, bias=numpy.ones(5, "float32")) is out
        numpy.testing.assert_array_equal(out, numpy.broadcast_to(rt.matmul(a, b, bias=numpy.ones(5, "float32")), out.shape))
    rows = numpy.full((2, *(batch or (1,)), 3), numpy.nan, "float32")
    close(rt.matmul(a, b[:, 1], out=rows)[..., None], numpy.broadcast_to(a, (*rows.shape, 4)), b[:, 1:2])
    given = numpy.empty((3, 5), "float32")
    assert rt.matmul(a.reshape(-1, 3, 4)[0], b, out=(given,)) is given
    assert rt.matmul(a, b, out=(None,)).shape == (*batch, 3, 5)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 5), (3, 1), (1, 1), (3, 5), (2, 1, 5)])
def test_c_is_repeated_to_the_result(shape):
    """As C of ONNX's Gemm is."""
    a, b = operands(3, 5, 4, (2,))
    c = numpy.arange(numpy.prod(shape, dtype=int), dtype="float32").reshape(shape)
    expected = a.astype(float) @ b + 0.5 * c
    numpy.testing.assert_allclose(rt.matmul(a, b, c=c, beta=0.5), expected, rtol=1e-5)
    out = numpy.full((2, 5, 3), numpy.nan, "float32").swapaxes(-1, -2)
    numpy.testing.assert_allclose(rt.matmul(a, b, c=c[()], beta=0.5, out=out), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_memory_of_bfloat16_results_of_other_types(dtype):
    """What rt.matmul returns for dtype_out="bfloat16" is taken as out and c as well."""
    a, b = (numpy.asarray(x * 4, "int8").astype(dtype) for x in operands(3, 4, 5))
    exact = a.astype("f4") @ b.astype("f4")
    c = rt.matmul(a, b, dtype_out="bfloat16")
    out = numpy.zeros((3, 4), "uint16")
    assert rt.matmul(a, b, out=out, dtype_out="bfloat16") is out and (out == c).all() and (widened(c) == exact).all()
    assert (widened(rt.matmul(a, b, c=c, dtype_out="bfloat16")) == 2 * exact).all()
    with pytest.raises(TypeError, match="^out is uint16.*dtype_out="):
        rt.matmul(a.astype("float32"), b.astype("float32"), out=out)


class bfloat16(numpy.void):
    """As ml_dtypes registers its type: NumPy knows nothing but its name and size."""


def test_bfloat16_of_ml_dtypes(monkeypatch):
    dtype = numpy.dtype((bfloat16, 2))
    monkeypatch.setitem(sys.modules, "ml_dtypes", types.SimpleNamespace(bfloat16=dtype))
    a, b = (rounded_to_bfloat16(x) for x in operands(5, 9, 33))
    c = rt.matmul(a.view(dtype), b.view(dtype))
    assert c.dtype == dtype and (c.view("u2") == rt.matmul(a, b, dtype="bfloat16")).all()
    out = numpy.empty((5, 9), dtype)
    assert rt.matmul(a.view(dtype), b.view(dtype), out=out) is out and (out.view("u2") == c.view("u2")).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_integers_are_exact(dtype):
    random = numpy.random.default_rng(6)
    low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    a, b = random.integers(low, high, (5, 70), dtype, True), random.integers(low, high, (70, 3), dtype, True)
    c = rt.matmul(a, b)
    assert c.dtype == numpy.int32 and (c == a.astype(int) @ b.astype(int)).all()
    assert (rt.matmul(a, b, c=c) == 2 * c).all()


def test_memory_of_other_kinds(tmp_path):
    a, b = operands(4, 3, 5)
    (tmp_path / "a").write_bytes(a.tobytes())
    with open(tmp_path / "a", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        view = memoryview(mapped).cast("f", (4, 5))
        close(rt.matmul(view, b), a, b)
        view.release()
    close(rt.matmul(numpy.memmap(tmp_path / "a", "float32", "r", shape=(4, 5)), b), a, b)
    close(rt.matmul(memoryview(array.array("f", a.ravel())).cast("B").cast("f", (4, 5)), b), a, b)
    close(rt.matmul((ctypes.c_float * 5 * 4).from_buffer_copy(a), b), a, b)  # which leaves its strides out
    out = bytearray(48)
    assert rt.matmul(a, b, out=memoryview(out).cast("f", (4, 3))) is not None
    close(numpy.frombuffer(out, "float32").reshape(4, 3), a, b)


def test_a_buffer_in_use_is_not_moved_and_is_released():
    memory = bytearray(64)
    rt.matmul(memoryview(memory).cast("f", (4, 4)), numpy.eye(4, dtype="float32"))
    gc.collect()
    memory.extend(b"x")  # BufferError if it was still exported


class Elsewhere:
    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, stream=None):
        raise AssertionError("not to be asked")


def test_dlpack_of_a_device_is_refused():
    with pytest.raises(TypeError, match="^b lies on a device"):
        rt.matmul(numpy.ones((2, 2), "float32"), Elsewhere())


class NoCapsule:
    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, stream=None):
        return 5


def test_what_is_no_capsule_of_dlpack_is_refused():
    with pytest.raises(TypeError, match="^b is a NoCapsule whose __dlpack__ returns no fresh capsule"):
        rt.matmul(numpy.ones((2, 2), "float32"), NoCapsule())


class Handed:
    """Has an array's __dlpack__ only."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()


def test_dlpack_memory_is_read_where_it_is_and_given_back():
    a, b = operands(4, 3, 5)
    b = numpy.asfortranarray(b)
    out = numpy.full((4, 6), numpy.nan, "float32")
    before = [sys.getrefcount(x) for x in (a, b, out)]
    for _ in range(3):
        close(rt.matmul(Handed(a), Handed(b)), a, b)
        rt.matmul(Handed(a), Handed(b), out=Handed(out[:, ::2]))
    close(out[:, ::2], a, b)
    assert numpy.isnan(out[:, 1::2]).all()
    gc.collect()
    assert [sys.getrefcount(x) for x in (a, b, out)] == before
    with pytest.raises(TypeError, match="^a is DLPack's type 0 with 64 bits, which is none of float32, float16, bfloat16, int8, uint8, float64$"):
        rt.matmul(Handed(a.astype("int64")), b)


@pytest.mark.parametrize("tier", ["auto", "device", "host", "host64"])
def test_float64_stays_float64(tier):
    random = numpy.random.default_rng(7)
    a, b, c = random.random((33, 17)), random.random((17, 21)), random.random((33, 21))
    for x in layouts(a):
        got = rt.matmul(x, b.T.copy().T, c=c, alpha=0.1, beta=0.3, tier=tier)
        assert got.dtype == numpy.float64
        numpy.testing.assert_allclose(got, 0.1 * (a @ b) + 0.3 * c, rtol=1e-14)
    out = c.copy()
    assert rt.matmul(a, b, out, beta=1e-300, tier=tier) is out
    numpy.testing.assert_allclose(out, a @ b, rtol=1e-14)
    numpy.testing.assert_allclose(rt.matmul(numpy.stack([a, a]), b, tier=tier), numpy.stack([a @ b, a @ b]), rtol=1e-14)
    assert rt.matmul(a * 1e200, b, alpha=1e-300, tier=tier)[0, 0] > 0  # neither fits float32
    for given in (a, b.tolist()), (a.tolist(), b):
        numpy.testing.assert_allclose(rt.matmul(*given, c=c.tolist(), tier=tier), a @ b + c, rtol=1e-14)


@pytest.mark.parametrize("tier", ["device", "host"])
def test_float64_epilogues_stay_float64(tier):
    random = numpy.random.default_rng(8)
    a, b, c, residual = (random.random(shape) - 0.5 for shape in ((33, 17), (17, 21), (33, 21), (33, 21)))
    rows, columns, bias = random.random(33), random.random(21), random.random(21)
    after = rt.Epilogue("silu", row_scale=rows, column_scale=columns, residual=residual, clamp=(-1 / 3, 1 / 3))
    y = a @ b * rows[:, None] * columns + 0.1 * c + bias
    expected = numpy.clip(y / (1 + numpy.exp(-y)) + residual, -1 / 3, 1 / 3)
    found = rt.matmul(a, b, c=c, beta=0.1, bias=bias, epilogue=after, tier=tier)
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    assert found.max() == 1 / 3 and found.min() == -1 / 3
    numpy.testing.assert_array_equal(rt.matmul(a, b, bias=[1 / 3] * 21, tier=tier), rt.matmul(a, b, bias=numpy.full(21, 1 / 3), tier=tier))
    out = residual.copy()
    rt.matmul(a, b, out, epilogue=rt.Epilogue("relu", residual=out), tier=tier)
    numpy.testing.assert_allclose(out, numpy.maximum(a @ b, 0) + residual, rtol=0, atol=1e-15)


def test_float64_without_numpy_and_of_other_packages():
    a = numpy.arange(6.0).reshape(2, 3)
    memory = memoryview(a.tobytes()).cast("d", (2, 3))
    assert rt.matmul(memory, memoryview(a.T.tobytes()).cast("d", (3, 2))).tolist() == (a @ a.T).tolist()
    numpy.testing.assert_array_equal(rt.matmul(Handed(a), Handed(a.T)), a @ a.T)
    numpy.testing.assert_array_equal(rt.matmul([[1 / 3] * 2], memory), [[1 / 3] * 2] @ a)
    assert rt.matmul(array.array("d", [1, 2, 3]), [1 / 3] * 3) == 2


def test_residuals_of_a_vector_s_product_have_its_shape():
    a, b = numpy.ones((2, 3), "float32"), numpy.ones((3, 4), "float32")
    batch = numpy.ones((5, 3, 4), "float32")
    for x, y in ((a[0], b), (a, b[:, 0]), (a[0], b[:, 0]), (a[0], batch), (batch, b[0])):
        product = x @ y
        residual = numpy.arange(product.size, dtype="float32").reshape(product.shape)
        for given in (residual, numpy.repeat(residual[..., None], 2, -1)[..., 0]):
            numpy.testing.assert_array_equal(rt.matmul(x, y, epilogue=rt.Epilogue(residual=given)), product + residual)
    with pytest.raises(ValueError, match=r"^residual is \(3,\); it has to have the result's shape, \(4,\)$"):
        rt.matmul(a[0], b, epilogue=rt.Epilogue(residual=numpy.ones(3, "float32")))


def test_c_beta_and_out():
    a, b = numpy.eye(2, dtype="float32"), numpy.eye(2, dtype="float32")
    out = numpy.full((2, 2), 10, dtype="float32")
    assert rt.matmul(a, b, out=out, alpha=2, beta=0.5) is out
    assert out.tolist() == [[7, 5], [5, 7]]
    c = numpy.full((2, 2), 3, dtype="float32")
    assert rt.matmul(a, b, c=c).tolist() == [[4, 3], [3, 4]] and (c == 3).all()
    rt.matmul(a, b, c=out, beta=2, out=out)
    assert out.tolist() == [[15, 10], [10, 15]]
    shared = numpy.zeros((2, 3), "float32")
    shared[:, :2] = c
    rt.matmul(a, b, c=shared[:, :2], out=shared[:, 1:])  # c and out overlap
    assert shared.tolist() == [[3, 4, 3], [3, 3, 4]]
    out[:] = numpy.nan
    assert rt.matmul(a, b, out=out, beta=0).tolist() == [[1, 0], [0, 1]]
    for order in ("F", "C"):
        wide = numpy.full((2, 2, 2), 10, "float32", order)[..., 0]
        assert rt.matmul(a, b, out=wide, beta=1).tolist() == [[11, 10], [10, 11]]


@pytest.mark.parametrize("order", ["C", "F"])
def test_epilogue(order):
    a, b = operands(3, 5, 4)
    random = numpy.random.default_rng(9)
    rows, columns, bias, other = (random.standard_normal(s).astype("float32") for s in (3, 5, 5, (3, 1)))
    residual = numpy.asarray(random.standard_normal((3, 5)), "float32", order)
    product = a.astype(float) @ b
    for x in (residual, numpy.asfortranarray(residual), numpy.repeat(residual, 2, 1)[:, ::2]):
        out = numpy.empty((3, 5), "float32", order)
        rt.matmul(a, b, out=out, bias=bias, epilogue=rt.Epilogue("relu", rows, columns, x, (-0.5, 1)))
        expected = numpy.clip(numpy.maximum(product * rows[:, None] * columns + bias, 0) + residual, -0.5, 1)
        numpy.testing.assert_allclose(out, expected, atol=1e-5)
    numpy.testing.assert_allclose(rt.matmul(a, b, bias=other), product + other, atol=1e-5)
    numpy.testing.assert_allclose(rt.matmul(a, b, bias=bias[::-1][None], epilogue="silu"),
                                  (product + bias[::-1]) / (1 + numpy.exp(-product - bias[::-1])), atol=1e-5)
    out = numpy.array(residual, order=order)
    rt.matmul(a, b, out=out, c=numpy.full((3, 5), 7, "float32"), epilogue=rt.Epilogue(residual=out))
    numpy.testing.assert_allclose(out, product + 7 + residual, atol=1e-5)
    stack = numpy.stack([a, 2 * a])
    residuals = numpy.stack([residual, 2 * residual])
    for out in (None, numpy.empty((2, 3, 5), "float32"), numpy.empty((2, 5, 3), "float32").swapaxes(1, 2)):
        found = rt.matmul(stack, b, out=out, epilogue=rt.Epilogue(residual=residuals))
        numpy.testing.assert_allclose(found, stack.astype(float) @ b + residuals, atol=1e-5)


F32 = numpy.ones((2, 2), "float32")
INTEGERS = F32.astype("int8")


class Sub(numpy.ndarray):
    pass


class Masked(numpy.ma.MaskedArray):
    pass


@pytest.mark.parametrize("kind,match,arguments", [
    (ValueError, r"^a is 2 x 2 and b is 3 x 2: the inner sizes 2 and 3 differ$", {"b": numpy.ones((3, 2), "float32")}),
    (ValueError, r"^a is \(3,\) and b is 2 x 2: the inner sizes 3 and 2 differ$", {"a": numpy.ones(3, "float32")}),
    (ValueError, r"^a is 2 x 2 and b is \(3,\): the inner sizes 2 and 3 differ$", {"b": numpy.ones(3, "float32")}),
    (ValueError, r"the batches \(2,\) and \(3,\) do not fit", {"a": numpy.ones((2, 2, 2), "float32"), "b": numpy.ones((3, 2, 2), "float32")}),
    (ValueError, "^a has no dimensions", {"a": numpy.float32(1)[...]}),
    (ValueError, "^a is a list that is no matrix", {"a": [[1, 2], [3]]}),
    (TypeError, "^a is bool", {"a": [[True, False]]}),
    (TypeError, "^b is a NoneType, which is no array", {"b": None}),
    (TypeError, "^a is int64, which is none of float32, float16, bfloat16, int8, uint8, float64$", {"a": F32.astype("int64")}),
    (TypeError, "^a is float64 and b is float32; both have to have one type$", {"a": F32.astype("float64")}),
    (TypeError, "^out is float64; the result is float32$", {"out": numpy.ones((2, 2)), "dtype_out": "float32"}),
    (TypeError, "^dtype_out is float64; the result of float32 is not float64$", {"dtype_out": "float64"}),
    (TypeError, "^out is float64; the result of float32 is not float64$", {"out": numpy.ones((2, 2))}),
    (TypeError, "^out is float32; the result of float64 is float64$", {"a": numpy.ones((2, 2)), "b": numpy.ones((2, 2)), "out": F32.copy()}),
    (TypeError, "^bias is float32, which is not float64$", {"a": numpy.ones((2, 2)), "b": numpy.ones((2, 2)), "bias": F32[0]}),
    (TypeError, "^b is float32 in the other byte order", {"b": F32.astype(">f4")}),
    (TypeError, "^a is object", {"a": F32.astype(object)}),
    (TypeError, "^a is complex64", {"a": F32.astype("complex64")}),
    (TypeError, r"^a is bool", {"a": F32 > 0}),
    (TypeError, "^a is a MaskedArray", {"a": numpy.ma.masked_array(F32, F32 > 0)}),
    (TypeError, "^a is a Masked, whose mask", {"a": F32.view(Masked)}),
    (TypeError, "^a is a MaskedArray", {"a": numpy.ma.masked_array(numpy.zeros((2, 2), numpy.dtype((bfloat16, 2))))}),
    (TypeError, "^a is a ndarray whose memory cannot be used", {"a": F32.astype("M8[s]")}),
    (TypeError, "^a is float32 and b is int8; both have to have one type$", {"b": F32.astype("int8")}),
    (TypeError, "^a is uint8 and b is int8; both have to have one type$", {"a": F32.astype("uint8"), "b": F32.astype("int8")}),
    (TypeError, "^b is int32, which is none of float32, float16, bfloat16, int8, uint8, float64$", {"b": F32.astype("int32")}),
    (ValueError, r"^out is 2 x 3; the result is 2 x 2$", {"out": numpy.ones((2, 3), "float32")}),
    (ValueError, r"^out is 2 x 1 x 2; the result is 2 x 2$", {"out": numpy.ones((2, 1, 2), "float32")}),
    (ValueError, r"^out is 1 x 2 x 2; the result is 3 x 2 x 2$", {"a": numpy.ones((3, 2, 2), "float32"),
                                                                 "out": numpy.ones((1, 2, 2), "float32")}),
    (ValueError, r"^out is a tuple of 2; it is one array$", {"out": (F32, F32)}),
    (TypeError, "^out is int32, the result of int8 or uint8; a is float32$", {"out": F32.astype("int32")}),
    (TypeError, "^c is int32, the result of int8 or uint8; a is float32$", {"c": F32.astype("int32")}),
    (TypeError, "^dtype_out is int32, the result of int8 or uint8; a is float32$", {"dtype_out": "int32", "out": F32.copy()}),
    (TypeError, "^out is int64, which is none of float32, float16, bfloat16, int32, float64$", {"out": numpy.ones((2, 2), "int64")}),
    (TypeError, "^out is uint8, which is none of", {"out": F32.astype("uint8")}),
    (ValueError, "^out overlaps itself", {"out": numpy.lib.stride_tricks.as_strided(numpy.ones(2, "f4"), (2, 2), (0, 4))}),
    (TypeError, "^out is float16; the result is float32$", {"out": F32.astype("float16"), "dtype_out": "float32"}),
    (ValueError, "^out is read-only$", {"out": numpy.broadcast_to(F32, (2, 2))}),
    (ValueError, "^out is read-only$", {"out": memoryview(bytes(16)).cast("f", (2, 2))}),
    (ValueError, r"^c is \(3,\); the result is 2 x 2$", {"c": numpy.ones(3, "float32")}),
    (ValueError, "^c is 1 x 2 x 2; the result is 2 x 2$", {"c": numpy.ones((1, 2, 2), "float32")}),
    (TypeError, "^c is float16; the result is float32$", {"c": F32.astype("float16"), "dtype_out": "float32"}),
    (ValueError, "^beta needs c, or out", {"beta": 1}),
    (TypeError, "^alpha is 'two'; it is a number", {"alpha": "two"}),
    (TypeError, r"^alpha is array\(.*; it is a number", {"alpha": numpy.ones(2)}),
    (TypeError, "^dtype_out is 'int8'; it is one of float32, float16, bfloat16, int32, float64$", {"dtype_out": "int8"}),
    (TypeError, "^alpha is '2'; it is a number$", {"alpha": "2"}),
    (ValueError, "^alpha is a number beyond the range", {"alpha": 10**400}),
    (ValueError, "^alpha is -1e[+]300, beyond the range of float32$", {"alpha": -1e300}),
    (TypeError, "^a is float32 and dtype float16; dtype says what uint16 memory holds", {"dtype": "float16"}),
    (ValueError, r"^bias is \(3,\); it has to be \(2,\) or 1 x 2 ", {"bias": numpy.ones(3, "float32")}),
    (TypeError, "^bias is float64, which is not float32$", {"bias": numpy.ones(2)}),
    (TypeError, "^bias is a float, which is no array", {"bias": 1.0}),
    (ValueError, "^bias is a list that is no matrix", {"bias": [[1], [2, 3]]}),
    (TypeError, "^out is a list, which is no array", {"out": [[0.0, 0.0], [0.0, 0.0]]}),
    (TypeError, "^c is float32; the result is int32$", {"a": INTEGERS, "b": INTEGERS, "c": [[0.5, 1]]}),
    (ValueError, "^c has integers beyond int32$", {"a": INTEGERS, "b": INTEGERS, "c": [[2**31, 1]]}),
    (ValueError, "^epilogue is 'tanh'; it is one of none, relu", {"epilogue": "tanh"}),
    (ValueError, "^activation is 'tanh'; it is one of none, relu", {"epilogue": rt.Epilogue("tanh")}),
    (TypeError, "^activation is ", {"epilogue": rt.Epilogue(numpy.array(["relu", "relu"]))}),
    (ValueError, "^clamp has a number beyond", {"epilogue": rt.Epilogue(clamp=(10**400, 1))}),
    (ValueError, r"^clamp is \(0, 1e[+]300\), beyond the range of float32$", {"epilogue": rt.Epilogue(clamp=(0, 1e300))}),
    (TypeError, r"^clamp is \('0', '1'\); it is a pair of numbers", {"epilogue": rt.Epilogue(clamp=("0", "1"))}),
    (TypeError, "^bias is object, which is none of float32, float64$", {"bias": [None, 1]}),
    (ValueError, "^bias has numbers beyond", {"bias": [10**400, 1, 1]}),
    (TypeError, "^epilogue is a int", {"epilogue": 3}),
    (ValueError, r"^row_scale is \(3,\); it has to be \(2,\)", {"epilogue": rt.Epilogue(row_scale=numpy.ones(3, "float32"))}),
    (ValueError, r"^residual is \(2,\); it has to have", {"epilogue": rt.Epilogue(residual=numpy.ones(2, "float32"))}),
    (TypeError, "^clamp is 3; it is a pair", {"epilogue": rt.Epilogue(clamp=3)}),
    (ValueError, "^tier is 'gpu'; it is one of auto, device", {"tier": "gpu"}),
    (TypeError, "^tier is 3; it is one of", {"tier": 3}),
    (ValueError, "^precision is 'low'; it is one of", {"precision": "low"}),
    (TypeError, "^dtype_out is .*int64.*; it is one of float32", {"dtype_out": numpy.int64}),
    (ValueError, "^kappa is -1", {"kappa": -1}),
])
def test_bad_arguments_are_named(kind, match, arguments):
    given = {"a": F32, "b": F32, **arguments}
    with pytest.raises(kind, match=match):
        rt.matmul(given.pop("a"), given.pop("b"), **given)


@pytest.mark.parametrize("dtype, result", [("float32", "float32"), ("float16", "float16"), ("float64", "float64"), ("int8", "int32")])
def test_lists_are_what_arrays_of_the_result_s_type_are(dtype, result):
    a, b = numpy.arange(6).reshape(2, 3).astype(dtype), numpy.arange(12).reshape(3, 4).astype(dtype)
    c = [[1, -2, 3, -4], [5, -6, 7, -8]]
    for given, added in ((c, c), (tuple(c[0]), c[0])):
        found = rt.matmul(a, b, c=given)
        assert found.dtype == result and (found == a.astype(int) @ b.astype(int) + added).all()
    if dtype == "int8":  # whose result has no epilogue
        return
    after = rt.Epilogue(row_scale=(2, -1), column_scale=[1, 2, 3, 4], residual=c)
    expected = (a.astype(int) @ b.astype(int)) * [[2], [-1]] * [1, 2, 3, 4] + [1, -2, 3, -4] + c
    assert (rt.matmul(a, b, bias=c[0], epilogue=after) == expected).all()
    assert (rt.matmul(a, b, bias=[[10], [20]]) == a.astype(int) @ b.astype(int) + [[10], [20]]).all()


def test_overlapping_outputs_are_refused_and_untouched():
    memory = numpy.arange(12, dtype="float32").reshape(3, 4)
    for out in (memory[:2, 1:3], memory[:2, :2]):
        before = memory.copy()
        with pytest.raises(ValueError, match="^out overlaps a") as caught:
            rt.matmul(memory[:2, :2], F32, out=out)
        assert (memory == before).all() and isinstance(caught.value, rt.Error) and caught.value.status == 1
    with pytest.raises(ValueError, match="^out overlaps a"):
        rt.matmul(F32, F32, out=F32)
    shared = numpy.lib.stride_tricks.as_strided(numpy.zeros(8, "float32"), (2, 2, 2), (4, 8, 4))
    with pytest.raises(ValueError, match="overlap"):
        rt.matmul(numpy.ones((2, 2, 2), "float32"), F32, out=shared, alpha=1)


@pytest.mark.parametrize("match,arguments", [
    ("^out overlaps a", {"a": None}), (r"^bias is \(4,\)", {"bias": numpy.ones(4, "float32")}), ("kappa is -1", {"kappa": -1}),
    ("clamp", {"epilogue": rt.Epilogue(clamp=(2, 1))}), ("^residual is 2 x 2", {"epilogue": rt.Epilogue(residual=F32)})])
def test_out_is_untouched_where_c_was_to_be_added_and_something_is_refused(match, arguments):
    out, eye = numpy.arange(9, dtype="float32").reshape(3, 3), numpy.eye(3, dtype="float32")
    given = {"a": eye, "b": eye, "out": out, "c": numpy.full((3, 3), 9, "float32"), **arguments}
    with pytest.raises(ValueError, match=match):
        rt.matmul(out if given["a"] is None else given["a"], given.pop("b"), **{name: x for name, x in given.items() if name != "a"})
    assert (out == numpy.arange(9).reshape(3, 3)).all()


def test_subclasses_and_read_only_operands_are_multiplied():
    a, b = operands(3, 4, 5)
    b.flags.writeable = False
    close(numpy.asarray(rt.matmul(a.view(Sub), b)), a, b)
    close(rt.matmul(a, b), a, b)
    close(rt.matmul(a, b, out=numpy.empty((3, 4), "float32")), a, b)
