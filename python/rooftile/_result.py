"""Makes arrays for results: PyTorch's where A is PyTorch's, else NumPy's, else memoryviews where there is no NumPy."""
import sys
from typing import Any, Dict, Optional, Tuple

from ._abi import BF16, F16, F32, F64, I32, ITEM_SIZES, TYPE_NAMES
from ._shapes import Shape
from ._views import View, of_bytes, view_of

_numpy: Optional[Any] = None
_CODES: Dict[int, Any] = {F32: "f", F16: "H", BF16: "H", I32: "i", F64: "d"}  # mypy knows of some only


def numpy_module() -> Optional[Any]:
    """NumPy, imported at the first use, or None where it is not installed."""
    global _numpy
    if _numpy is None:
        try:
            import numpy
        except ImportError:
            return None
        _numpy = numpy
    return _numpy


def numpy_type(kind: int, like: Any) -> Any:
    """NumPy's type for the elements; bfloat16 is that of ml_dtypes where `like` uses it, else a uint16 that says so in its metadata,
    which views, slices and copies keep, and numpy.stack and numpy.concatenate do not."""
    if kind != BF16:
        return TYPE_NAMES[kind]
    extension = sys.modules.get("ml_dtypes")
    named = getattr(getattr(getattr(like, "dtype", None), "type", None), "__name__", "") == "bfloat16"
    if extension is not None and named:
        return extension.bfloat16
    numpy = numpy_module()
    assert numpy is not None
    return numpy.dtype("uint16", metadata={"rooftile": "bfloat16"})


def as_numpy_returns(result: Any) -> Any:
    """The number in place of a NumPy array without dimensions; a uint16 that holds a bfloat16 would be another number, and stays."""
    numpy = numpy_module()
    if numpy is None or not isinstance(result, numpy.ndarray) or result.ndim > 0 or result.dtype.metadata is not None:
        return result
    return result[()]


def new_result(shape: Shape, kind: int, like: Any) -> Tuple[Any, View]:
    """An array of that shape, and its memory. Errors: MemoryError."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        tensor = torch.empty(shape, dtype=getattr(torch, TYPE_NAMES[kind]))
        return tensor, view_of(tensor, "out")
    numpy = numpy_module()
    if numpy is not None:
        array = numpy.empty(shape, dtype=numpy_type(kind, like))
        return array, view_of(array, "out", kind)
    view = of_bytes(bytearray(max(1, _bytes(shape, kind))), kind, shape)
    if 0 in shape:
        raise ValueError(f"the result has a size of 0 ({shape}), which a memoryview cannot have: install NumPy, or give out")
    memory = memoryview(view.owner)
    return memory.cast("B").cast(_CODES[kind], shape), view


def _bytes(shape: Shape, kind: int) -> int:
    size = ITEM_SIZES[kind]
    for extent in shape:
        size *= extent
    return size
