"""Plain float32 products of NumPy matrices and vectors with prepared arguments: what a product costs beside the multiplication.

Most products repeat the shapes of an earlier one. For these the structure of rooftile_sgemm is made once, and then only its three
pointers are set. A structure belongs to one product at a time: list.pop and list.append are atomic, also between threads,
signal handlers and the products that these make.
"""
import ctypes
import math
import sys
import time
from ctypes import addressof, c_char, c_ssize_t
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _abi
from ._call import promoted
from ._layout import as_stored
from ._views import view_of

_MOST_PLANS = 1024
_Prepared = Tuple[_abi.SgemmArgs, int]


class _Plan:
    """Prepared arguments of products of these shapes and strides."""

    def __init__(self, args: _abi.SgemmArgs, shape: Tuple[int, ...]) -> None:
        self.shape, self._first = shape, args
        self.free: List[_Prepared] = [(args, addressof(args))]
        self._made: List[None] = [None]  # one for each structure, because += is not atomic

    def another(self) -> _Prepared:
        """For a product that begins while others have all structures."""
        args = _abi.SgemmArgs.from_buffer_copy(self._first)
        self._made.append(None)
        return args, addressof(args)

    def wait(self, until: float) -> None:
        """Until no product has a structure, or until this time."""
        while len(self.free) < len(self._made) and time.monotonic() < until:
            time.sleep(0.001)


def _plan(a: Any, b: Any) -> Optional[_Plan]:
    """None where only the general way can decide, or has an error to report."""
    if (a.ndim, b.ndim) not in ((2, 2), (2, 1), (1, 2)) or a.shape[-1] != b.shape[0] or 0 in a.shape or 0 in b.shape:
        return None
    x, y = as_stored(promoted(view_of(a, "a"), "a", 0)), as_stored(promoted(view_of(b, "b"), "b", 1))
    if x is None or y is None:
        return None
    (m, k), n = x.view.shape, y.view.shape[1]
    return _Plan(_abi.SgemmArgs(m=m, n=n, k=k, alpha=1, lda=x.ld, ldb=y.ld, ldc=n, trans_a=int(x.by_columns),
                                trans_b=int(y.by_columns)), a.shape[:-1] + b.shape[1:])


# Where an ndarray has the address of its first element: behind what every object has, as extension modules are compiled to expect
# (PyArrayObject_fields in NumPy's C interface). Reading it takes 0.1 us; __array_interface__ takes 0.8 us.
_DATA = object.__basicsize__


def _data_is_there(numpy: Any) -> bool:
    """Whether this interpreter and this NumPy keep the address where we read it."""
    if sys.implementation.name != "cpython":
        return False
    arrays = [numpy.zeros((3, 2), "float32"), numpy.zeros((3, 2), "float32")[1:, 1:].T]
    return all(c_ssize_t.from_address(id(x) + _DATA).value == x.__array_interface__["data"][0] for x in arrays)


class PlainProducts:
    """Of one context. Thread-safe."""

    def __init__(self, library: ctypes.CDLL, context: ctypes.c_void_p, numpy: Any) -> None:
        self._plans: Dict[Any, Optional[_Plan]] = {}
        self._open = [context.value]
        self.array = numpy.ndarray
        self.multiply = _multiply(library, self._plans, self._open, numpy) if _data_is_there(numpy) else _leave

    def stop(self) -> None:
        """Leaves later products to the general way."""
        self._open.clear()

    def wait(self, until: float = math.inf) -> None:
        """For running products, but no longer than until."""
        for plan in list(self._plans.values()):
            if plan is not None:
                plan.wait(until)

    def go_on(self, context: ctypes.c_void_p) -> None:
        """After stop."""
        self._open[:] = [context.value]


def _leave(a: Any, b: Any, out: Any) -> Any:
    """Where only the general way can tell where arrays lie."""
    return None


def _multiply(library: ctypes.CDLL, plans: Dict[Any, Optional[_Plan]], opened: List[Optional[int]],
              numpy: Any) -> Callable[[Any, Any, Any], Any]:
    float32, empty, sgemm, from_buffer = numpy.dtype("float32"), numpy.empty, library.rooftile_sgemm, c_char.from_buffer
    data = c_ssize_t.from_address

    def plan_of(key: Any, a: Any, b: Any) -> Optional[_Plan]:
        if key in plans:
            return plans[key]
        if len(plans) >= _MOST_PLANS:
            return None  # the general way is slower, but needs no memory
        plan = plans[key] = _plan(a, b)
        return plan

    def multiply(a: Any, b: Any, out: Any) -> Any:
        """a @ b for ndarrays (of no subclass), or None where only the general way can decide."""
        if a.dtype is not float32 or b.dtype is not float32:
            return None
        x, y = data(id(a) + _DATA).value, data(id(b) + _DATA).value
        key = (a.shape, b.shape, a.strides, b.strides)
        try:
            plan = plans[key]
        except KeyError:
            plan = plan_of(key, a, b)
        if plan is None or (x | y) & 3:  # not aligned
            return None
        if out is None:
            out = empty(plan.shape, float32)
            z = data(id(out) + _DATA).value
        elif out.dtype is not float32 or out.shape != plan.shape:
            return None
        else:
            try:
                # Succeeds where it is in C order and may be written to.
                z = addressof(from_buffer(out))
            except (TypeError, ValueError, BufferError):
                return None
        try:
            prepared = plan.free.pop()
        except IndexError:
            prepared = plan.another()
        args, pointer = prepared
        args.a, args.b, args.c = x, y, z
        try:
            # stop() empties the list, and wait() waits for this structure.
            status = sgemm(opened[0], pointer)
        except IndexError:
            return None
        finally:
            plan.free.append(prepared)
        # The general way reports errors, with the names of the arguments.
        return out if status == 0 else None

    return multiply
