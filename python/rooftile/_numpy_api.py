"""NumPy's C interface, which extension modules are compiled against: the tables of its functions, and where its arrays have their
fields."""
import ctypes
import sys
from typing import Any, Optional

# Places in the tables of the array and of the ufunc interface, and one of NumPy's enumerated types.
_ABI, _EMPTY, _REPLACE_LOOP, _FLOAT32 = 0, 184, 30, 11
_ABI_VERSIONS = (0x01000009, 0x02000000)  # of NumPy 1 and 2
_FLAGS = 0x501  # by rows without gaps, aligned, writeable
HEAD = object.__basicsize__  # sizeof(PyObject)


class Fields(ctypes.Structure):
    """PyArrayObject_fields behind the head."""

    _fields_ = [("data", ctypes.c_ssize_t), ("ndim", ctypes.c_int), ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
                ("strides", ctypes.POINTER(ctypes.c_ssize_t)), ("base", ctypes.c_void_p), ("dtype", ctypes.c_void_p),
                ("flags", ctypes.c_int)]


def _table(name: str) -> Any:
    """The addresses of an interface's functions, or None where this NumPy has no such interface."""
    # Looked up, because a child that is forked while a thread imports a module waits for ever where it imports it, too.
    module = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get("numpy.core._multiarray_umath")  # the latter before NumPy 2
    capsule = getattr(module, name, None)
    if capsule is None:
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def replace_loop(numpy: Any, loop: int) -> Optional[int]:
    """Gives numpy.matmul, and with it `@`, this loop for float32 in the whole process, and returns the address of the one it had; None
    where NumPy refuses."""
    table = _table("_UFUNC_API")
    if table is None:
        return None
    replace = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(table[_REPLACE_LOOP])
    signature, before = (ctypes.c_int * 3)(_FLOAT32, _FLOAT32, _FLOAT32), ctypes.c_void_p()
    if replace(numpy.matmul, loop, ctypes.addressof(signature), ctypes.addressof(before)) != 0:
        return None
    return before.value


def _has(fields: Fields, x: Any) -> bool:
    known = x.__array_interface__
    return bool(fields.data == known["data"][0] and fields.ndim == x.ndim and fields.dtype == id(x.dtype)
                and tuple(fields.shape[:x.ndim]) == x.shape and tuple(fields.strides[:x.ndim]) == x.strides
                and fields.flags & _FLAGS == x.flags.num & _FLAGS)


def empty_function(numpy: Any) -> Optional[int]:
    """The address of PyArray_Empty; None where this interpreter or this NumPy does not keep the fields of arrays as we know them, or
    threads run without the interpreter's lock, which guards them."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    table = _table("_ARRAY_API")
    if table is None or ctypes.CFUNCTYPE(ctypes.c_uint)(table[_ABI])() not in _ABI_VERSIONS:
        return None
    first = numpy.zeros((3, 2), "float32")
    fixed = first[1:, 1:].T
    fixed.flags.writeable = False
    if numpy.ndarray.__basicsize__ < HEAD + ctypes.sizeof(Fields) or not all(
            _has(Fields.from_address(id(x) + HEAD), x) for x in (first, fixed, first[0])):
        return None
    return int(table[_EMPTY])
