"""Weights that are quantised, or packed for the device, as objects that matmul takes as its right-hand operand."""
import ctypes
import os
import weakref
from typing import Any, Callable, Dict, Optional, Tuple

from . import _abi
from ._abi import BF16, F16, F32, TYPE_NAMES
from ._library import check, library
from ._shapes import size_of, text
from ._views import NotCopied, View, view_of

_BLOCK_SIZES = (16, 32, 64, 128, 256)


def _length(name: str, view: View, needed: int) -> None:
    if view.nbytes != needed:
        raise ValueError(f"{name} has {view.nbytes} bytes; {needed} are needed")


def check_blocks(bits: int, block: int) -> None:
    """Errors: ValueError where no kernel reads values of so many bits in such blocks."""
    if bits not in (4, 8):
        raise ValueError(f"bits is {bits!r}; it is 4 or 8")
    if block not in _BLOCK_SIZES:
        raise ValueError(f"block is {block!r}; it is one of {', '.join(map(str, _BLOCK_SIZES))}")


def _flat(x: Any, name: str) -> View:
    """Memory of any integers or floats, side by side."""
    view = view_of(x, name, F16)
    return view.copied() if view.nbytes and _has_gaps(view) else view


def _has_gaps(view: View) -> bool:
    step = view.itemsize
    for size, stride in zip(reversed(view.shape), reversed(view.strides)):
        if size != 1 and stride != step:
            return True
        step *= size
    return False


