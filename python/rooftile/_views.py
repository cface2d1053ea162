"""Memory of other packages' arrays: address, type, shape and strides, by the buffer protocol or DLPack, without copies."""
import ctypes
import math
import sys
from typing import Any, Dict, NoReturn, Optional, Sequence, Tuple

from ._abi import BF16, F16, F32, F64, I8, I32, ITEM_SIZES, TYPE_NAMES, U8, check_type
from ._dlpack import from_dlpack
from ._shapes import Shape, contiguous_strides

# Codes of the module struct; the "H" of uint16 counts only where the caller says which type it holds.
_FORMATS: Dict[str, int] = {"f": F32, "d": F64, "e": F16, "b": I8, "B": U8, "i": I32, **({"l": I32} if ctypes.sizeof(ctypes.c_long) == 4 else {})}

_STRIDES_AND_FORMAT, _WRITABLE = 0x1C, 0x1


class _PyBuffer(ctypes.Structure):
    """Py_buffer of CPython's stable ABI."""

    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
                ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p),
                ("shape", ctypes.POINTER(ctypes.c_ssize_t)), ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes, _get_buffer.restype = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int], ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes, _release_buffer.restype = [ctypes.c_void_p], None
_to_contiguous = ctypes.pythonapi.PyBuffer_ToContiguous
_to_contiguous.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_char]
_to_contiguous.restype = ctypes.c_int
_from_contiguous = ctypes.pythonapi.PyBuffer_FromContiguous
_from_contiguous.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_char]
_from_contiguous.restype = ctypes.c_int


class _Export:
    """A buffer that its exporter keeps where it is until this object goes."""

    buffer = _PyBuffer()  # holds nothing

    def __init__(self, x: Any, flags: int) -> None:
        self.buffer = _PyBuffer()
        _get_buffer(x, ctypes.addressof(self.buffer), flags)

    def __del__(self) -> None:
        if self.buffer.obj:  # the exporter, also where a signal handler ended __init__
            _release_buffer(ctypes.addressof(self.buffer))


class NotCopied:
    """Holds pointers: copies by the module copy, and pickled ones, would point to what the original frees, or free it, too."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{self._shown()} cannot be copied or pickled; it belongs to this process")

    def _shown(self) -> str:
        return f"a {type(self).__name__}"


class View(NotCopied):
    """Typed memory; strides are in bytes. owner keeps it alive."""

    __slots__ = ("address", "type", "shape", "strides", "readonly", "owner")

    def __init__(self, address: int, kind: int, shape: Shape, strides: Shape, readonly: bool, owner: Any) -> None:
        self.address, self.type, self.shape, self.strides = address, kind, shape, strides
        self.readonly, self.owner = readonly, owner

    def _shown(self) -> str:
        return "the memory of weights"

    @property
    def itemsize(self) -> int:
        return ITEM_SIZES[self.type]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.itemsize

    def reshaped(self, shape: Shape, strides: Shape) -> "View":
        return View(self.address, self.type, shape, strides, self.readonly, self.owner)

    def _py_buffer(self) -> Tuple[_PyBuffer, Any]:
        axes = len(self.shape)
        sizes, steps = (ctypes.c_ssize_t * max(axes, 1))(*self.shape), (ctypes.c_ssize_t * max(axes, 1))(*self.strides)
        pointer = ctypes.POINTER(ctypes.c_ssize_t)
        buffer = _PyBuffer(buf=self.address, len=self.nbytes, itemsize=self.itemsize, ndim=axes, format=None,
                           shape=ctypes.cast(sizes, pointer), strides=ctypes.cast(steps, pointer))
        return buffer, (sizes, steps)

    def copied(self) -> "View":
        """The same values without gaps, rows side by side."""
        memory = bytearray(max(self.nbytes, 1))
        copy = of_bytes(memory, self.type, self.shape)
        if self.nbytes:
            buffer, keep = self._py_buffer()
            _to_contiguous(copy.address, ctypes.addressof(buffer), self.nbytes, b"C")
            del keep
        return copy

    def fill_from(self, other: "View") -> None:
        """Copies the values of a view of the same type and shape, which may overlap."""
        if self.nbytes:
            source = other.copied()
            buffer, keep = self._py_buffer()
            _from_contiguous(ctypes.addressof(buffer), source.address, self.nbytes, b"C")
            del keep


def of_bytes(memory: bytearray, kind: int, shape: Shape) -> View:
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return View(address, kind, shape, contiguous_strides(shape, ITEM_SIZES[kind]), False, memory)


def type_of(argument: str, dtype: Any, legal: Sequence[int] = range(len(TYPE_NAMES))) -> int:
    """The element type of a name, a NumPy or PyTorch type, if it is legal. Errors: TypeError."""
    text = getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or str(dtype)
    text = text.rsplit(".", 1)[-1]
    names = [TYPE_NAMES[kind] for kind in legal]
    if text not in names:
        raise TypeError(f"{argument} is {dtype!r}; it is one of {', '.join(names)}")
    return TYPE_NAMES.index(text)


def _type_of_format(x: Any, name: str, text: str, dtype: Optional[int]) -> int:
    code = text[1:] if text[:1] in "@=" or (text[:1] == "<" and sys.byteorder == "little") else text
    if code == "H" and dtype in (F16, BF16):
        return dtype
    option = "dtype_out" if name in ("out", "c") else "dtype"
    hint = f"; say with {option}=\"bfloat16\" or {option}=\"float16\" what it holds" if code == "H" else ""
    return check_type(name, _FORMATS.get(code), lambda: _elements(x, text), hint)


def _elements(x: Any, text: str) -> str:
    """What an array holds, for messages: as NumPy names it, else as the module struct does."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return f"has elements of the format '{text}' (module struct)"
    return f"is {dtype}" if getattr(dtype, "isnative", True) else f"is {dtype.newbyteorder('=')} in the other byte order"


