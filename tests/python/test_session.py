"""Sessions, decisions and packed weights."""
import copy
import gc
import pickle
import threading

import numpy
import pytest
import rooftile as rt
from rooftile import _fast
from rooftile._fast import PlainProducts


def test_guard_and_decision():
    random = numpy.random.default_rng(5)
    a, b = random.random((40, 900), dtype=numpy.float32), random.random((900, 30), dtype=numpy.float32)
    exact = (a.astype(float) @ b).astype(numpy.float32)
    with rt.Session() as session:
        with pytest.raises(rt.Error):
            session.last_decision()  # no call was made yet
        session.matmul(a, b)
        decision = session.last_decision()
        assert decision.tier in ("host", "host1") and decision.reason == "predicted"
        assert decision.kernel == "" and decision.veto != "" and decision.device_ns == numpy.inf
        for asked in ({"kappa": 1000.0}, {"precision": "exact64"}):
            assert (session.matmul(a, b, **asked) == exact).all()
            assert session.last_decision()[:2] == ("host64", "precision")
            assert session.explain(a, b, **asked).tier == "host64"
        session.matmul(a, b, kappa=999.0)
        assert session.last_decision().tier != "host64"
        for shapes in ((a, b), (a.shape, b.shape), (a, b.shape)):
            assert session.explain(*shapes, tier="host1")[:2] == ("host1", "forced")
        with pytest.raises(ValueError, match="^a is 2 x 3 and b is 2 x 3"):
            session.explain((2, 3), (2, 3))
        with pytest.raises(ValueError, match="nothing to explain"):
            session.explain((0, 3), (3, 3))
        # Products that memory does not hold, of sizes that NumPy has computed; c is not read either.
        large = tuple(numpy.array([500_000, 500_000]))
        assert session.explain(large, large, tier="host1").tier == "host1"
        wide = numpy.broadcast_to(numpy.float32(1), large)
        assert session.explain(large, large, c=wide, beta=2, tier="host1").tier == "host1"


def test_the_last_decision_is_that_of_the_last_product():
    a, b = numpy.ones((3, 5), "float32"), numpy.ones((5, 4), "float32")
    nothing = [lambda s: s.matmul(a[:0], b), lambda s: s.matmul(a, b[:, :0]), lambda s: s.matmul(numpy.ones((0, 3, 5), "float32"), b),
               lambda s: s.matmul_grouped(a[:0], b[None], [0]), lambda s: s.matmul_grouped(a, b[None], [0])]
    refused = [lambda s: s.matmul(a, a), lambda s: s.matmul_grouped(a, b[None], [4]), lambda s: s.matmul(a, b, kappa=-1)]
    with rt.Session() as session:
        for multiply in nothing:
            session.matmul(a, b, tier="host1")
            assert session.last_decision()[:2] == ("host1", "forced")
            multiply(session)
            assert session.last_decision()[:2] == ("host", "nothing_to_do")
        for multiply in refused:
            session.matmul(a, b)
            with pytest.raises(ValueError):
                multiply(session)
            with pytest.raises(rt.Error, match="^this thread's last call failed, was on another session, or"):
                session.last_decision()
        session.matmul(a[:, :0], b[:0])
        assert session.last_decision().tier == "host", "all zeros, which somebody wrote"


def test_defaults_of_a_session():
    with rt.Session(tier="host1", precision="exact64", deterministic=True, log_untuned=False) as session:
        session.matmul(numpy.ones((2, 2), "float32"), numpy.ones((2, 2), "float32"))
        assert session.last_decision().tier == "host64"
        session.flush()
    for bad in ({"tier": "gpu"}, {"precision": "best"}):
        with pytest.raises(ValueError, match="one of"):
            rt.Session(**bad)
    with pytest.raises(TypeError, match="^database"):
        rt.Session(database=3)


def test_errors_have_the_library_s_message_and_status():
    eye = numpy.eye(2, dtype="float32")
    with rt.Session() as session:
        with pytest.raises(rt.Error, match="float64 sums, which the device tier does not compute") as caught:
            session.matmul(eye, eye, tier="device", precision="exact64")
        assert caught.value.status == 2 and not isinstance(caught.value, ValueError)
    for name in ("database", "device"):
        with pytest.raises(ValueError, match=f"^{name} is .*null character"):
            rt.Session(**{name: "a\0b"})
    for use in (lambda: session.matmul(eye, eye), lambda: session.matmul(eye, eye, alpha=2), lambda: session.explain(eye, eye),
                session.last_decision, session.flush, session.__enter__, lambda: session.pack(eye, (1,))):
        with pytest.raises(ValueError, match="the session is closed"):
            use()
    session.close()


