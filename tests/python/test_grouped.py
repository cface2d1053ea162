"""Grouped products against one product a group, on the host and on the device, and what is refused."""
import numpy
import pytest
import rooftile as rt

ROWS, EXPERTS = [3, 0, 5, 1, 2], [2, 0, 1, 2, 3]
M, K, N, E = 11, 33, 7, 4
BOUND = (K + 4) * 2.0**-23


def operands(dtype="float32", m=M):
    """Positive numbers, so that sums of K products are off by K roundings of the sum itself at most."""
    random = numpy.random.default_rng(5)
    return random.random((m, K), "float32").astype(dtype), random.random((E, K, N), "float32").astype(dtype)


def exact(a, b, rows=ROWS, experts=EXPERTS):
    """In float64; 0 behind the last group."""
    result = numpy.zeros((len(a), b.shape[2]))
    begin = 0
    for size, expert in zip(rows, experts):
        result[begin:begin + size] = a[begin:begin + size].astype(float) @ b[expert].astype(float)
        begin += size
    return result


def close(found, wanted, bound=BOUND):
    numpy.testing.assert_allclose(numpy.asarray(found), wanted, rtol=bound)


@pytest.fixture(scope="module")
def session():
    with rt.Session() as session:
        yield session


@pytest.mark.parametrize("rows,experts", [(ROWS, EXPERTS), (numpy.array(ROWS), numpy.array(EXPERTS, "int32")), ((M,), [3]), ([], []),
                                          ([0, 0], [1, 1]), ([1] * M, [0, 3] * 5 + [2]), (range(3), range(1, 4)), ([2, 3, 4, 1], None)])
def test_each_group_has_its_expert(rows, experts):
    a, b = operands()
    close(rt.matmul_grouped(a, b, rows, experts), exact(a, b, rows, range(E) if experts is None else experts))


def test_any_layout_is_multiplied_right():
    a, b = operands()
    wanted = exact(a, b)
    apart = numpy.full((E, K + 2, N + 3), numpy.nan, "float32")
    apart[:, 1:-1, 2:-1] = b
    wide = numpy.full((M, 2 * K), numpy.nan, "float32")
    wide[:, ::2] = a
    for x in (a, numpy.asfortranarray(a), wide[:, ::2]):
        for y in (b, numpy.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2), apart[:, 1:-1, 2:-1], numpy.asfortranarray(b),
                  numpy.ascontiguousarray(b[::-1])[::-1], numpy.moveaxis(numpy.ascontiguousarray(numpy.moveaxis(b, 0, 2)), 2, 0)):
            close(rt.matmul_grouped(x, y, ROWS, EXPERTS), wanted)
    close(rt.matmul_grouped(a, numpy.broadcast_to(b[1], b.shape), ROWS, EXPERTS), a.astype(float) @ b[1])


def test_experts_are_not_copied(monkeypatch):
    from rooftile import _views
    a, b = operands()
    monkeypatch.setattr(_views.View, "copied", None)
    for y in (b, numpy.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2), numpy.broadcast_to(b[1], b.shape)):
        rt.matmul_grouped(a, y, ROWS, EXPERTS)


@pytest.mark.parametrize("order", ["C", "F"])
def test_out_c_and_rows_behind_the_last_group(order):
    a, b = operands(m=M + 2)
    wanted = exact(a, b)
    assert (rt.matmul_grouped(a, b, ROWS, EXPERTS)[M:] == 0).all()
    out = numpy.full((M + 2, N), 7, "float32", order)
    assert rt.matmul_grouped(a, b, ROWS, EXPERTS, out) is out
    close(out[:M], wanted[:M])
    assert (out[M:] == 7).all()
    rt.matmul_grouped(a, b, ROWS, EXPERTS, out=out, alpha=2, beta=0.5)
    close(out[:M], 2.5 * wanted[:M])
    c = numpy.full((M + 2, N), 3, "float32")
    added = rt.matmul_grouped(a, b, ROWS, EXPERTS, c=c)
    close(added[:M], wanted[:M] + 3)
    assert (added[M:] == 3).all() and (c == 3).all()
    out[M:] = 7
    assert rt.matmul_grouped(a, b, ROWS, EXPERTS, out, c=c) is out
    close(out[:M], wanted[:M] + 3)
    assert (out[M:] == 7).all()


