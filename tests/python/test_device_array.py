"""Arrays on the device: collected products, transposes, batches, types, epilogues, and what is refused."""
import gc
import math
import os
import subprocess
import threading

import numpy
import pytest
import rooftile as rt


@pytest.fixture(scope="module")
def session():
    with rt.Session() as session:
        yield session


def operands(m, n, k, batch_a=(), batch_b=()):
    random = numpy.random.default_rng(8)
    return random.random((*batch_a, m, k), "float32"), random.random((*batch_b, k, n), "float32")


def close(found, exact, k):
    numpy.testing.assert_allclose(numpy.asarray(found), exact, rtol=(k + 4) * 2.0**-23)


def test_products_are_collected_and_transposes_are_not_copied(session):
    a, b = operands(5, 7, 33)
    x, y = session.array(a), session.array(numpy.asfortranarray(b))
    z = x @ y
    w = z.T @ z
    assert isinstance(w, rt.DeviceArray) and w.shape == (7, 7) and w.dtype == "float32" and w.nbytes == 196
    close(w, (a.astype(float) @ b).T @ (a.astype(float) @ b), 40)
    close(z, a.astype(float) @ b, 33)
    close(y.T @ x.T, (a.astype(float) @ b).T, 33)
    assert (x.T.numpy() == a.T).all() and x.T.T.shape == x.shape


def test_host_arrays_are_copied_to_the_device(session):
    a, b = operands(5, 7, 6)
    for found in (a @ session.array(b), session.array(a) @ b, rt.matmul(a, session.array(b))):
        assert isinstance(found, rt.DeviceArray)
        close(found, a.astype(float) @ b, 6)


@pytest.mark.parametrize("batch_a,batch_b", [((3,), (3,)), ((2, 3), ()), ((), (2,)), ((2, 1), (2, 1))])
def test_batches(session, batch_a, batch_b):
    a, b = operands(3, 5, 4, batch_a, batch_b)
    close(session.array(a) @ session.array(b), a.astype(float) @ b, 4)
    close(session.array(a.swapaxes(-1, -2)).T @ b, a.astype(float) @ b, 4)


def test_batches_that_no_stride_can_say(session):
    a, b = operands(3, 5, 4, (2, 1), (1, 3))
    with pytest.raises(ValueError, match="^a is 2 x 1 x 3 x 4 and the batch 2 x 3"):
        session.array(a) @ b


def test_types(session):
    a, b = operands(5, 7, 6)
    half = session.matmul(session.array(a.astype("float16")), b.astype("float16"), dtype_out="float32")
    close(half, a.astype("float16").astype(float) @ b.astype("float16").astype(float), 6)
    random = numpy.random.default_rng(1)
    x, y = random.integers(-128, 128, (3, 70), "int8"), random.integers(-128, 128, (70, 4), "int8")
    assert (numpy.asarray(session.array(x) @ y) == x.astype(int) @ y.astype(int)).all()


def test_arrays_of_the_processor_become_float32_beside_float32(session):
    a, b = operands(5, 7, 6)
    half_a, half_b = a.astype("float16"), b.astype("float16")
    for x, y, left, right in ((session.array(a), half_b, a, half_b), (half_a, session.array(b), half_a, b),
                              (session.array(a), session.matmul(session.array(b), numpy.eye(7, dtype="f4"), dtype_out="bfloat16").numpy(), a, None),
                              (a.tolist(), session.array(b), a, b)):
        right = (y.astype("uint32") << 16).view("float32") if right is None else right
        found = session.matmul(x, y)
        assert found.dtype == "float32"
        close(found, left.astype(float) @ right.astype(float), 6)
    out = session.array(numpy.zeros((5, 7), "float32"))
    assert session.matmul(half_a, b, out=(out,)) is out
    close(out, half_a.astype(float) @ b, 6)


def test_the_log_tells_where_products_run(monkeypatch, capfd):
    monkeypatch.setenv("ROOFTILE_LOG", "decisions")
    a, b = operands(4, 5, 6)

    def told(use):
        with rt.Session() as session:
            capfd.readouterr()
            for _ in range(3):
                use(session)
            return capfd.readouterr().err

    for tier in ("host", "host1", "host64"):
        assert told(lambda s: s.matmul(a, b, tier=tier)) == f"rooftile: 4x5x6 nn f32: {tier}, forced\n"
    assert "rooftile: 4x5x6 nn f32: device, forced; kernel " in told(lambda s: s.matmul(a, b, tier="device"))
    assert "rooftile: 4x5x6 nn f32, on device buffers: device; kernel " in told(lambda s: (s.array(a) @ b).numpy())
    assert "rooftile: 4x5x6 nn f32: packed b is not used: " in told(lambda s: s.matmul(a, s.pack(b, rows=(4,))))
    grouped = "rooftile: 4x5x6 nn in 2 groups of 2 experts f32: "
    for tier, line in ((None, "host, "), ("host1", "host1, forced\n"), ("device", "device, forced\n")):
        said = told(lambda s: s.matmul_grouped(a, numpy.stack([b, b]), rows=[3, 1], tier=tier))
        assert grouped + line in said and said.count(grouped) == 1