def test_the_default_session_is_opened_again():
    eye = numpy.eye(2, dtype="float32")
    before = rt.default_session()
    before.close()
    assert (rt.matmul(eye, eye) == eye).all() and rt.default_session() is not before
    assert (rt.matmul(eye, eye, alpha=2) == 2 * eye).all()


def test_closing_waits_for_products_of_other_threads():
    a = numpy.ones((700, 700), "float32")
    for alpha in (1, 2):  # the short way, and the general one
        session, entered, found = rt.Session(), threading.Event(), []

        def multiply():
            try:
                for _ in range(100):
                    entered.set()
                    found.append((session.matmul(a, a, alpha=alpha) == alpha * 700).all())
            except ValueError as error:
                found.append(str(error) == "the session is closed")

        thread = threading.Thread(target=multiply)
        thread.start()
        entered.wait()
        session.close()
        thread.join()
        assert all(found)


class Watched:
    """The library, of which each product waits until it may go on."""

    def __init__(self, library, log):
        self.library, self.log = library, log
        self.entered, self.may_go_on = threading.Event(), threading.Event()

    def __getattr__(self, name):
        return getattr(self.library, name)

    def _product(self, function, *arguments):
        self.entered.set()
        self.may_go_on.wait()
        status = function(*arguments)
        self.log.append("product")
        return status

    def rooftile_gemm(self, *arguments):
        return self._product(self.library.rooftile_gemm, *arguments)

    def rooftile_sgemm(self, *arguments):
        return self._product(self.library.rooftile_sgemm, *arguments)

    def rooftile_close(self, context):
        self.log.append("close")
        self.library.rooftile_close(context)


@pytest.mark.parametrize("alpha", [None, 2])  # the short way, and the general one
def test_a_session_is_freed_after_the_running_product(alpha):
    session, log, eye = rt.Session(), [], numpy.eye(2, dtype="float32")
    session._library = watched = Watched(session._library, log)
    session.plain()
    options = {} if alpha is None else {"alpha": alpha}
    product = threading.Thread(target=lambda: session.matmul(eye, eye, **options))
    product.start()
    watched.entered.wait()
    closing = threading.Thread(target=session.close)
    closing.start()
    closing.join(0.2)  # ends before this if it does not wait
    watched.may_go_on.set()
    product.join()
    closing.join()
    assert log == ["product", "close"]


def test_products_at_the_same_time_have_arguments_of_their_own():
    a, b = numpy.eye(2, dtype="float32"), numpy.ones((2, 2), "float32")
    pointers = []

    class Nested:
        """A library whose first product makes another before it computes, as a thread or a signal handler may."""

        def __getattr__(self, name):
            return getattr(session._library, name)

        def rooftile_sgemm(self, context, pointer):
            pointers.append(pointer)
            if len(pointers) < 3:
                assert (plain.multiply(b, a, None) == b).all()
            return session._library.rooftile_sgemm(context, pointer)

    with rt.Session() as session:
        plain = PlainProducts(Nested(), session.context, numpy)
        assert (plain.multiply(a, 2 * b, None) == 2 * b).all()
        assert len(set(pointers)) == 3
        plain.multiply(a, b, None)
        assert pointers[3] in pointers[:3]
        plain.stop()
        plain.wait()


def test_what_owns_handles_is_neither_copied_nor_pickled():
    """A copy would free what the original uses."""
    session, w = rt.Session(), rt.Quantized(bytes(34), k=32, n=1, format="q8_0")
    packed = session.pack(numpy.eye(2, dtype="f4"), rows=(1,))
    for owner in (session, packed):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=f"^a {type(owner).__name__} cannot be copied or pickled"):
                copied(owner)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="^the memory of weights cannot be copied or pickled"):
            copied(w)
    assert (session.matmul(numpy.eye(2, dtype="f4"), packed) == numpy.eye(2)).all()
    session.close()