@pytest.mark.parametrize("dtype,out,bound", [("float16", "float16", 2.0**-11), ("float16", "float32", 0), ("int8", "int32", 0)])
def test_types(dtype, out, bound):
    a, b = operands()
    if dtype == "int8":
        a, b = (numpy.round(x * 254 - 127) for x in (a, b))
    a, b = a.astype(dtype), b.astype(dtype)
    found = rt.matmul_grouped(a, b, ROWS, EXPERTS, dtype_out=out)
    assert found.dtype == out
    close(found, exact(a, b), 0 if dtype == "int8" else BOUND + 2 * bound)


def epilogues():
    """Options of the product, and what they do to exact results."""
    random = numpy.random.default_rng(6)
    of_experts, scale = random.standard_normal((2, E, N)).astype("float32")
    rows, residual = random.standard_normal((M, 1)).astype("float32"), random.standard_normal((M, N)).astype("float32")
    each = numpy.repeat(EXPERTS, ROWS)
    yield {"bias": of_experts, "epilogue": "relu"}, lambda y: numpy.maximum(y + of_experts[each], 0)
    yield {"bias": of_experts[0]}, lambda y: y + of_experts[0]
    yield {"bias": rows, "epilogue": rt.Epilogue(column_scale=scale)}, lambda y: y * scale[each] + rows
    yield ({"bias": of_experts, "epilogue": rt.Epilogue(row_scale=rows[:, 0], column_scale=scale, residual=residual, clamp=(-2, 3))},
           lambda y: numpy.clip(y * rows * scale[each] + of_experts[each] + residual, -2, 3))


@pytest.mark.parametrize("options,expected", epilogues())
@pytest.mark.parametrize("where", ["host", "device"])
def test_epilogues(request, where, options, expected):
    a, b = operands()
    x = a if where == "host" else request.getfixturevalue("session").array(a)
    # Sums of K products of at most 1, times a scale of less than 4, twice.
    numpy.testing.assert_allclose(numpy.asarray(rt.matmul_grouped(x, b, ROWS, EXPERTS, **options)), expected(exact(a, b)),
                                  atol=16 * K * BOUND)


@pytest.mark.parametrize("where", ["host", "device"])
def test_float64_epilogues_stay_float64(request, where):
    a, b = (x.astype(float) for x in operands())
    random = numpy.random.default_rng(9)
    bias, rows = random.random((E, N)), random.random(M)
    x = a if where == "host" else request.getfixturevalue("session").array(a)
    found = rt.matmul_grouped(x, b, ROWS, EXPERTS, bias=bias, epilogue=rt.Epilogue("relu", row_scale=rows, clamp=(1 / 3, 9)))
    expected = numpy.clip(exact(a, b) * rows[:, None] + bias[numpy.repeat(EXPERTS, ROWS)], 1 / 3, 9)
    numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=0, atol=1e-13)
    with pytest.raises(TypeError, match="^bias is float32, which is not float64$"):
        rt.matmul_grouped(x, b, ROWS, EXPERTS, bias=bias.astype("float32"))


@pytest.mark.parametrize("options", [{"format": "q4_k"}, {"format": "q8_0"}, {"bits": 4, "block": 32, "zero_points": "packed"},
                                     {"bits": 8, "zero_points": "float"}, {"bits": 4, "block": 16}])
