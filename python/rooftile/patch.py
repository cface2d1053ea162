"""Routes NumPy's large float32 products to rooftile.matmul, within a block and for the whole process."""
import functools
import threading
import warnings
from typing import Any, Callable, Dict, Optional

from ._default import default_session, matmul
from ._result import numpy_module
from .errors import Error

# Multiplications from which a product is routed: about 50 us on two cores. Below, what routing costs shows.
LARGE = 128**3


class _Routed:
    """What is in place of NumPy's functions while there is a patch."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.patches: Dict[int, "numpy_patch"] = {}
        self.originals: Dict[str, Any] = {}
        self.operator: Any = None
        self.least = LARGE

    def function(self, original: Any) -> Callable[..., Any]:
        numpy = numpy_module()
        assert numpy is not None
        array, float32, routed = numpy.ndarray, numpy.dtype("float32"), self

        def product(*arguments: Any, **options: Any) -> Any:
            if len(arguments) == 2 and not options:
                a, b = arguments
                if type(a) is array and type(b) is array and a.dtype is float32 and b.dtype is float32 and a.ndim == b.ndim == 2:
                    (m, k), (rows, n) = a.shape, b.shape
                    if k == rows and m * n * k >= routed.least:
                        for patch in list(routed.patches.values()):
                            patch.products += 1
                        return matmul(a, b)
            return original(*arguments, **options)

        functools.update_wrapper(product, original)
        for name in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "reduce", "accumulate", "reduceat", "outer", "at"):
            if hasattr(original, name):
                setattr(product, name, getattr(original, name))
        return product

    def begin(self, patch: "numpy_patch") -> None:
        numpy = numpy_module()
        if numpy is None:
            raise Error("numpy_patch needs NumPy")
        default_session()  # opened here, so that its errors are, too
        with self.lock:
            self.patches[id(patch)] = patch
            self.least = min(p.least for p in self.patches.values())
            if self.originals:
                return
            self.originals = {name: getattr(numpy, name) for name in ("matmul", "dot")}
            for name, original in self.originals.items():
                setattr(numpy, name, self.function(original))
            self.operator = _set_operator(numpy, numpy.matmul)
            if self.operator is None:
                warnings.warn("this NumPy does not let `@` of arrays be replaced: only numpy.matmul and numpy.dot are routed",
                              RuntimeWarning, stacklevel=3)

    def end(self, patch: "numpy_patch") -> None:
        numpy = numpy_module()
        with self.lock:
            del self.patches[id(patch)]
            if self.patches:
                self.least = min(p.least for p in self.patches.values())
                return
            for name, original in self.originals.items():
                setattr(numpy, name, original)
            self.originals = {}
            if self.operator is not None:
                _set_operator(numpy, self.operator)
                self.operator = None


def _set_operator(numpy: Any, function: Any) -> Optional[Any]:
    """Sets what `@` of arrays calls, and returns what it called; None where NumPy (from 2.0 on) has no such setting."""
    set_numeric_ops = getattr(numpy, "set_numeric_ops", None)
    if set_numeric_ops is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return set_numeric_ops(matmul=function)["matmul"]


_routed = _Routed()


class numpy_patch:
    """A context manager: within the block, large products of two float32 matrices are computed by rooftile.matmul.

    Routed are `a @ b`, numpy.matmul(a, b) and numpy.dot(a, b) of plain arrays with two dimensions and least = m * n * k or more
    multiplications, in every thread and in code that looks the functions up in NumPy, as scikit-learn does. Not routed: other
    types, stacks, vectors, out=, ndarray.dot, einsum, tensordot and functions that a module has imported by name. From NumPy 2.0
    on `@` itself cannot be replaced, which a RuntimeWarning says. The drop-in BLAS (`rooftile run`) routes all of these.
    NumPy's warnings for overflow and invalid values are not given for routed products.

    products: number of products that were routed within the block. Blocks may be nested.

    >>> import numpy
    >>> a = numpy.ones((200, 200), "float32")
    >>> with numpy_patch() as patch:
    ...     c = numpy.matmul(a, a)
    >>> float(c[0, 0]), patch.products
    (200.0, 1)
    """

    def __init__(self, least: int = LARGE) -> None:
        self.least, self.products = int(least), 0

    def __enter__(self) -> "numpy_patch":
        _routed.begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        _routed.end(self)