def test_packed_weights_are_released_with_their_object():
    with rt.Session() as session:
        packed = session.pack(numpy.ones((33, 21), "float32"), rows=(1,))
        release = packed._release
        assert release.alive
        del packed
        gc.collect()
        assert not release.alive
        with session.pack(numpy.ones((33, 21), "float32"), rows=(1,)) as packed:
            assert packed._release.alive
        assert not packed._release.alive
        packed.close()


@pytest.mark.parametrize("transposed", [False, True])
def test_packed_weights(transposed):
    random = numpy.random.default_rng(4)
    weights = random.random((33, 21), dtype=numpy.float32)
    with rt.Session() as session, session.pack(weights.T if transposed else weights, rows=(1, 8)) as packed:
        k, n = packed.shape
        assert packed.device_bytes == 0 or packed.device_bytes >= packed.original.nbytes
        for m in (1, 8, 5):
            a = random.random((m, k), dtype=numpy.float32)
            for tier in ("auto", "host"):
                numpy.testing.assert_allclose(session.matmul(a, packed, tier=tier), a.astype(float) @ packed.original,
                                              rtol=35 * 2.0**-23)
        with pytest.raises(ValueError, match="inner sizes"):
            session.matmul(numpy.zeros((2, n + 100), "float32"), packed)


def test_packed_weights_of_another_session_or_released():
    random = numpy.random.default_rng(4)
    a, weights = random.random((4, 33), dtype=numpy.float32), random.random((33, 21), dtype=numpy.float32)
    exact = a.astype(float) @ weights
    with rt.Session() as session, rt.Session() as other, session.pack(weights, rows=(4,)) as packed:
        with pytest.raises(rt.Error, match="belongs to another session"):
            other.matmul(a, packed)
        for options in ({"precision": "exact64"}, {"precision": "high"}, {"kappa": 1e6}):
            numpy.testing.assert_allclose(session.matmul(a, packed, **options), exact, rtol=1e-6)
        packed.close()
        numpy.testing.assert_allclose(session.matmul(a, packed), exact, rtol=35 * 2.0**-23)
        with pytest.raises(ValueError, match="rows is empty"):
            session.pack(weights, rows=())
        with pytest.raises(ValueError, match="^b has 1 dimensions"):
            session.pack(weights[0], rows=(1,))


def test_addresses_are_read_where_this_numpy_has_them_and_else_asked_for(monkeypatch):
    a = numpy.arange(60, dtype="float32").reshape(6, 10)
    fixed = a.copy()
    fixed.flags.writeable = False

    def operands_of(x):
        return x, x[1:4, 2:5], x[:3, :4].T

    assert _fast._data_is_there(numpy)
    with rt.Session(tier="host") as session:
        plain = session.plain()
        for x in (*operands_of(a), *operands_of(fixed)):
            b = numpy.ones((x.shape[1], 2), "float32")
            assert numpy.array_equal(plain.multiply(x, b, None), x @ b)
            assert numpy.array_equal(plain.multiply(b.T, x.T, None), (x @ b).T)
        assert plain.multiply(a[:, ::2], numpy.ones((5, 2), "float32"), None) is None  # the general way copies
    monkeypatch.setattr(_fast, "_DATA", _fast._DATA + 8)
    assert not _fast._data_is_there(numpy)
    with rt.Session(tier="host") as session:
        assert session.plain().multiply(a, a.T, None) is None
        assert numpy.array_equal(session.matmul(a, a.T), a @ a.T)


def test_products_of_a_matrix_and_a_vector_are_prepared_too():
    a, v = numpy.arange(60, dtype="float32").reshape(6, 10), numpy.arange(20, dtype="float32")
    with rt.Session(tier="host") as session:
        multiply = session.plain().multiply
        for x in (a, a[1:, 2:], a[:, :6].T):
            for y in (v[:x.shape[1]], v[:2 * x.shape[1]:2]):
                for made in (multiply(x, y, None), multiply(y, x.T, None), multiply(x, y, numpy.empty(x.shape[0], "float32"))):
                    assert made.shape == (x.shape[0],) and numpy.array_equal(made, x @ y)
        for pair in ((v, v), (a, v), (v[:6][::-1], a), (a, a[:, :1, None])):
            assert multiply(*pair, None) is None  # the general way computes, or says what is wrong
