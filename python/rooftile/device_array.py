"""Arrays in the device's memory, and products of them that are collected and run together."""
import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Union

from . import _abi
from ._abi import ITEM_SIZES, TYPE_NAMES
from ._library import check, library
from ._result import numpy_module, numpy_type
from ._shapes import Shape, broadcast, contiguous_strides, count, repeated_strides, single_stride, text
from ._views import type_of, view_of
from .epilogue import Epilogue, epilogue_of
from .errors import Error

if TYPE_CHECKING:
    from ._call import Options
    from .session import Session

# Products that are collected before they are run, which bounds the memory of results that nobody reads.
_MOST_COLLECTED = 64


class Memory:
    """A buffer of the device, released with the last array that uses it."""

    def __init__(self, context: ctypes.c_void_p, nbytes: int) -> None:
        self._library = library()
        self.handle = ctypes.c_void_p()
        check(self._library, self._library.rooftile_buffer_create(context, max(nbytes, 1), ctypes.addressof(self.handle)))
        # Also when the interpreter ends: the device's background work is then waited for, which must not be left to the exit
        # handlers of C, because the driver's own may come first.
        weakref.finalize(self, self._library.rooftile_buffer_release, self.handle)


class Collected:
    """The products of a session that are not run yet. Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._list: Optional[ctypes.c_void_p] = None
        self._count = 0

    def add(self, context: ctypes.c_void_p, args: _abi.GemmArgs, operands: _abi.ResidentOperands) -> None:
        lib = library()
        with self.lock:
            if self._list is None:
                fresh = ctypes.c_void_p()
                check(lib, lib.rooftile_list_create(context, ctypes.addressof(fresh)))
                self._list, self._count = fresh, 0
            check(lib, lib.rooftile_list_gemm(self._list, ctypes.addressof(args), ctypes.addressof(operands)))
            self._count += 1
            if self._count >= _MOST_COLLECTED:
                self.run()

    def run(self) -> None:
        """Submits what was collected. Errors: those of the device; the products are then lost."""
        lib = library()
        with self.lock:
            collected, self._list = self._list, None
            if collected is not None:
                try:
                    check(lib, lib.rooftile_list_run(collected, None))
                finally:
                    lib.rooftile_list_release(collected)

    def drop(self) -> None:
        with self.lock:
            collected, self._list = self._list, None
            if collected is not None:
                library().rooftile_list_release(collected)


class DeviceArray:
    """An array in the memory of a session's device (by default rooftile.matmul's).

    x: anything that matmul takes, which is copied to the device. Products of DeviceArrays, with `@` or matmul, are DeviceArrays
    as well: they are collected, and run in one submission when one of them is read or 64 are there. numpy() (also
    numpy.asarray, and __dlpack__ for torch.from_dlpack) waits and copies to the processor's memory. Arrays are immutable but for
    `out`. Threads may share them.

    Errors: those of matmul, MemoryError, and Error without a Vulkan device. Errors of a device that fails are reported when a
    result is read.

    >>> import numpy
    >>> x = DeviceArray(numpy.arange(6, dtype="float32").reshape(2, 3))
    >>> y = x @ x.T
    >>> (y @ x).numpy()
    array([[ 42.,  61.,  80.],
           [150., 214., 278.]], dtype=float32)
    """

    def __init__(self, x: Any, session: Optional["Session"] = None, dtype: Any = None) -> None:
        if session is None:
            from ._default import default_session
            session = default_session()
        view = view_of(x, "x", None if dtype is None else type_of("dtype", dtype))
        if view.strides != contiguous_strides(view.shape, view.itemsize):
            view = view.copied()
        self._set(session, view.type, view.shape, Memory(session.context, view.nbytes), False)
        if view.nbytes:
            lib = library()
            check(lib, lib.rooftile_buffer_upload(self.memory.handle, 0, view.address, view.nbytes))

    def _set(self, session: "Session", kind: int, shape: Shape, memory: Memory, transposed: bool) -> None:
        self.session, self.type, self._stored, self.memory, self._transposed = session, kind, shape, memory, transposed

    @classmethod
    def empty(cls, session: "Session", shape: Shape, kind: int) -> "DeviceArray":
        """Memory without content (for the package's own use)."""
        array = cls.__new__(cls)
        array._set(session, kind, shape, Memory(session.context, count(shape) * ITEM_SIZES[kind]), False)
        return array

    @property
    def shape(self) -> Shape:
        return (*self._stored[:-2], self._stored[-1], self._stored[-2]) if self._transposed else self._stored

    @property
    def dtype(self) -> str:
        return TYPE_NAMES[self.type]

    @property
    def nbytes(self) -> int:
        return count(self._stored) * ITEM_SIZES[self.type]

    @property
    def T(self) -> "DeviceArray":
        """The transpose of each matrix; the same memory."""
        if len(self._stored) < 2:
            return self
        other = DeviceArray.__new__(DeviceArray)
        other._set(self.session, self.type, self._stored, self.memory, not self._transposed)
        return other

    @property
    def stored(self) -> Tuple[Shape, bool]:
        """The shape in memory, in C order, and whether the array is its transpose."""
        return self._stored, self._transposed

    def numpy(self) -> Any:
        """A copy in the processor's memory; bfloat16 as uint16. Runs what was collected, and waits."""
        numpy = numpy_module()
        if numpy is None:
            raise Error("numpy() needs NumPy")
        array = numpy.empty(self._stored, numpy_type(self.type, None))
        self.session.collected.run()
        if array.nbytes:
            lib = library()
            check(lib, lib.rooftile_buffer_download(self.memory.handle, 0, array.ctypes.data, array.nbytes))
        return array.swapaxes(-1, -2) if self._transposed else array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**{name: value for name, value in options.items() if value is not None})

    def __matmul__(self, other: Any) -> "DeviceArray":
        result: DeviceArray = self.session.matmul(self, other)
        return result

    def __rmatmul__(self, other: Any) -> "DeviceArray":
        result: DeviceArray = self.session.matmul(other, self)
        return result

    # NumPy's arrays leave `array @ device_array` to __rmatmul__.
    __array_ufunc__ = None

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<DeviceArray {text(self.shape)}, {self.dtype}>"


