"""The operands a and b of a product as they are given, as memory of one type."""
import ctypes
from typing import Any, Optional, Tuple, Union

from ._abi import BF16, F16, F32, F64, I32, TYPE_NAMES
from ._result import numpy_module
from ._views import View, check_held, view_of
from .weights import Packed, Quantized

_FLOATS = (F32, F16, BF16)


def array_of(x: Any, name: str, kind: int = F32) -> Any:
    """An array of float32 (or float16, float64, or int32 of integers: kind) for a list or tuple of numbers; what holds arrays keeps their type;
    anything else as it is.

    Errors: TypeError for lists of other things, ValueError for rows of different lengths and for numbers beyond the type."""
    numpy = numpy_module()
    if not isinstance(x, (list, tuple)) or numpy is None:
        return x
    try:
        array = numpy.array(x)
        if array.dtype == object:  # integers beyond 64 bits, or no numbers
            if None not in array.flat:  # which would be NaN
                array = numpy.array(x, float)
    except OverflowError:
        raise ValueError(f"{name} has numbers beyond the range of float64") from None
    except ValueError as error:
        raise ValueError(f"{name} is a {type(x).__name__} that is no matrix: {error}") from None
    except TypeError:
        return array
    if array.dtype not in (numpy.dtype(int), numpy.dtype("uint64"), numpy.dtype(float)):  # what Python's numbers are to NumPy
        return array
    if kind == I32 and array.dtype.kind in "iu":
        if (array != array.astype("int32")).any():
            raise ValueError(f"{name} has integers beyond int32")
        return array.astype("int32")
    if kind == F64:
        return array.astype(float)
    with numpy.errstate(over="ignore"):
        rounded = array.astype("float16" if kind == F16 else "float32")
    if (numpy.isinf(rounded) & numpy.isfinite(array)).any():
        raise ValueError(f"{name} has numbers beyond the range of {rounded.dtype}")
    return rounded


def epilogue_type(kind: int) -> int:
    """The type of an epilogue's scales, bias and residual beside operands, or a result, of this type."""
    return F64 if kind == F64 else F32


def check_epilogue_type(name: str, held: int, kind: int) -> None:
    if held != kind:
        raise TypeError(f"{name} is {TYPE_NAMES[held]}, which is not {TYPE_NAMES[kind]}")


def values_of(x: Any, name: str, kind: int) -> View:
    """The memory of an array of this type or of a list of numbers. Errors: those of array_of and view_of, TypeError for another type."""
    view = view_of(array_of(x, name, kind), name)
    check_epilogue_type(name, view.type, kind)
    return view


def widened(view: View) -> Any:
    """The values of float16 or bfloat16 as a NumPy array of float32, which has all of them, laid out as they are.

    Errors: TypeError where NumPy is not installed."""
    numpy = numpy_module()
    if numpy is None:
        raise TypeError(f"{TYPE_NAMES[view.type]} beside another type needs NumPy")
    item = numpy.dtype("uint16" if view.type == BF16 else "float16")
    buffer = numpy.frombuffer((ctypes.c_char * item.itemsize).from_address(view.address), item) if view.nbytes else numpy.zeros(1, item)
    values = numpy.lib.stride_tricks.as_strided(buffer, view.shape, view.strides, writeable=False)
    if view.type == F16:
        return values.astype("float32")
    bits = values.astype("uint32")
    bits <<= 16
    return bits.view("float32")


def _in_float32(view: View, name: str) -> View:
    return view if view.type == F32 else view_of(widened(view), name)


def check_types(a: int, b: int) -> None:
    if a != b:
        raise TypeError(f"a is {TYPE_NAMES[a]} and b is {TYPE_NAMES[b]}; both have to have one type")


def differ(a: int, b: int) -> bool:
    """Whether both are multiplied as float32, being floats of different types."""
    return a != b and a in _FLOATS and b in _FLOATS


def _holds_float64(x: Any) -> bool:
    code = x.format if isinstance(x, memoryview) else str(getattr(x, "typecode", ""))  # of the module array
    return code[-1:] == "d" or str(getattr(x, "dtype", "")).endswith("float64")


def arrays_of(a: Any, b: Any) -> Tuple[Any, Any]:
    """Both, with lists of numbers as arrays: of float64 beside an array of that, else of float32. Errors: those of array_of."""
    kinds = [F64 if _holds_float64(other) else F32 for other in (b, a)]
    return array_of(a, "a", kinds[0]), array_of(b, "b", kinds[1])


def operand_views(a: Any, b: Any, dtype: Optional[int]) -> Tuple[View, Union[View, Quantized]]:
    """The memory of both, as float32 where they are floats of different types. dtype: what uint16 memory holds.

    Errors: those of operand_view, and TypeError for two other types."""
    packed = isinstance(b, Packed)
    b = b.original if packed else b
    a, b = arrays_of(a, b)
    va = view_of(a, "a", dtype)
    if isinstance(b, Quantized):
        check_held(va, "a", dtype)
        return va, b
    vb = view_of(b, "b", dtype)
    if dtype not in (None, va.type, vb.type):
        check_held(va, "a", dtype)
    if differ(va.type, vb.type) and not packed:
        va, vb = _in_float32(va, "a"), _in_float32(vb, "b")
    check_types(va.type, vb.type)
    return va, vb
