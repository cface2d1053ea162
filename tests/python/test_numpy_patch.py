"""Large float32 products of NumPy within numpy_patch, and that all others stay NumPy's."""
import threading
import warnings

import numpy
import pytest
import rooftile as rt
from rooftile import patch as patching

A = numpy.random.default_rng(1).random((130, 140), "float32")
B = numpy.random.default_rng(2).random((140, 150), "float32")
MATMUL, DOT = numpy.matmul, numpy.dot
# From NumPy 2.0 on `@` stays NumPy's.
OPERATOR = hasattr(numpy, "set_numeric_ops")


@pytest.fixture(autouse=True)
def expected_warning():
    """The warning that `@` is not routed, where it is not."""
    with warnings.catch_warnings():
        if not OPERATOR:
            warnings.filterwarnings("ignore", "this NumPy does not let", RuntimeWarning)
        yield


def close(c):
    numpy.testing.assert_allclose(c, A.astype(float) @ B, rtol=142 * 2.0**-23)


@pytest.fixture
def routed(monkeypatch):
    """The shapes that reach rooftile.matmul."""
    seen = []

    def matmul(a, b):
        seen.append((a.shape, b.shape))
        return rt.matmul(a, b)

    monkeypatch.setattr(patching, "matmul", matmul)
    return seen


def test_large_products_are_routed_and_only_within_the_block(routed):
    with rt.numpy_patch() as patch:
        close(numpy.matmul(A, B))
        close(numpy.dot(A, B))
        close(numpy.matmul(B.T, A.T).T)
        assert patch.products == len(routed) == 3 and routed[2] == ((150, 140), (140, 130))
        close(A @ B)
        close((B.T @ A.T).T)
        assert patch.products == len(routed) == (5 if OPERATOR else 3)
    assert numpy.matmul is MATMUL and numpy.dot is DOT
    close(numpy.matmul(A, B))
    close(A @ B)
    assert len(routed) == (5 if OPERATOR else 3)


def test_other_products_stay_numpy_s(routed):
    with rt.numpy_patch() as patch:
        out = numpy.empty((130, 150), "float32")
        for product in (lambda: A[:9] @ B, lambda: A.astype(float) @ B, lambda: A[None] @ B, lambda: A @ B[:, 0], lambda: A[0] @ B,
                        lambda: numpy.matmul(A, B, out=out), lambda: numpy.matmul(A, B, out), lambda: numpy.dot(A, 2),
                        lambda: A.view(numpy.matrix) @ B, lambda: numpy.matmul(A.tolist(), B), lambda: A.astype(int) @ B.astype(int)):
            product()
        with pytest.raises(ValueError, match="mismatch"):
            A @ A
        with pytest.raises(ValueError):
            numpy.dot(A, A)
        close(out)
        assert numpy.matmul.signature == "(n?,k),(k,m?)->(n?,m?)" and numpy.matmul.nin == 2
    assert patch.products == 0 and routed == []


def test_blocks_are_nested_and_end_with_exceptions(routed):
    with rt.numpy_patch(least=10**9) as outer:
        numpy.matmul(A, B)
        with pytest.raises(KeyError), rt.numpy_patch(least=1) as inner:
            numpy.matmul(A[:2], B)
            raise KeyError
        numpy.matmul(A, B)
    assert (outer.products, inner.products, len(routed)) == (1, 1, 1)
    assert numpy.matmul is MATMUL and A @ B is not None and len(routed) == 1


def test_all_threads_are_routed():
    with rt.numpy_patch() as patch:
        threads = [threading.Thread(target=lambda: close(numpy.matmul(A, B))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert patch.products == 3


def test_without_a_setting_for_the_operator_functions_are_routed_and_a_warning_says_so(monkeypatch):
    monkeypatch.delattr(numpy, "set_numeric_ops", raising=False)
    with pytest.warns(RuntimeWarning, match="only numpy.matmul and numpy.dot"), rt.numpy_patch() as patch:
        close(A @ B)
        assert patch.products == 0
        close(numpy.matmul(A, B))
        assert patch.products == 1
    assert numpy.matmul is MATMUL


@pytest.mark.skipif(not OPERATOR, reason="the warning is due")
def test_nothing_else_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with rt.numpy_patch():
            close(A @ B)
