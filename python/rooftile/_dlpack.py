"""Arrays of other packages by DLPack (https://dmlc.github.io/dlpack): the consumer's side, without copies."""
import ctypes
from typing import Any, Dict, Tuple

from ._abi import BF16, F16, F32, F64, I8, I32, ITEM_SIZES, TYPE_NAMES, U8, check_type
from ._shapes import contiguous_strides

# DLDeviceType of memory that the processor can read: kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged.
_HOST_DEVICES = (1, 3, 11, 13)
# DLDataTypeCode and bits.
_TYPES: Dict[Tuple[int, int], int] = {(2, 32): F32, (2, 64): F64, (2, 16): F16, (4, 16): BF16, (0, 8): I8, (0, 32): I32, (1, 8): U8}


class _Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """DLManagedTensor"""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes, _capsule_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_set_capsule_name = ctypes.pythonapi.PyCapsule_SetName
_set_capsule_name.argtypes, _set_capsule_name.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_FRESH, _USED = b"dltensor", b"used_dltensor"  # PyCapsule_SetName keeps the address


class _Owner:
    """Calls the producer's deleter when nothing uses the memory any more."""

    def __init__(self, capsule: Any) -> None:
        self._address = _capsule_pointer(capsule, _FRESH)
        self.managed = _Managed.from_address(self._address)
        _set_capsule_name(capsule, _USED)

    def __del__(self) -> None:
        address = getattr(self, "_address", None)
        if address and self.managed.deleter:
            self.managed.deleter(address)


def from_dlpack(x: Any, name: str) -> Tuple[int, int, Tuple[int, ...], Tuple[int, ...], bool, Any]:
    """Address, type, shape, strides in bytes, whether it is read-only, and owner of an object with __dlpack__.

    Errors: TypeError for other types and memory of devices, ValueError where the producer refuses.
    """
    try:
        device = x.__dlpack_device__()
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{name} is a {type(x).__name__} that is not handed over: {error}") from None
    if int(device[0]) not in _HOST_DEVICES:
        raise TypeError(f"{name} lies on a device (DLPack's kind {int(device[0])}): move it to the processor's memory first")
    if getattr(x, "is_neg", bool)():  # PyTorch hands over the memory, whose signs are the other ones
        raise ValueError(f"{name} is a {type(x).__name__} with the negative bit, whose memory has other signs: give resolve_neg()")
    try:
        capsule = x.__dlpack__()
    except (BufferError, RuntimeError, ValueError) as error:
        held = str(getattr(x, "dtype", ""))
        if held and held.rsplit(".", 1)[-1] not in TYPE_NAMES:  # such as PyTorch's bool, which it does not hand over
            check_type(name, None, lambda: f"is {held}")
        raise ValueError(f"{name} is a {type(x).__name__} that is not handed over: {error}") from None
    try:
        owner = _Owner(capsule)
    except ValueError:
        raise TypeError(f"{name} is a {type(x).__name__} whose __dlpack__ returns no fresh capsule of DLPack") from None
    tensor = owner.managed.tensor
    held = getattr(x, "dtype", f"DLPack's type {tensor.code} with {tensor.bits} bits")
    kind = check_type(name, _TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None, lambda: f"is {held}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    size = ITEM_SIZES[kind]
    if tensor.strides:
        strides = tuple(tensor.strides[i] * size for i in range(tensor.ndim))
    else:
        strides = contiguous_strides(shape, size)
    return (tensor.data or 0) + tensor.byte_offset, kind, shape, strides, False, owner