def _on_device(session: "Session", x: Any, name: str, dtype: Any = None) -> DeviceArray:
    if isinstance(x, DeviceArray):
        if x.session is not session:
            raise ValueError(f"{name} belongs to another session")
        return x
    view_of(x, name, None if dtype is None else type_of("dtype", dtype))  # for the argument's name in errors
    return DeviceArray(x, session, dtype)


def _place(operands: _abi.ResidentOperands, name: str, array: DeviceArray) -> None:
    setattr(operands, name, _abi.Place(buffer=array.memory.handle, offset=0))


def _set_operand(args: _abi.GemmArgs, operands: _abi.ResidentOperands, name: str, array: DeviceArray, batch: Shape) -> None:
    stored, transposed = array.stored
    strides = repeated_strides(stored[:-2], tuple(s // ITEM_SIZES[array.type] for s in contiguous_strides(stored, ITEM_SIZES[array.type]))[:-2],
                               batch)
    stride = single_stride(batch, strides)
    if stride is None:
        raise ValueError(f"{name} is {text(array.shape)} and the batch {text(batch)}; on a device a batch is repeated as a whole")
    setattr(args, "ld" + name, max(stored[-1], 1))
    setattr(args, "stride_" + name, stride)
    if name != "c":
        setattr(args, "trans_" + name, int(transposed))
    _place(operands, name, array)


def _set_epilogue(session: "Session", args: _abi.GemmArgs, operands: _abi.ResidentOperands, o: "Options", shape: Shape,
                  keep: List[Any]) -> None:
    given: Epilogue = epilogue_of(o.epilogue)
    m, n = shape[-2:]
    after = _abi.Epilogue(activation=_abi.enumerator("epilogue", _abi.ACTIVATIONS, given.activation))
    wanted = (("row_scale", given.row_scale, (m,)), ("column_scale", given.column_scale, (n,)), ("bias", o.bias, (n,)),
              ("residual", given.residual, shape))
    for name, x, expected in wanted:
        if x is None:
            continue
        array = _on_device(session, x, name)
        if array.type != _abi.F32:
            raise TypeError(f"{name} is {array.dtype}; it has to be float32")
        if name == "bias":
            after.bias_kind = 1 if array.shape == (m, 1) and array.shape != (1, n) else 2
            expected = (m, 1) if after.bias_kind == 1 else (n,) if len(array.shape) == 1 else (1, n)
        if array.shape != expected or array.stored[1] and name == "residual":
            raise ValueError(f"{name} is {text(array.shape)}; it has to be {text(expected)}, in C order")
        if name == "residual":
            after.ld_residual, after.stride_residual = max(n, 1), m * n
        _place(operands, name, array)
        keep.append(array)
    if given.clamp is not None:
        after.clamp, (after.low, after.high) = 1, given.clamp
    if keep or given.activation != "none" or given.clamp is not None:
        args.epilogue = ctypes.addressof(after)
        keep.append(after)


def resident_product(session: "Session", a: Any, b: Any, out: Any, o: "Options") -> DeviceArray:
    """matmul where an operand is a DeviceArray. The others are copied to the device."""
    x, y = _on_device(session, a, "a", o.dtype), _on_device(session, b, "b", o.dtype)
    for name, array in (("a", x), ("b", y)):
        if len(array.shape) < 2:
            raise ValueError(f"{name} is {text(array.shape)}; on a device matrices have two dimensions or more")
    if x.type != y.type:
        raise TypeError(f"a is {x.dtype} and b is {y.dtype}; both have to have one type")
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"a is {text(x.shape)} and b is {text(y.shape)}: the inner sizes {x.shape[-1]} and {y.shape[-2]} differ")
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    if batch is None:
        raise ValueError(f"a is {text(x.shape)} and b is {text(y.shape)}: the batches do not fit")
    shape = (*batch, x.shape[-2], y.shape[-1])
    target: Union[DeviceArray, None] = out if out is not None else o.c
    kind = type_of("dtype_out", o.dtype_out) if o.dtype_out is not None else target.type if isinstance(target, DeviceArray) else \
        _abi.I32 if x.type in (_abi.I8, _abi.U8) else x.type
    beta = o.beta if o.beta is not None else 0.0 if o.c is None else 1.0
    if o.c is not None and o.c is not out:
        raise ValueError("c is not out; on a device beta reads out")
    if out is None and beta != 0:
        raise ValueError("beta needs out to read from")
    if out is not None and not isinstance(out, DeviceArray):
        raise TypeError(f"out is a {type(out).__name__}; it has to be a DeviceArray as the operands are")
    result = DeviceArray.empty(session, shape, kind) if out is None else _on_device(session, out, "out")
    if result.shape != shape or result.type != kind or result.stored[1]:
        raise ValueError(f"out is {text(result.shape)}, {result.dtype}; the result is {text(shape)}, {TYPE_NAMES[kind]}, in C order")
    if 0 in shape:
        return result
    guard = _abi.Guard(precision=_abi.enumerator("precision", _abi.PRECISIONS, o.precision), kappa=o.kappa)
    args = _abi.GemmArgs(type=x.type, type_c=kind, m=shape[-2], n=shape[-1], k=x.shape[-1], batch=count(batch), alpha=o.alpha,
                         beta=beta, tier=_abi.enumerator("tier", _abi.TIERS, o.tier))
    if guard.precision or guard.kappa:
        args.guard = ctypes.addressof(guard)
    operands = _abi.ResidentOperands(struct_size=ctypes.sizeof(_abi.ResidentOperands))
    keep: List[Any] = [guard]
    for name, array in (("a", x), ("b", y), ("c", result)):
        _set_operand(args, operands, name, array, batch)
    after: List[Any] = []
    _set_epilogue(session, args, operands, o, shape, after)
    session.collected.add(session.context, args, operands)
    del keep, after
    return result