@pytest.mark.parametrize("where", ["host", "device"])
def test_quantised_experts(session, where, options):
    k = 256
    random = numpy.random.default_rng(7)
    weights = random.standard_normal((E, k, N)).astype("float32")
    a = random.standard_normal((M, k)).astype("float32")
    stack = rt.quantize(weights, **options)
    assert stack.shape == (E, k, N) and "4 x 256 x 7" in repr(stack)
    singles = [rt.quantize(matrix, **options) for matrix in weights]
    assert stack.nbytes == sum(single.nbytes for single in singles)
    x = a if where == "host" else session.array(a)
    found = numpy.asarray(rt.matmul_grouped(x, stack, ROWS, EXPERTS))
    begin = 0
    for size, expert in zip(ROWS, EXPERTS):
        group = a[begin:begin + size]
        one = rt.matmul(group, singles[expert], tier="host64")
        # The same values, in sums of k products in another order.
        bound = (k + 4) * 2.0**-23 * (numpy.abs(group).astype(float) @ (2 * numpy.abs(weights[expert]) + 1))
        assert (numpy.abs(found[begin:begin + size] - one) <= bound).all()
        begin += size


def test_device_arrays_and_lists(session):
    a, b = operands(m=M + 2)
    x, y = session.array(a), session.array(numpy.ascontiguousarray(b.swapaxes(1, 2))).T
    z = session.matmul_grouped(x, y, ROWS, EXPERTS)
    w = z.T @ z  # in the same submission
    assert isinstance(z, rt.DeviceArray) and z.shape == (M + 2, N)
    close(z, exact(a, b))
    close(w, exact(a, b).T @ exact(a, b), BOUND + (M + 8) * 2.0**-23)
    out = session.array(numpy.full((M + 2, N), 7, "float32"))
    assert rt.matmul_grouped(a, y, ROWS, EXPERTS, out=out, beta=1) is out
    close(out.numpy()[:M], exact(a, b)[:M] + 7)
    assert (out.numpy()[M:] == 7).all()


def test_sizes_on_the_device(session):
    a, b = operands(m=M + 2)
    x, status = session.array(a), session.array(numpy.full(1, 9, "int32"))
    found = session.matmul_grouped(x, b, session.array(numpy.array(ROWS, "int32")), session.array(numpy.array(EXPERTS, "int32")),
                                   status=status)
    close(found, exact(a, b))
    assert status.numpy().tolist() == [0]
    for rows, experts, code, wanted in ((ROWS, [2, 0, 4, 2, 3], 1, exact(a, b)), ([M, 3, 0, 0, 0], EXPERTS, 2, numpy.zeros((M + 2, N)))):
        if code == 1:
            wanted[3:8] = 0  # the group of an expert that is not there
        found = session.matmul_grouped(x, b, session.array(numpy.array(rows, "int32")), session.array(numpy.array(experts, "int32")),
                                       status=status)
        close(found, wanted)
        assert status.numpy().tolist() == [code]


@pytest.mark.parametrize("transposed", [False, True])
def test_packed_experts_on_the_device(session, transposed):
    a, b = operands(m=M + 2)
    y = session.array(numpy.ascontiguousarray(b.swapaxes(1, 2))).T if transposed else b
    with session.pack_experts(y, rows=M) as packed:
        assert packed.shape == (E, K, N)
        for rows, experts in ((ROWS, EXPERTS), ([0, M + 2], [1, 3])):
            close(session.matmul_grouped(a, packed, rows, experts), exact(a, b, rows, experts))
        with pytest.raises(TypeError, match="^a is float16 and b is float32"):
            session.matmul_grouped(a.astype("float16"), packed, ROWS, EXPERTS)
        with rt.Session() as other, pytest.raises(ValueError, match="^b belongs to another session$"):
            other.matmul_grouped(other.array(a), packed, ROWS, EXPERTS)
    assert not packed._release.alive
    with pytest.raises(ValueError, match="^b is closed$"):
        session.matmul_grouped(a, packed, ROWS, EXPERTS)


def test_what_cannot_be_packed_on_the_device(session):
    for kind, match, arguments in ((TypeError, "^b is Quantized; an array is packed", (Q, 3)), (ValueError, "^b is 33 x 7; it has three", (B[0], 3)),
                                   (TypeError, "^rows is .*; it is a whole number$", (B, [3])), (ValueError, "^groups is 0; it is 1 or more$", (B, 3, 0)),
                                   (TypeError, "^b is int64, which is none of", (B.astype("int64"), 3))):
        with pytest.raises(kind, match=match):
            session.pack_experts(*arguments)