def test_lists_are_float32(session):
    x, bias = session.array([[1, 2], [3, 4.5]]), (1, -1)
    assert x.dtype == "float32"
    after = rt.Epilogue(row_scale=[2, 1], residual=[[1, 2], [3, 4]])
    found = session.matmul(x, [[1, 0], [0, 1]], bias=bias, epilogue=after).numpy()
    assert (found == [[4, 5], [7, 7.5]]).all()
    with pytest.raises(rt.Error, match="precision standard"):
        session.matmul(x, x, precision="exact64")


def test_float64_epilogues_stay_float64(session):
    random = numpy.random.default_rng(5)
    a, b, residual = random.random((5, 6)) - 0.5, random.random((6, 7)), random.random((5, 7))
    bias, x = [1 / 3] * 7, session.array(a)
    after = rt.Epilogue("gelu_tanh", row_scale=random.random(5), residual=residual, clamp=(0.1, 2 / 3))
    found = session.matmul(x, b, bias=bias, epilogue=after)
    y = a @ b * after.row_scale[:, None] + bias
    y = y / (1 + numpy.exp(-2 * math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
    assert found.dtype == "float64"
    numpy.testing.assert_allclose(found.numpy(), numpy.clip(y + residual, 0.1, 2 / 3), rtol=0, atol=1e-15)
    for given in (residual[0].astype("float32"), session.array(residual[0].astype("float32"))):
        with pytest.raises(TypeError, match="^bias is float32, which is not float64$"):
            session.matmul(x, b, bias=given)
    with pytest.raises(TypeError, match="^bias is float64, which is not float32$"):
        session.matmul(session.array(a.astype("float32")), b.astype("float32"), bias=residual[0])


def test_epilogue_and_out(session):
    a, b = operands(5, 7, 6)
    x, y = session.array(a), session.array(b)
    product = a.astype(float) @ b
    bias, rows, residual = (numpy.linspace(-3, 3, size).astype("float32") for size in (7, 5, 35))
    residual = residual.reshape(5, 7)
    found = session.matmul(x, y, bias=bias, epilogue=rt.Epilogue("relu", row_scale=rows, residual=residual, clamp=(-1, 2)))
    numpy.testing.assert_allclose(found.numpy(), numpy.clip(numpy.maximum(product * rows[:, None] + bias, 0) + residual, -1, 2), atol=1e-5)
    numpy.testing.assert_allclose(session.matmul(x, y, bias=session.array(rows[:, None])).numpy(), product + rows[:, None], atol=1e-5)
    out = session.array(numpy.ones((5, 7), "float32"))
    assert session.matmul(x, y, out=out, alpha=2, beta=3) is out
    numpy.testing.assert_allclose(out.numpy(), 2 * product + 3, rtol=1e-5)


@pytest.mark.parametrize("options", [{"bits": 4, "zero_points": "packed"}, {"bits": 8, "zero_points": "float"}, {"format": "q4_0"}])
def test_quantised_weights_are_put_on_the_device_once(session, options):
    random = numpy.random.default_rng(5)
    w, x = random.standard_normal((64, 6)).astype("float32"), random.standard_normal((3, 64)).astype("float32")
    q = rt.quantize(w, **options)
    found = session.array(x) @ q
    assert found.shape == (3, 6) and found.dtype == "float32"
    memory = q.on_device[session]
    numpy.testing.assert_allclose(found.numpy(), rt.matmul(x, q), atol=1e-4)
    numpy.testing.assert_allclose((session.array(numpy.stack([x, x])) @ q).numpy()[1], rt.matmul(x, q), atol=1e-4)
    assert q.on_device[session] is memory
    with pytest.raises(TypeError, match="^a is int8"):
        session.array(numpy.zeros((1, 64), "int8")) @ q


def test_dlpack_hands_over_the_processor_s_copy(session):
    x = session.array(numpy.ones((2, 3), "float32"))
    assert (numpy.from_dlpack(x) == 1).all() and x.__dlpack_device__() == (1, 0)
    assert x.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=True) is not None
    for refused in ({"copy": False}, {"dl_device": (7, 0)}):
        with pytest.raises(BufferError, match="^a DeviceArray"):
            x.__dlpack__(**refused)
    with pytest.raises(ValueError, match="^a DeviceArray"):
        x.__array__(copy=False)


def test_sizes_of_zero(session):
    assert (session.array(numpy.zeros((0, 3), "float32")) @ numpy.zeros((3, 2), "float32")).numpy().shape == (0, 2)
    assert (session.array(numpy.zeros((2, 0), "float32")) @ numpy.zeros((0, 3), "float32")).numpy().tolist() == [[0] * 3] * 2


def test_what_is_refused(session):
    x = session.array(numpy.ones((2, 3), "float32"))
    with rt.Session() as other:
        foreign = other.array(numpy.ones((3, 2), "float32"))
        with pytest.raises(ValueError, match="^b belongs to another session"):
            x @ foreign
    for use, kind, match in (
            (lambda: x @ x, ValueError, "^a is 2 x 3 and b is 2 x 3: the inner sizes"),
            (lambda: x @ numpy.ones(3, "float32"), ValueError, r"^b is \(3,\); on a device"),
            (lambda: x @ numpy.ones((3, 2)), TypeError, "^a is float32 and b is float64"),
            (lambda: x @ numpy.ones((3, 2), "int64"), TypeError, "^b is int64,"),
            (lambda: x @ numpy.ones((3, 2), "int8"), TypeError, "^a is float32 and b is int8"),
            (lambda: x @ session.array(numpy.ones((3, 2), "float16")), TypeError, "^a is float32 and b is float16"),
            (lambda: session.array(numpy.ones((2, 3), "float16")) @ numpy.ones((3, 2), "float32"), TypeError, "^a is float16 and b is float32"),
            (lambda: session.matmul(x, x.T, dtype_out="int32"), TypeError, "^dtype_out is int32"),
            (lambda: session.matmul(x, x.T, out=session.array(numpy.ones((2, 2), "int32"))), TypeError, "^out is int32"),
            (lambda: session.matmul(x, x.T, out=numpy.ones((2, 2), "float32")), TypeError, "^out is a ndarray"),
            (lambda: session.matmul(x, x.T, out=session.array(numpy.ones((2, 3), "float32"))), ValueError, "^out is 2 x 3"),
            (lambda: session.matmul(x, x.T, beta=1), ValueError, "^beta needs out"),
            (lambda: session.matmul(x, x.T, bias=numpy.ones(5, "float32")), ValueError, r"^bias is \(5,\)"),
            (lambda: session.matmul(x, x.T, epilogue=rt.Epilogue(clamp=1)), TypeError, "^clamp is 1"),
            (lambda: session.matmul(x, x.T, tier="host"), rt.Error, "host"),
            (lambda: session.matmul(x, x.T, precision="exact64"), rt.Error, "(?i)precision|exact|float64")):
        with pytest.raises(kind, match=match):
            use()
    assert (x @ x.T).numpy().tolist() == [[3, 3], [3, 3]]


def test_threads_share_arrays(session):
    a, b = operands(9, 7, 6)
    x, y = session.array(a), session.array(b)
    expected, found = (x @ y).numpy(), []

    def work():
        for _ in range(30):
            found.append((numpy.asarray(x @ y) == expected).all())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 90 and all(found)


def test_results_that_nobody_reads_are_run_and_freed(session):
    x = session.array(numpy.eye(4, dtype="float32"))
    y = x
    for _ in range(150):
        y = y @ x
    del x
    gc.collect()
    assert (y.numpy() == numpy.eye(4)).all()


def test_arrays_outlive_their_session():
    with rt.Session() as session:
        x = session.array(numpy.ones((2, 3), "float32"))
    with pytest.raises(ValueError, match="the session is closed"):
        x @ x.T
    del x
    gc.collect()


@pytest.mark.parametrize("tuned", [True, False])
@pytest.mark.parametrize("use", ["matmul", "array", "grouped"])
def test_a_forked_child_that_asks_for_the_device_is_told_of_the_fork(tmp_path, tuned, use):
    if tuned:
        subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], tmp_path / "tuned.db", "slow"], check=True)
    x = numpy.ones((4, 4), "float32")
    with rt.Session(tmp_path / "tuned.db" if tuned else None) as session:
        assert (session.matmul(x, x, tier="device") == 4).all()
    parent, child = os.pipe()
    if os.fork() == 0:
        try:
            with rt.Session(tmp_path / "tuned.db" if tuned else None) as session:
                {"matmul": lambda: session.matmul(x, x, tier="device"), "array": lambda: session.array(x),
                 "grouped": lambda: session.matmul_grouped(x, x[None], [4], tier="device")}[use]()
            os.write(child, b"computed")
        except rt.Error as error:
            os.write(child, str(error).encode())
        os._exit(0)
    os.wait()
    said = os.read(parent, 1000).decode()
    assert "was forked from" in said and "fork before the first use" in said
    assert "is not here" not in said and "tune" not in said and "no Vulkan device" not in said


def test_a_forked_child_computes_on_the_host(session):
    x = session.array(numpy.ones((2, 3), "float32"))
    child = os.fork()
    if child == 0:
        try:
            x @ x.T
            (x @ x.T).numpy()
        except rt.Error:
            os._exit(0 if rt.matmul(numpy.ones((2, 3), "float32"), numpy.ones((3, 1), "float32"))[0, 0] == 3 else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (x @ x.T).numpy()[0, 0] == 3
