"""Sessions, decisions and packed weights."""
import copy
import gc
import linecache
import os
import pickle
import sys
import threading

import numpy
import pytest
import rooftile as rt
from rooftile import _numpy_api, _plain


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
        standard = session.matmul(a, b)
        assert (session.matmul(a, b, precision="half") == standard).all()  # The host rounds nothing.
        assert session.last_decision().tier != "host64" and not session.last_decision().may_round_operands
        session.matmul(a, b, kappa=999.0)
        assert session.last_decision().tier != "host64"
        for shapes in ((a, b), (a.shape, b.shape), (a, b.shape)):
            assert session.explain(*shapes, tier="host1")[:2] == ("host1", "forced")
        for dtype in ("float32", "float16", "bfloat16", "int8", "uint8", "float64", numpy.float64):
            assert session.explain((2, 3), (3, 4), dtype=dtype, tier="host1").tier == "host1"
        for dtype, result in (("float64", "float64"), ("int8", "int32"), ("float32", "float32")):
            assert session.explain((2, 3), (3, 4), dtype=dtype, dtype_out=result, tier="host1").tier == "host1"
        with pytest.raises(TypeError, match="^dtype_out is float64; the result of float32 is not float64$"):
            session.explain((2, 3), (3, 4), dtype="float32", dtype_out="float64")
        assert session.explain((2, 900), b, dtype="float32").tier in ("host", "host1")
        with pytest.raises(TypeError, match="^dtype is 'int32'; it is one of"):
            session.explain((2, 3), (3, 4), dtype="int32")
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
        with pytest.raises(rt.Error, match="A holds infinity or NaN, and the range scan .* forced device") as caught:
            session.matmul(eye * numpy.float32("inf"), eye, tier="device", precision="high")
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

    def rooftile_close(self, context):
        self.log.append("close")
        self.library.rooftile_close(context)


def test_a_session_is_freed_after_the_running_product(long_product):
    session, log, eye = rt.Session(), [], numpy.eye(2, dtype="float32")
    session._library = watched = Watched(session._library, log)
    product = threading.Thread(target=lambda: session.matmul(eye, eye, alpha=2))
    product.start()
    watched.entered.wait()
    closing = threading.Thread(target=session.close)
    closing.start()
    closing.join(0.2)  # ends before this if it does not wait
    watched.may_go_on.set()
    product.join()
    closing.join()
    assert log == ["product", "close"]

    session = rt.Session(tier="host1")
    session._library = Watched(session._library, log)
    with long_product(session):
        session.close()
        log.append(session._plain._known.running)
    assert log[2:] == ["close", 0], "the short way"


def test_closing_waits_while_a_thread_prepares_the_short_way(monkeypatch):
    """What it prepared later would have the context that was freed."""
    eye, entered, may_go_on, made = numpy.eye(2, dtype="float32"), threading.Event(), threading.Event(), []

    def slow(numpy):
        made.append(numpy)
        entered.set()
        may_go_on.wait()
        return _numpy_api.empty_function(numpy)

    monkeypatch.setattr(_plain, "empty_function", slow)
    session = rt.Session(tier="host1")

    def multiply():
        try:
            session.matmul(eye, eye)
        except ValueError as error:
            assert str(error) == "the session is closed"

    threads = [threading.Thread(target=multiply), threading.Thread(target=multiply), threading.Thread(target=session.close)]
    threads[0].start()
    entered.wait()
    for thread in threads[1:]:
        thread.start()
    threads[2].join(0.2)  # ends before this if it does not wait
    assert not session.closed
    may_go_on.set()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and not session._plain._known.context
    with pytest.raises(ValueError, match="the session is closed"):
        session.matmul(eye, eye)


def test_a_signal_handler_may_close_the_session_whose_product_it_interrupts():
    session, log, eye = rt.Session(), [], numpy.eye(2, dtype="float32")

    class Interrupted(Watched):
        def _product(self, function, *arguments):
            session.close()
            status = function(*arguments)
            self.log.append("product")
            return status

    session._library = Interrupted(session._library, log)
    assert (session.matmul(eye, eye, alpha=2) == 2 * eye).all()
    assert log == ["product", "close"] and session.closed and not session._running


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # raised in __del__
@pytest.mark.parametrize("raises", [False, True])
def test_a_signal_handler_may_close_the_session_or_raise_between_any_two_lines(raises):
    eye, package = numpy.eye(2, dtype="float32"), os.path.dirname(rt.__file__)
    for options in ({}, {"alpha": 1.0}):
        step = 0
        while True:
            session, step, seen = rt.Session(tier="host1"), step + 1, 0

            def interrupt(frame, event, _):
                nonlocal seen
                # No handler runs before the line that takes the product out: nothing was called since the last one might have.
                taken_out = "_running.pop(" in linecache.getline(frame.f_code.co_filename, frame.f_lineno)
                if frame.f_code.co_filename.startswith(package) and event == "line" and not taken_out:
                    seen += 1
                    if seen == step:
                        sys.settrace(None)
                        if raises:
                            raise KeyboardInterrupt
                        session.close()
                return interrupt

            sys.settrace(interrupt)
            try:
                assert (session.matmul(eye, eye, **options) == eye).all()
            except ValueError as error:
                assert not raises and str(error) == "the session is closed"
            except KeyboardInterrupt:
                assert raises
            finally:
                sys.settrace(None)
            assert not session._running and not session._unclosed
            if seen >= step and not raises:
                assert session.closed
                with pytest.raises(ValueError, match="the session is closed"):
                    session.matmul(eye, eye)
            session.close()
            if seen < step:
                break
        assert step > 100


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


