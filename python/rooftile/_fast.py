"""Plain float32 products of NumPy matrices with prepared arguments: what a product costs beside the multiplication.

Most products repeat the shapes of an earlier one. For these the structure of rooftile_sgemm is made once, and then only its three
pointers are set. A structure belongs to one product at a time: list.pop and list.append are atomic, also between threads,
signal handlers and the products that these make.
"""
import ctypes
import time
from ctypes import addressof, c_char
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _abi
from ._layout import as_stored
from ._views import view_of

_MOST_PLANS = 1024
_Prepared = Tuple[_abi.SgemmArgs, int]


class _Plan:
    """Prepared arguments of products of these shapes and strides."""

    def __init__(self, args: _abi.SgemmArgs, shape: Tuple[int, int]) -> None:
        self.shape, self._first = shape, args
        self.free: List[_Prepared] = [(args, addressof(args))]
        self._made: List[None] = [None]  # one for each structure, because += is not atomic

    def another(self) -> _Prepared:
        """For a product that begins while others have all structures."""
        args = _abi.SgemmArgs.from_buffer_copy(self._first)
        self._made.append(None)
        return args, addressof(args)

    def wait(self) -> None:
        """Until no product has a structure."""
        while len(self.free) < len(self._made):
            time.sleep(0.001)


def _plan(a: Any, b: Any) -> Optional[_Plan]:
    """None where only the general way can decide, or has an error to report."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or 0 in a.shape or 0 in b.shape:
        return None
    x, y = as_stored(view_of(a, "a")), as_stored(view_of(b, "b"))
    if x is None or y is None:
        return None
    (m, k), n = a.shape, b.shape[1]
    return _Plan(_abi.SgemmArgs(m=m, n=n, k=k, alpha=1, lda=x.ld, ldb=y.ld, ldc=n, trans_a=int(x.by_columns),
                                trans_b=int(y.by_columns)), (m, n))


class PlainProducts:
    """Of one context. Thread-safe."""

    def __init__(self, library: ctypes.CDLL, context: ctypes.c_void_p, numpy: Any) -> None:
        self._plans: Dict[Any, Optional[_Plan]] = {}
        self._open = [context.value]
        self.array = numpy.ndarray
        self.multiply = _multiply(library, self._plans, self._open, numpy)

    def close(self) -> None:
        """Waits for running products; later ones are left to the general way."""
        self._open.clear()
        for plan in list(self._plans.values()):
            if plan is not None:
                plan.wait()


def _multiply(library: ctypes.CDLL, plans: Dict[Any, Optional[_Plan]], opened: List[Optional[int]],
              numpy: Any) -> Callable[[Any, Any, Any], Any]:
    float32, empty, sgemm, from_buffer = numpy.dtype("float32"), numpy.empty, library.rooftile_sgemm, c_char.from_buffer

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
        try:
            # These succeed for arrays in C order that may be written to, whose strides follow from their shapes.
            x, y = addressof(from_buffer(a)), addressof(from_buffer(b))
            key: Any = (a.shape, b.shape)
        except (TypeError, ValueError, BufferError):
            x, y = a.__array_interface__["data"][0], b.__array_interface__["data"][0]
            key = (a.shape, b.shape, a.strides, b.strides)
        try:
            plan = plans[key]
        except KeyError:
            plan = plan_of(key, a, b)
        if plan is None or (x | y) & 3:  # not aligned
            return None
        if out is None:
            out = empty(plan.shape, float32)
        elif out.dtype is not float32 or out.shape != plan.shape:
            return None
        try:
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
            # close() empties the list, and then waits for this structure.
            status = sgemm(opened[0], pointer)
        except IndexError:
            return None
        finally:
            plan.free.append(prepared)
        # The general way reports errors, with the names of the arguments.
        return out if status == 0 else None

    return multiply
