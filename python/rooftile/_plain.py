"""Plain float32 products of NumPy's matrices and vectors by a function of the library that reads the arrays itself: what a product
costs beside the multiplication."""
import ctypes
import functools
import math
import time
from typing import Any, Callable, TypeVar, cast

from . import _abi
from ._numpy_api import HEAD, empty_function

Multiply = Callable[[Any, Any, Any], Any]  # (a, b, out)
_General = TypeVar("_General", bound=Callable[..., Any])
_FASTCALL = 0x80


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _Module(str):
    """The name of a function's module. The function keeps it alive, and so what it needs itself."""

    needed: Any


def plain_first(general: _General) -> _General:
    """The method matmul, of which self._multiply may compute what has no options."""
    @functools.wraps(general)
    def matmul(self: Any, a: Any, b: Any, out: Any = None, **options: Any) -> Any:
        if not options:
            result = self._multiply(a, b, out)
            if result is not None:
                return result
        return general(self, a, b, out, **options)

    return cast(_General, matmul)


def leave(a: Any, b: Any, out: Any) -> Any:
    """What multiplies where only the general way can."""
    return None


class PlainProducts:
    """Of one context. multiply(a, b, out) returns a @ b, or None where only the general way can decide, or has an error to report.
    Thread-safe."""

    def __init__(self, library: ctypes.CDLL, context: ctypes.c_void_p, numpy: Any) -> None:
        self.multiply: Multiply = leave
        dtype = numpy.dtype("float32")
        self._known = known = _abi.NumpyArrays(context=context.value, type=id(numpy.ndarray), dtype=id(dtype), none=id(None), head=HEAD,
                                               empty=empty_function(numpy))
        if known.empty is None:
            return
        method = _Method(b"multiply", ctypes.cast(library.rooftile_numpy_product, ctypes.c_void_p), _FASTCALL)
        capsule, function = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCFunction_NewEx
        capsule.argtypes, capsule.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        function.argtypes, function.restype = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object], ctypes.py_object
        module = _Module(__name__)
        module.needed = (method, known, dtype)
        self.multiply = function(ctypes.addressof(method), capsule(ctypes.addressof(known), None, None), module)

    def stop(self) -> None:
        """Leaves later products to the general way."""
        self._known.context = None

    def wait(self, until: float = math.inf) -> None:
        """For running products, but no longer than until."""
        while self._known.running and time.monotonic() < until:
            time.sleep(0.001)

    def go_on(self, context: ctypes.c_void_p) -> None:
        """After stop."""
        self._known.context = context.value