A, B = operands()
Q = rt.Quantized(numpy.full((E, 3, 64), 129, "uint8"), numpy.ones((E, 3, 2), "float32"), k=64, n=3, bits=8, block=32, experts=E)


@pytest.mark.parametrize("kind,match,arguments", [
    (ValueError, r"^a is \(33,\); it has two dimensions", {"a": A[0]}),
    (ValueError, "^b is 33 x 7; it has three dimensions: experts, k and n$", {"b": B[0]}),
    (ValueError, "^a is 11 x 32 and b is 4 x 33 x 7: the inner sizes 32 and 33 differ$", {"a": A[:, 1:]}),
    (ValueError, "^b is 0 x 33 x 7; it has one matrix", {"b": B[:0]}),
    (TypeError, "^a is int64, which is none of float32, float16, bfloat16, int8, uint8, float64$", {"a": A.astype("int64")}),
    (TypeError, "^a is int8 and b is float32", {"a": A.astype("int8")}),
    (TypeError, "^out is int32, the result of int8 or uint8; a is float32$", {"out": numpy.zeros((M, N), "int32")}),
    (TypeError, "^a is int8 and the scales of b are float32", {"a": numpy.ones((M, 64), "int8"), "b": Q}),
    (TypeError, "^rows is a int; it is a sequence of whole numbers$", {"rows": 3}),
    (TypeError, r"^rows\[0\] is 1.5; it is a whole number$", {"rows": [1.5]}),
    (TypeError, r"^rows\[0\] is .*3.0.*; it is a whole number$", {"rows": numpy.array(ROWS, float)}),
    (TypeError, "^rows is a str; it is a sequence", {"rows": "31"}),
    (ValueError, r"^rows\[1\] is -1; it is 0 or more$", {"rows": [3, -1, 1, 1, 1]}),
    (ValueError, "^rows has a sum of 12; a has 11 rows$", {"rows": [3, 0, 5, 1, 3]}),
    (ValueError, "^rows has a sum of 18446744073709551619; a has", {"rows": [2**64, 3, 0, 0, 0]}),
    (ValueError, "^rows has 5 groups and b 4 matrices; say with experts", {"experts": None}),
    (ValueError, "^experts has 4 numbers and rows 5", {"experts": EXPERTS[:4]}),
    (ValueError, r"^experts\[2\] is 4; b has 4 matrices$", {"experts": [2, 0, 4, 2, 3]}),
    (ValueError, r"^experts\[0\] is -1; it is 0 or more$", {"experts": [-1, 0, 1, 2, 3]}),
    (ValueError, r"^experts\[0\] is 18446744073709551616; b has 4", {"experts": [2**64, 0, 1, 2, 3]}),
    (TypeError, r"^experts\[0\] is '0'; it is a whole number$", {"experts": ["0"] * 5}),
    (ValueError, "^out is 11 x 8; the result is 11 x 7$", {"out": numpy.zeros((M, N + 1), "float32")}),
    (ValueError, "^out is read-only$", {"out": numpy.broadcast_to(numpy.float32(1), (M, N))}),
    (ValueError, "^beta needs c, or out", {"beta": 1}),
    (ValueError, "^bias is 3 x 7; .* or 4 x 7, a row for each expert$", {"bias": numpy.zeros((3, N), "float32")}),
    (ValueError, r"^column_scale is \(8,\); .* or 4 x 7, a row for each expert$",
     {"epilogue": rt.Epilogue(column_scale=numpy.zeros(N + 1, "float32"))}),
    (ValueError, r"^bias is 4 x 7 and column_scale \(7,\); both have a row for each expert, or neither$",
     {"bias": numpy.zeros((E, N), "float32"), "epilogue": rt.Epilogue(column_scale=numpy.zeros(N, "float32"))}),
    (TypeError, "^status is a int; it is a DeviceArray", {"status": 3}),
    (ValueError, "^tier is 'gpu'", {"tier": "gpu"}),
])
def test_bad_arguments_are_named(kind, match, arguments):
    given = {"a": A, "b": B, "rows": ROWS, "experts": EXPERTS, **arguments}
    with pytest.raises(kind, match=match):
        rt.matmul_grouped(given.pop("a"), given.pop("b"), given.pop("rows"), given.pop("experts"), **given)


