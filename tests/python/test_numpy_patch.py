"""Large float32 products of NumPy within numpy_patch, and that all others stay NumPy's."""
import os
import threading
import warnings

import numpy
import pytest
import rooftile as rt
from rooftile import patch as patching

A = numpy.random.default_rng(1).random((130, 140), "float32")
B = numpy.random.default_rng(2).random((140, 150), "float32")
MATMUL, DOT = numpy.matmul, numpy.dot


def close(c):
    numpy.testing.assert_allclose(c, A.astype(float) @ B, rtol=142 * 2.0**-23)


def test_large_products_are_routed_and_only_within_the_block():
    out = numpy.empty((130, 150), "float32")
    with rt.numpy_patch() as patch:
        for product in (lambda: A @ B, lambda: numpy.matmul(A, B), lambda: numpy.dot(A, B), lambda: (B.T @ A.T).T,
                        lambda: numpy.matmul(A, B, out=out), lambda: A[None] @ B, lambda: MATMUL(A, B), lambda: A.view(numpy.matrix) @ B,
                        lambda: numpy.matmul(A.tolist(), B, dtype="f4", casting="same_kind")):
            before = patch.products
            close(numpy.asarray(product()).reshape(130, 150))
            assert patch.products == before + 1
        close(numpy.stack([A, A + 0])[1] @ B)
        assert patch.products == 10
        assert (numpy.stack([A, A, A]) @ B).shape == (3, 130, 150) and patch.products == 13
    assert numpy.matmul is MATMUL and numpy.dot is DOT
    close(A @ B)
    close(DOT(A, B))
    assert patch.products == 13


def test_the_operands_strides_and_results_of_every_kind_are_right():
    base = numpy.random.default_rng(3).integers(-8, 9, (90, 80)).astype("f4")
    cases = [(base[:33, :47], base[:47, :21]), (base[:33, :47], base[:21, :47].T), (base[:47, :33].T, base[:47, :21]),
             (base[:47, :33].T, base[:21, :47].T), (base[::2, ::3], base[:27, :5]), (base[::-1], base[:80, :7]),
             (numpy.broadcast_to(base[0], (9, 80)), base[:80, :7]), (base[:2, :1], base[:1, :3])]
    for a, b in cases:
        exact = (a.astype(float) @ b.astype(float)).astype("f4")
        with rt.numpy_patch(least=1):
            assert numpy.array_equal(a @ b, exact)
            for out in (numpy.empty(exact.shape, "f4"), numpy.empty(exact.shape[::-1], "f4").T, numpy.empty((200, 200), "f4")[::2, ::2]):
                out = out[:exact.shape[0], :exact.shape[1]]
                assert numpy.array_equal(numpy.matmul(a, b, out=out), exact)
            stack = numpy.stack([a, a + 1])
            assert numpy.array_equal(stack @ b, numpy.stack([exact, ((a + 1).astype(float) @ b).astype("f4")]))
    square = base[:60, :60].copy()
    exact = (square.astype(float) @ square).astype("f4")
    with rt.numpy_patch(least=1) as patch:
        assert numpy.array_equal(numpy.matmul(square, square, out=square), exact) and patch.products == 1


def test_other_products_stay_numpy_s():
    with rt.numpy_patch() as patch:
        for product in (lambda: A[:9] @ B, lambda: A.astype(float) @ B, lambda: A @ B[:, 0], lambda: A[0] @ B, lambda: A @ B[:, :1],
                        lambda: numpy.dot(A, 2), lambda: A @ A.T, lambda: A.T @ A, lambda: A.astype(int) @ B.astype(int),
                        lambda: A[::-1, ::-1] @ B, lambda: numpy.zeros((200, 0), "f4") @ numpy.zeros((0, 200), "f4")):
            product()
        with pytest.raises(ValueError, match="mismatch"):
            A @ A
        with pytest.raises(ValueError):
            numpy.dot(A, A)
        assert isinstance(numpy.matmul, numpy.ufunc)
    assert patch.products == 0


def test_blocks_are_nested_and_end_with_exceptions():
    with rt.numpy_patch(least=10**9) as outer:
        A @ B
        with pytest.raises(KeyError), rt.numpy_patch(least=1) as inner:
            A[:2] @ B
            with pytest.raises(ValueError, match="in use"), inner:
                pass
            raise KeyError
        A @ B
    assert (outer.products, inner.products) == (1, 1)
    A @ B
    assert (outer.products, inner.products) == (1, 1)
    with pytest.raises(ValueError, match="^least is -1"):
        rt.numpy_patch(least=-1)


def test_all_threads_are_routed():
    with rt.numpy_patch() as patch:
        threads = [threading.Thread(target=lambda: close(A @ B)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert patch.products == 3


def test_blocks_begin_and_end_while_other_threads_multiply():
    stop, wrong = threading.Event(), []

    def multiply():
        a = numpy.full((40, 30), 2, "f4")
        b = numpy.full((30, 20), 3, "f4")
        while not stop.is_set():
            if not (a @ b == 180).all():
                wrong.append(1)

    threads = [threading.Thread(target=multiply) for _ in range(3)]
    for thread in threads:
        thread.start()
    routed = 0
    while routed < 200:
        with rt.numpy_patch(least=1) as patch:
            close(A @ B)
        routed += patch.products
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_session_that_is_closed_leaves_the_products_to_numpy():
    with rt.numpy_patch() as patch:
        rt.default_session().close()
        close(A @ B)
        assert patch.products == 0
    with rt.numpy_patch() as patch:
        close(A @ B)
    assert patch.products == 1


def test_a_forked_child_leaves_the_block():
    with rt.numpy_patch() as patch:
        close(A @ B)
        child = os.fork()
        if child == 0:
            close(A @ B)
            patch.__exit__()
            os._exit(0 if patch.products == 2 and numpy.dot is DOT else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("broken", ["refused", "not used"])
def test_a_numpy_whose_loop_cannot_be_replaced_is_told_of(monkeypatch, broken):
    monkeypatch.setattr(patching, "replace_loop", lambda numpy, loop: None if broken == "refused" else loop)
    with pytest.warns(RuntimeWarning, match="only numpy.dot is routed") as told, rt.numpy_patch() as patch:
        close(A @ B)
        assert patch.products == 0
        close(numpy.dot(A, B))
        assert patch.products == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings(), pytest.raises(RuntimeWarning):
        warnings.simplefilter("error")
        with rt.numpy_patch():
            pass
    assert numpy.dot is DOT and not patching._routed.patches


def test_nothing_else_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with rt.numpy_patch():
            close(A @ B)
