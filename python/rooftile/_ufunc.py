"""The loop that numpy.matmul runs for float32, and with it `@`: exchanged by NumPy's C interface, for the whole process."""
import ctypes
import importlib
from typing import Any, Optional

# Of NumPy's enumerated types, and of the table of functions of its ufunc C API, which extension modules are compiled against.
_FLOAT32, _REPLACE_LOOP = 11, 30


def replace_loop(numpy: Any, loop: int) -> Optional[int]:
    """Gives numpy.matmul this loop for float32, and returns the address of the one it had; None where NumPy refuses."""
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):  # the latter before NumPy 2
        try:
            capsule = importlib.import_module(name)._UFUNC_API
            break
        except (ImportError, AttributeError):
            continue
    else:
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    table = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    replace = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(table[_REPLACE_LOOP])
    signature, before = (ctypes.c_int * 3)(_FLOAT32, _FLOAT32, _FLOAT32), ctypes.c_void_p()
    if replace(numpy.matmul, loop, ctypes.addressof(signature), ctypes.addressof(before)) != 0:
        return None
    return before.value