def test_overlapping_outputs_are_refused_and_untouched():
    memory = numpy.ones((2 * M, K), "float32")
    with pytest.raises(ValueError, match="^out overlaps a"):
        rt.matmul_grouped(memory[:M], B, ROWS, EXPERTS, out=memory[3:M + 3, :N])
    assert (memory == 1).all()


def test_bad_arguments_on_the_device_are_named(session):
    x, rows = session.array(A), session.array(numpy.array(ROWS, "int32"))
    experts = session.array(numpy.array(EXPERTS, "int32"))
    with rt.Session() as other:
        foreign = other.array(numpy.array(EXPERTS, "int32"))
        for kind, match, given in (
                (TypeError, "^experts is a list; it is a DeviceArray where rows is one$", (x, B, rows, EXPERTS)),
                (ValueError, "^experts belongs to another session$", (x, B, rows, foreign)),
                (TypeError, "^rows is float32, which is not int32$", (x, B, session.array(A[0]), experts)),
                (ValueError, "^rows is 11 x 33; it has one dimension$", (x, B, x, experts)),
                (ValueError, "^rows has 5 groups and b 4 matrices", (x, B, rows)),
                (ValueError, "^a is a transpose", (session.array(numpy.ascontiguousarray(A.T)).T, B, rows, experts)),
                (TypeError, "^a is float32 and b is int8", (x, B.astype("int8"), rows, experts)),
                (TypeError, "^a is float16 and b is float32", (session.array(A.astype("float16")), B, rows, experts)),
                (TypeError, "^b is Packed, .*beside a DeviceArray give", (x, session.pack(B[0], rows=(1,)), rows, experts))):
            with pytest.raises(kind, match=match):
                session.matmul_grouped(*given)
        for match, status, sizes in ((r"^status is \(5,\); it has to be \(1,\)", experts, rows),
                                     ("^status is for rows on the device", session.array(numpy.zeros(1, "int32")), ROWS)):
            with pytest.raises(ValueError, match=match):
                session.matmul_grouped(x, B, sizes, experts if sizes is rows else EXPERTS, status=status)


@pytest.mark.parametrize("where", ["host", "device"])
def test_floats_of_two_types_are_multiplied_as_float32(request, where):
    """The sums of small whole numbers are exact."""
    a, b = numpy.round(A * 8), numpy.round(B * 8)
    session = request.getfixturevalue("session") if where == "device" else rt
    for x, y in ((a, b.astype("float16")), (a.astype("float16"), b), (a.tolist(), b.astype("float16"))):
        if where == "device" and x is a:
            x = session.array(x)
        elif where == "device" and y is b:
            y = session.array(y)
        c = numpy.asarray(session.matmul_grouped(x, y, ROWS, EXPERTS))
        assert c.dtype == numpy.float32 and (c == rt.matmul_grouped(a, b, ROWS, EXPERTS, out=(numpy.zeros((M, N), "float32"),))).all()


def test_stacks_are_for_grouped_products_only(session):
    assert Q.shape == (E, 64, 3)
    x = numpy.ones((2, 64), "float32")
    for multiply in (lambda: rt.matmul(x, Q), lambda: session.array(x) @ Q, lambda: session.pack(Q, rows=(1,))):
        with pytest.raises(TypeError, match="^b is 4 x 64 x 3, quantised weights of 4 experts, which matmul_grouped"):
            multiply()
    with pytest.raises(TypeError, match="^b is Packed; matmul_grouped of arrays"):
        rt.matmul_grouped(A, session.pack(B[0], rows=(1,)), ROWS, EXPERTS)
    with pytest.raises(ValueError, match="^experts is 0; it is 1 or more$"):
        rt.Quantized(bytes(34), k=32, n=1, format="q8_0", experts=0)
    with pytest.raises(ValueError, match="^values has 32 bytes; 64 are needed"):
        rt.Quantized(bytes(32), numpy.ones(2, "float32"), k=32, n=1, bits=8, block=32, experts=2)