class Quantized:
    """A matrix of k x n quantised weights: n rows of blocks along k, as ONNX Runtime's MatMulNBits stores them (values, scales
    and zero points apart), or in the blocks of a GGUF file (format).

    values: n * ceil(k / block) * block * bits / 8 bytes. scales: n * ceil(k / block) numbers of the type of the left-hand
    operand. zero_points: None (the middle: 8 or 128), bytes (packed) or numbers of that type (float).
    experts: of a stack for matmul_grouped, how many such matrices lie one behind the other in each of the arrays.
    shape: (k, n), of a stack (experts, k, n). The arrays are not copied and must stay as they are. Threads may share it.

    Errors: ValueError for lengths that do not fit, TypeError for types. Scales that are NaN are refused by matmul.

    >>> import numpy, rooftile
    >>> values = numpy.full((1, 8), 0x99, dtype="uint8")  # 16 values of 4 bits, each 9, which is 1 above the middle
    >>> w = Quantized(values, numpy.ones((1, 1), "float32"), k=16, n=1, bits=4, block=16)
    >>> rooftile.matmul(numpy.ones((2, 16), "float32"), w)
    array([[16.],
           [16.]], dtype=float32)
    """

    def __init__(self, values: Any, scales: Any = None, zero_points: Any = None, *, k: int, n: int, bits: int = 0, block: int = 0,
                 format: Optional[str] = None, experts: Optional[int] = None) -> None:
        matrix = (size_of("k", k, 1), size_of("n", n, 1))
        self.shape: Tuple[int, ...] = matrix if experts is None else (size_of("experts", experts, 1), *matrix)
        k, n = matrix
        rows = n * (experts or 1)
        self.bits, self.block, self.format = bits, block, format
        self._values = _flat(values, "values")
        self._scales: Optional[View] = None
        self._zero_points: Optional[View] = None
        self._zero_point = 0
        self._format = 0
        # What of it is on the device of a session: "values", "scales", "zero_points" as the package's memory objects.
        self.on_device: "weakref.WeakKeyDictionary[Any, Dict[str, Any]]" = weakref.WeakKeyDictionary()
        if format is not None:
            self._format = _abi.enumerator("format", _abi.BLOCK_FORMATS, format)
            if scales is not None or zero_points is not None:
                raise ValueError("scales and zero_points are in the blocks of a format; leave them out")
            elements, size = _abi.BLOCKS[format]
            _length("values", self._values, rows * -(-k // elements) * size)
            return
        check_blocks(bits, block)
        if scales is None:
            raise ValueError("scales are needed, unless format names the blocks of a GGUF file")
        blocks = -(-k // block)
        self._scales = view_of(scales, "scales")
        self._scales = _flat(scales, "scales")
        _length("values", self._values, rows * blocks * block * bits // 8)
        _length("scales", self._scales, rows * blocks * self._scales.itemsize)
        if zero_points is not None:
            self._set_zero_points(zero_points, rows, blocks)

    def _set_zero_points(self, zero_points: Any, n: int, blocks: int) -> None:
        assert self._scales is not None
        view = _flat(zero_points, "zero_points")
        if view.itemsize == 1:
            self._zero_point = 1
            _length("zero_points", view, n * -(-blocks * self.bits // 8))
        elif view.type == self._scales.type:
            self._zero_point = 2
            _length("zero_points", view, n * blocks * view.itemsize)
        else:
            raise TypeError(f"zero_points is {TYPE_NAMES[view.type]}; it is uint8 (packed), or {TYPE_NAMES[self._scales.type]} as "
                            "the scales are")
        self._zero_points = view

    @property
    def address(self) -> int:
        return self._values.address

    @property
    def scale_type(self) -> int:
        """The type of the left-hand operands: that of the scales, float32 for blocks of a GGUF file (which take others, too)."""
        return F32 if self._scales is None else self._scales.type

    def check_no_stack(self) -> None:
        """Errors: TypeError for a stack of experts (for the package's own use)."""
        if len(self.shape) > 2:
            raise TypeError(f"b is {text(self.shape)}, quantised weights of {self.shape[0]} experts, which matmul_grouped multiplies with")

    @property
    def nbytes(self) -> int:
        """Bytes of values, scales and zero points.

        >>> Quantized(bytes(34), k=32, n=1, format="q8_0").nbytes
        34
        """
        return sum(view.nbytes for view in self.parts().values())

    def parts(self) -> Dict[str, View]:
        """The memory of "values" and, where they lie apart, "scales" and "zero_points" (for the package's own use)."""
        all_parts = {"values": self._values, "scales": self._scales, "zero_points": self._zero_points}
        return {name: view for name, view in all_parts.items() if view is not None}

    def quantization(self, type_a: int) -> _abi.Quantization:
        """The C ABI's structure beside a left-hand operand of this type. Errors: TypeError."""
        if self._scales is not None and self._scales.type != type_a:
            raise TypeError(f"a is {TYPE_NAMES[type_a]} and the scales of b are {TYPE_NAMES[self._scales.type]}; both have to have "
                            "one type")
        if type_a not in (F32, F16, BF16):
            raise TypeError(f"a is {TYPE_NAMES[type_a]}; beside quantised weights it is float32, float16 or bfloat16")
        result = _abi.Quantization(bits=self.bits, block=self.block, zero_point=self._zero_point,
                                   values_bytes=self._values.nbytes, format=self._format)
        for name, view in (("scales", self._scales), ("zero_points", self._zero_points)):
            if view is not None:
                setattr(result, name, view.address)
                setattr(result, name + "_bytes", view.nbytes)
        return result

    def __repr__(self) -> str:
        what = self.format or f"{self.bits} bits, blocks of {self.block}"
        return f"<Quantized {text(self.shape)}, {what}>"


def _releasing(owner: Any, handle: ctypes.c_void_p) -> Callable[[], Any]:
    """Releases the device's memory when it is called or the owner goes, but not a parent's in a forked child."""
    process, release = os.getpid(), library().rooftile_packed_release
    return weakref.finalize(owner, lambda: release(handle) if os.getpid() == process else None)


class Packed(NotCopied):
    """A right-hand matrix that Session.pack has put on the device in the layouts that its kernels read.

    original: the array, which the host multiplies with where that is faster, or the device fails; its contents must stay as
    they are. A context manager that releases the device's memory. Threads may share it.
    """

    def __init__(self, original: Any, shape: Tuple[int, ...], handle: ctypes.c_void_p) -> None:
        self.original, self.shape, self._handle = original, shape, handle
        self._release = _releasing(self, handle)

    @property
    def handle(self) -> Optional[int]:
        return self._handle.value

    @property
    def device_bytes(self) -> int:
        """Memory of the device that it takes; 0 where no device computes with it."""
        info = _abi.PackedInfo()
        lib = library()
        check(lib, lib.rooftile_packed_query(self._handle, ctypes.addressof(info)))
        return int(info.device_bytes)

    def close(self) -> None:
        """Releases the device's memory. Later products use the original."""
        self._handle = ctypes.c_void_p()
        self._release()

    def __enter__(self) -> "Packed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PackedExperts(NotCopied):
    """The matrices of experts on a session's device, in the layout that its fastest kernel reads; made by Session.pack_experts for
    matmul_grouped with DeviceArrays.

    shape: (experts, k, n). A context manager that releases the device's memory. Threads may share it.
    """

    def __init__(self, session: Any, shape: Tuple[int, ...], kind: int, transposed: bool, handle: ctypes.c_void_p) -> None:
        self.session, self.shape, self.type, self.transposed, self._handle = session, shape, kind, transposed, handle
        self._release = _releasing(self, handle)

    @property
    def handle(self) -> int:
        """Errors: ValueError where it is closed."""
        if not self._handle:
            raise ValueError("b is closed")
        return self._handle.value or 0

    def close(self) -> None:
        """Releases the device's memory when the products that use it have ended."""
        self._handle = ctypes.c_void_p()
        self._release()

    def __enter__(self) -> "PackedExperts":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
