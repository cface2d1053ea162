"""Routes NumPy's large float32 products to Rooftile, within a block and for the whole process."""
import atexit
import ctypes
import functools
import os
import threading
import warnings
from typing import Any, Callable, Dict, Optional, Tuple

from . import _abi
from ._default import default_session, matmul
from ._library import check, library
from ._numpy_api import replace_loop
from ._result import numpy_module
from ._shapes import size_of
from .errors import Error
from .session import Session

# Multiplications from which a product is routed: about 50 us on two cores. Below, what routing costs shows.
LARGE = 128**3


class _Routed:
    """What is in place of NumPy's functions while there is a patch."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.patches: Dict[int, "numpy_patch"] = {}
        self.dot: Any = None  # NumPy's own
        self.loop: Optional[int] = None  # NumPy's own of matmul, while ours is in its place
        self.session: Optional[Session] = None
        self.dots = 0  # products of numpy.dot that were routed

    def _dot(self, original: Any) -> Callable[..., Any]:
        numpy = numpy_module()
        assert numpy is not None
        array, float32, routed = numpy.ndarray, numpy.dtype("float32"), self

        def dot(*arguments: Any, **options: Any) -> Any:
            if len(arguments) == 2 and not options:
                a, b = arguments
                if type(a) is array and type(b) is array and a.dtype is float32 and b.dtype is float32 and a.ndim == b.ndim == 2:
                    (m, k), (rows, n) = a.shape, b.shape
                    if k == rows and m > 1 and n > 1 and m * n * k >= routed.least():
                        routed.dots += 1
                        return matmul(a, b)
            return original(*arguments, **options)

        return functools.update_wrapper(dot, original)

    def least(self) -> int:
        """Multiplications from which products are routed."""
        return min([patch.least for patch in list(self.patches.values())], default=2**62)

    def _route(self, session: Optional[Session]) -> Tuple[int, int]:
        """Tells the loop who computes; nobody but NumPy where there is no session. Returns how many products were routed, and how
        often the loop ran. Waits for the products of other threads."""
        products, calls = ctypes.c_int64(), ctypes.c_int64()
        args = _abi.NumpyArgs(original=self.loop, context=None if session is None else session.context.value,
                              least=min(self.least(), 2**62))
        lib = library()
        check(lib, lib.rooftile_numpy_route(ctypes.addressof(args), ctypes.addressof(products), ctypes.addressof(calls)))
        return products.value, calls.value

    def counted(self) -> int:
        """Products that were routed since the process began."""
        products = ctypes.c_int64()
        lib = library()
        check(lib, lib.rooftile_numpy_route(None, ctypes.addressof(products), None))
        return self.dots + products.value

    def _begin_loop(self, numpy: Any) -> None:
        """Puts our loop in the place of NumPy's, and sees whether products run through it."""
        ours = ctypes.cast(library().rooftile_numpy_matmul, ctypes.c_void_p).value
        assert ours is not None
        loop = self.loop = replace_loop(numpy, ours)
        if loop is not None:
            before = self._route(None)[1]
            one = numpy.ones((1, 1), "float32")
            _ = one @ one
            if self._route(self.session)[1] > before:
                return
            self._end_loop(numpy)
        warnings.warn("this NumPy does not let the loop of numpy.matmul be replaced: only numpy.dot is routed, not `@`",
                      RuntimeWarning, stacklevel=4)

    def _end_loop(self, numpy: Any) -> None:
        assert self.loop is not None
        replace_loop(numpy, self.loop)
        self._route(None)
        self.loop = None

    def begin(self, patch: "numpy_patch") -> int:
        numpy = numpy_module()
        if numpy is None:
            raise Error("numpy_patch needs NumPy")
        session = default_session()  # opened here, so that its errors are, too
        with self.lock:
            self.patches[id(patch)] = patch
            if self.dot is None:
                self.session = session
                session.before_close = self.let_go
                self.dot = numpy.dot
                numpy.dot = self._dot(numpy.dot)
                try:
                    self._begin_loop(numpy)
                except BaseException:  # such as a warning that is an error
                    self.end(patch)
                    raise
            elif self.loop is not None:
                self._route(self.session)
            return self.counted()

    def end(self, patch: "numpy_patch") -> int:
        numpy = numpy_module()
        assert numpy is not None
        with self.lock:
            count = self.counted()
            del self.patches[id(patch)]
            if self.patches:
                if self.loop is not None:
                    self._route(self.session)  # with their `least`
                return count
            numpy.dot, self.dot = self.dot, None
            if self.loop is not None:
                self._end_loop(numpy)
            self.let_go()
            return count

    def let_go(self) -> None:
        """Leaves the products to NumPy, before the session is closed."""
        with self.lock:
            session, self.session = self.session, None
            if session is not None:
                session.before_close = None
                if self.loop is not None:
                    self._route(None)

    def renew_lock(self) -> None:
        """In a forked child: the thread that held the lock is not there."""
        self.lock = threading.RLock()


_routed = _Routed()
os.register_at_fork(after_in_child=_routed.renew_lock)
# Runs before the sessions are closed. Daemon threads go on with NumPy's own loop.
atexit.register(_routed.let_go)


class numpy_patch:
    """A context manager: within the block, large products of float32 matrices are computed by Rooftile.

    Routed are `a @ b`, numpy.matmul with all its arguments, stacks of matrices, and numpy.dot(a, b) of plain arrays with two
    dimensions, with least = m * n * k or more multiplications a matrix, in every thread and inside other packages, such as
    scikit-learn: numpy.matmul stays the ufunc that it is, and gets another loop by NumPy's C interface. Not routed: other types,
    vectors, a matrix and its own transpose (NumPy computes half of it), rows that do not lie side by side, ndarray.dot, einsum,
    tensordot, numpy.linalg, and numpy.dot that a module has imported by name. The drop-in BLAS (`rooftile run`) routes all of
    these. A NumPy that does not let its loop be replaced is told of by a RuntimeWarning.

    products: number of products that were routed within the block. Blocks may be nested. Thread-safe.

    >>> import numpy
    >>> a, b = numpy.ones((200, 300), "float32"), numpy.ones((300, 200), "float32")
    >>> with numpy_patch() as patch:
    ...     c = a @ b
    >>> float(c[0, 0]), patch.products
    (300.0, 1)
    """

    def __init__(self, least: int = LARGE) -> None:
        self.least = size_of("least", least)
        self._begun: Optional[int] = None
        self._products = 0

    @property
    def products(self) -> int:
        return self._products if self._begun is None else _routed.counted() - self._begun

    def __enter__(self) -> "numpy_patch":
        if self._begun is not None:
            raise ValueError("the numpy_patch is in use; each block has one of its own")
        self._begun = _routed.begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._begun is not None:
            self._products = _routed.end(self) - self._begun
            self._begun = None
