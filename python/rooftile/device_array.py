"""Arrays in the device's memory, and products of them that are collected and run together."""
import ctypes
import threading
import weakref
from typing import Any, Callable, Optional, Protocol, Tuple

from . import _abi
from ._abi import ITEM_SIZES, TYPE_NAMES
from ._library import check, check_product, library
from ._operands import array_of
from ._result import numpy_module, numpy_type
from ._shapes import Shape, contiguous_strides, count, text
from ._views import NotCopied, View, of_bytes, operand_view, type_of
from .errors import Error

# Products that are collected before they are run, which bounds the memory of results that nobody reads.
_MOST_COLLECTED = 64


class Memory(NotCopied):
    """A buffer of the device, released with the last array that uses it."""

    def _shown(self) -> str:
        return "the memory of a DeviceArray"

    def __init__(self, context: ctypes.c_void_p, nbytes: int) -> None:
        self._library = library()
        self.handle = ctypes.c_void_p()
        check(self._library, self._library.rooftile_buffer_create(context, max(nbytes, 1), ctypes.addressof(self.handle)))
        # Also when the interpreter ends: the device's background work is then waited for, which must not be left to the exit
        # handlers of C, because the driver's own may come first.
        weakref.finalize(self, self._library.rooftile_buffer_release, self.handle)


class DeviceSession(Protocol):
    """What an array and its products need of the Session that they belong to, which itself makes arrays."""

    collected: "Collected"

    @property
    def context(self) -> ctypes.c_void_p: ...

    def matmul(self, a: Any, b: Any) -> Any: ...


# rooftile.default_session, set by its module.
default_session: Callable[[], DeviceSession]


def uploaded(session: DeviceSession, view: View) -> Memory:
    """The values of a view without gaps, on the session's device."""
    memory = Memory(session.context, view.nbytes)
    if view.nbytes:
        lib = library()
        check(lib, lib.rooftile_buffer_upload(memory.handle, 0, view.address, view.nbytes))
    return memory


class Collected:
    """The products of a session that are not run yet. Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._list: Optional[ctypes.c_void_p] = None
        self._count = 0

    def add(self, context: ctypes.c_void_p, function: str, *arguments: _abi.Structure) -> None:
        """function: rooftile_list_gemm or rooftile_list_grouped_gemm, which is given the list and these arguments."""
        lib = library()
        with self.lock:
            if self._list is None:
                fresh = ctypes.c_void_p()
                check(lib, lib.rooftile_list_create(context, ctypes.addressof(fresh)))
                self._list, self._count = fresh, 0
            check_product(lib, getattr(lib, function)(self._list, *map(ctypes.addressof, arguments)))
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

    session: Any  # a Session, which this module does not know

    def __init__(self, x: Any, session: Optional[DeviceSession] = None, dtype: Any = None) -> None:
        if session is None:
            session = default_session()
        view = operand_view(array_of(x, "x"), "x", None if dtype is None else type_of("dtype", dtype))
        if view.strides != contiguous_strides(view.shape, view.itemsize):
            view = view.copied()
        self._set(session, view.type, view.shape, uploaded(session, view), False)

    def _set(self, session: DeviceSession, kind: int, shape: Shape, memory: Memory, transposed: bool) -> None:
        self.session, self.type, self._stored, self.memory, self._transposed = session, kind, shape, memory, transposed

    @classmethod
    def empty(cls, session: DeviceSession, shape: Shape, kind: int) -> "DeviceArray":
        """Memory without content (for the package's own use)."""
        array = cls.__new__(cls)
        array._set(session, kind, shape, Memory(session.context, count(shape) * ITEM_SIZES[kind]), False)
        return array

    def fill_with_zeros(self) -> None:
        """For the package's own use."""
        if self.nbytes:
            lib, zeros = library(), of_bytes(bytearray(self.nbytes), self.type, self._stored)
            check(lib, lib.rooftile_buffer_upload(self.memory.handle, 0, zeros.address, self.nbytes))

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
        if copy is False:
            raise ValueError("a DeviceArray lies on a Vulkan device, and NumPy gets a copy of it only")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return 1, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        """A copy in the processor's memory. Errors: BufferError where it is asked for without a copy, or elsewhere."""
        if copy is False:
            raise BufferError("a DeviceArray lies on a Vulkan device, and is handed over as a copy only")
        if dl_device is not None and tuple(map(int, dl_device)) != self.__dlpack_device__():
            raise BufferError(f"a DeviceArray is handed over in the processor's memory, and not on the device {tuple(dl_device)}")
        return self.numpy().__dlpack__()

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