def _of_buffer(x: Any, name: str, dtype: Optional[int], writable: bool) -> View:
    try:
        export = _Export(x, _STRIDES_AND_FORMAT | (_WRITABLE if writable else 0))
    except (BufferError, ValueError) as error:
        if writable and _is_readonly(x):
            raise ValueError(f"{name} is read-only") from None
        raise TypeError(f"{name} is a {type(x).__name__} whose memory cannot be used: {error}") from None
    buffer = export.buffer
    kind = _type_of_format(x, name, (buffer.format or b"B").decode(), dtype)
    axes = range(buffer.ndim)
    shape = tuple(buffer.shape[i] for i in axes)
    # ctypes' arrays leave strides out, which then lie in C order.
    strides = tuple(buffer.strides[i] for i in axes) if buffer.strides else contiguous_strides(shape, ITEM_SIZES[kind])
    return View(buffer.buf or 0, kind, shape, strides, bool(buffer.readonly), export)


def _is_readonly(x: Any) -> bool:
    try:
        return memoryview(x).readonly
    except (TypeError, ValueError, BufferError):
        return False


def check_no_mask(x: Any, name: str) -> None:
    """Errors: TypeError for NumPy's masked arrays, of which the memory is only half."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, masked.MaskedArray):
        raise TypeError(f"{name} is a {type(x).__name__}, whose mask would be ignored; give its data or filled()")


def is_bfloat16(dtype: Any) -> bool:
    """Whether a NumPy type is that of ml_dtypes, which has no code in the buffer protocol, or our uint16 (_result.py)."""
    return dtype.type.__name__ == "bfloat16" or (dtype.metadata or {}).get("rooftile") == "bfloat16"


def view_of(x: Any, name: str, dtype: Optional[int] = None, writable: bool = False) -> View:
    """The memory of x.

    name: the argument, for messages. dtype: what the elements of a uint16 array are (F16 or BF16). writable: x is written to.
    Errors: TypeError for objects without memory and for other types, ValueError for read-only ones where writable.
    """
    numpy = sys.modules.get("numpy")
    exports = numpy is not None and isinstance(x, numpy.ndarray)
    check_no_mask(x, name)
    if exports and is_bfloat16(x.dtype):
        x, dtype = x.view("uint16"), BF16
    if not exports and not isinstance(x, (bytes, bytearray, memoryview)) and hasattr(x, "__dlpack__"):
        address, kind, shape, strides, readonly, owner = from_dlpack(x, name)
        view = View(address, kind, shape, strides, readonly, owner)
        if writable and readonly:
            raise ValueError(f"{name} is read-only")
        return view
    try:
        return _of_buffer(x, name, dtype, writable)
    except TypeError as error:
        if "bytes-like object is required" not in str(error):
            raise
        raise TypeError(f"{name} is a {type(x).__name__}, which is no array: it has neither the buffer protocol nor __dlpack__") from None


def operand_view(x: Any, name: str, dtype: Optional[int]) -> View:
    """The memory of an operand. Errors: those of view_of; TypeError where it is of another type than dtype, which converts nothing."""
    view = view_of(x, name, dtype)
    check_held(view, name, dtype)
    return view


def check_held(view: View, name: str, dtype: Optional[int]) -> None:
    """Errors: TypeError where the memory is of another type than dtype."""
    if dtype is not None and view.type != dtype:
        raise TypeError(f"{name} is {TYPE_NAMES[view.type]} and dtype {TYPE_NAMES[dtype]}; dtype says what uint16 memory holds, and "
                        "converts nothing")