def test_the_short_way_computes_matrices_and_vectors_where_they_lie():
    a, v = numpy.arange(60, dtype="float32").reshape(6, 10), numpy.arange(20, dtype="float32")
    fixed = a.copy()
    fixed.flags.writeable = False
    with rt.Session(tier="host") as session:
        multiply = session.plain()
        for whole in (a, fixed):
            for x in (whole, whole[1:4, 2:5], whole[:3, :4].T, whole[:, :1], whole[2:3], whole[::-1][:1], whole[:, ::-1][:, 3:4]):
                b = numpy.ones((x.shape[1], 2), "float32")
                for made in (multiply(x, b, None), multiply(x, b, numpy.empty((x.shape[0], 2), "float32"))):
                    assert made.shape == (x.shape[0], 2) and made.dtype == a.dtype and numpy.array_equal(made, x @ b)
                assert numpy.array_equal(multiply(b.T, x.T, None), (x @ b).T)
        for x in (a, a[1:, 2:], a[:, :6].T):
            for y in (v[:x.shape[1]], v[:2 * x.shape[1]:2]):
                for made in (multiply(x, y, None), multiply(y, x.T, None), multiply(x, y, numpy.empty(x.shape[0], "float32"))):
                    assert made.shape == (x.shape[0],) and numpy.array_equal(made, x @ y)


def test_the_short_way_leaves_what_it_does_not_know():
    class Subclass(numpy.ndarray):
        pass

    a, b, v = numpy.ones((6, 10), "float32"), numpy.ones((10, 2), "float32"), numpy.ones(10, "float32")
    fixed, bytes_apart = numpy.empty((6, 2), "float32"), numpy.zeros(6 * 10 * 4 + 1, "u1")[1:].view("float32").reshape(6, 10)
    fixed.flags.writeable = False
    with rt.Session(tier="host") as session:
        multiply = session.plain()
        assert multiply(a, b, None) is not None and multiply() is multiply(a) is multiply(a, b) is multiply(a, b, None, None) is None
        left = [(v, v), (a, a), (v[:6][::-1], a), (a[:, ::2], b[:5]), (a, numpy.broadcast_to(b[:, :1], b.shape)), (a[None], b), (a[:0], b),
                (a, b[:, :0]), (a[:, :0], b[:0]), (v[:0], b[:0]), (a.astype("float64"), b), (a, b.astype(">f4")), (a.view(Subclass), b),
                (a.tolist(), b), (None, b), (a, 3), (v[0], b), (a[0, 0, ...], b), (bytes_apart, b), (a, memoryview(b))]
        for pair in left:
            assert multiply(*pair, None) is None
        space = numpy.empty((6, 20), "float32")
        for out in (space[:, :2], space[:, :20], space[:2, :6].T, fixed, numpy.empty((6, 2)), numpy.empty((6, 2), ">f4"), [[0] * 2] * 6, 3,
                    (space[:, :2].copy(),), space[:, :2].copy().view(Subclass)):
            assert multiply(a, b, out) is None
        with pytest.raises(MemoryError):
            multiply(numpy.ones((5_000_000, 1), "float32"), numpy.ones((1, 5_000_000), "float32"), None)
        square = numpy.ones((6, 6), "float32")
        assert multiply(square, square, square) is None and (square == 1).all(), "the context refuses"
        with pytest.raises(ValueError, match="^out overlaps a"):
            session.matmul(square, square, square)


def test_results_of_the_short_way_are_freed_and_operands_are_left_alone():
    a, b, out = numpy.ones((6, 10), "float32"), numpy.ones((10, 2), "float32"), numpy.empty((6, 2), "float32")
    with rt.Session(tier="host") as session:
        multiply = session.plain()
        counted = (a, b, out, a.dtype, None)
        before = [sys.getrefcount(x) for x in counted]
        for _ in range(100):
            multiply(a, b, None)
            multiply(a, b, out)
            multiply(a, a, None)
            multiply(out, out.T[:, :6], out)  # sizes that do not fit
            multiply(a[:, :2], b[:2], out)
            multiply(out[:, :2], out[:2], out)  # refused, because out overlaps
        assert [sys.getrefcount(x) for x in counted] == before
        last = multiply(a, b, None)
        assert sys.getrefcount(last) == 2 and last.base is None and last.flags.owndata
        kept = multiply
    gc.collect()
    del session
    assert kept(a, b, None) is None, "closed"


@pytest.mark.parametrize("unknown", ["fields", "version", "interpreter", "threads"])
def test_what_does_not_look_like_numpy_is_left_to_the_general_way(unknown, monkeypatch):
    a = numpy.ones((6, 10), "float32")
    assert _numpy_api.empty_function(numpy) is not None
    if unknown == "fields":
        monkeypatch.setattr(_numpy_api, "HEAD", _numpy_api.HEAD - 8)
    elif unknown == "version":
        monkeypatch.setattr(_numpy_api, "_ABI_VERSIONS", ())
    elif unknown == "interpreter":
        monkeypatch.setattr(sys.implementation, "name", "pypy")
    else:
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert _numpy_api.empty_function(numpy) is None
    with rt.Session(tier="host") as session:
        assert session.plain()(a, a.T, None) is None
        assert numpy.array_equal(session.matmul(a, a.T), a @ a.T)
