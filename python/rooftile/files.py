"""Quantised weights: made from arrays, and read from GGUF files through a memory map."""
import os
from typing import Any, Dict, Iterator, Mapping, Optional, Union

from . import _abi
from ._operands import array_of
from ._program import about, run
from ._result import numpy_module, numpy_type
from ._shapes import count, text
from ._views import check_no_mask, view_of
from .errors import Error
from .weights import Quantized, check_blocks

_Path = Union[str, "os.PathLike[str]"]
_PLAIN = {"F32": _abi.F32, "F16": _abi.F16, "BF16": _abi.BF16}


def _numpy() -> Any:
    numpy = numpy_module()
    if numpy is None:
        raise Error("this needs NumPy")
    return numpy


def _float32_matrix(weights: Any) -> Any:
    numpy = _numpy()
    check_no_mask(weights, "weights")
    weights = array_of(weights, "weights")
    if isinstance(weights, numpy.ndarray) or not hasattr(weights, "__dlpack__"):  # read-only arrays are not handed over
        matrix = numpy.asarray(weights)
    else:
        kind = view_of(weights, "weights").type
        if kind != _abi.F32:
            raise TypeError(f"weights is {_abi.TYPE_NAMES[kind]}; it has to be float32")
        matrix = numpy.from_dlpack(weights)
    if matrix.dtype != numpy.float32:
        raise TypeError(f"weights is {matrix.dtype}; it has to be float32")
    if matrix.ndim not in (2, 3):
        raise ValueError(f"weights has {matrix.ndim} dimensions; a matrix has two, and the matrices of experts have three")
    if matrix.size == 0:
        raise ValueError(f"weights is {text(matrix.shape)}: there is nothing to quantise")
    return matrix


def quantize(weights: Any, bits: int = 4, block: int = 32, zero_points: str = "none", dtype: Any = "float32",
             format: Optional[str] = None) -> Quantized:
    """Quantises a k x n matrix of float32, for `matmul(x, quantize(weights))`, or experts x k x n for matmul_grouped.

    bits: 4 or 8. block: values along k that share a scale: 16, 32, 64, 128 or 256. zero_points: "none", "packed" or "float".
    dtype: float32 or float16, the type of the scales and of the left-hand operands. format: instead of these, the blocks of a
    GGUF file: "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k" to "q6_k", "iq4_nl", "iq4_xs", "mxfp4" or "nvfp4".

    The program `rooftile quantize` does it. Errors: TypeError, ValueError (also for weights that are not finite, and for a k
    that is not a multiple of the format's block), Error without NumPy or the program.

    >>> import numpy, rooftile
    >>> w = quantize(numpy.arange(64, dtype="float32").reshape(32, 2) / 16, bits=8)
    >>> w
    <Quantized 32 x 2, 8 bits, blocks of 32>
    >>> bool(abs(rooftile.matmul(numpy.ones((1, 32), "float32"), w) - [[62, 64]]).max() < 0.5)
    True
    """
    import tempfile
    matrix, numpy = _float32_matrix(weights), _numpy()
    experts = len(matrix) if matrix.ndim == 3 else None
    *_, k, n = matrix.shape
    if experts is not None:  # as rows of one matrix, one behind the other
        matrix = numpy.ascontiguousarray(matrix.swapaxes(1, 2)).reshape(experts * n, k).T
    _abi.enumerator("zero_points", _abi.ZERO_POINTS, zero_points)
    by_columns = matrix.flags.f_contiguous and not matrix.flags.c_contiguous
    if format is not None:
        _abi.enumerator("format", _abi.BLOCK_FORMATS, format)
        elements, _ = _abi.BLOCKS[format]
        if k % elements:
            raise ValueError(f"weights has k = {k}; {format} has blocks of {elements} values along k, and only whole ones are made")
        options = ["--format", format]
    else:
        check_blocks(bits, block)
        kind = _abi.TYPE_NAMES[_half_or_single(dtype)]
        options = ["--bits", str(bits), "--block", str(block), "--zero-points", zero_points, "--type",
                   {"float32": "f32", "float16": "f16"}[kind]]
    with tempfile.TemporaryDirectory() as folder:
        source, prefix = os.path.join(folder, "weights.npy"), os.path.join(folder, "quantised")
        numpy.save(source, numpy.ascontiguousarray(matrix.T if by_columns else matrix))
        try:
            run("quantize", source, "-o", prefix, *options, *(["--trans"] if by_columns else []))
        except Error as error:
            raise about("weights", source, error) from None
        if format is not None:
            with open(prefix + ".gguf", "rb") as file:
                content = file.read()
            (tensor,) = _tensors(prefix + ".gguf").values()
            return Quantized(content[tensor["offset"]:tensor["offset"] + tensor["bytes"]], k=k, n=n, format=format,
                             experts=experts)
        parts = [numpy.load(f"{prefix}.{part}.npy") for part in ("values", "scales", "zero_points")
                 if os.path.exists(f"{prefix}.{part}.npy")]
    return Quantized(*parts, k=k, n=n, bits=bits, block=block, experts=experts)


def _half_or_single(dtype: Any) -> int:
    from ._views import type_of
    return type_of("dtype", dtype, (_abi.F32, _abi.F16))


def _tensors(path: str) -> Dict[str, Dict[str, Any]]:
    import json  # here and below: importing the package takes less time without
    listed = json.loads(run("gguf", "--json", "--", path))
    return {tensor["name"]: tensor for tensor in listed["tensors"]}


class GgufFile(Mapping[str, Any]):
    """The tensors of a GGUF file by name, where they lie in the mapped file: nothing is read before it is used.

    A tensor is what `matmul(x, tensor)` takes: k x n for the n x k weights of a layer; one of three dimensions is what
    matmul_grouped takes, experts x k x n. Quantised formats are Quantized; F32 and F16
    are NumPy arrays, and so is BF16, as uint16 that matmul knows as bfloat16. Others raise a KeyError that says so. The program `rooftile gguf` checks the
    file. Errors: Error for a damaged or missing file.
    """

    def __init__(self, path: _Path) -> None:
        import mmap
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path is a {type(path).__name__}; it is text")
        self._path = os.fspath(path)
        self._listed = _tensors(self._path)
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __getitem__(self, name: str) -> Any:
        if name not in self._listed:
            import difflib
            similar = ", ".join(difflib.get_close_matches(str(name), self._listed, 5))
            raise KeyError(f"{self._path} has no tensor {name!r}{'; similar: ' + similar if similar else ''}")
        tensor = self._listed[name]
        shape = tensor["shape"]
        *stack, n, k = [1] * (2 - len(shape)) + shape
        experts = count(tuple(stack)) if stack else None
        memory = memoryview(self._map)[tensor["offset"]:tensor["offset"] + tensor["bytes"]]
        word = tensor["format"].lower()
        if word in _abi.BLOCK_FORMATS:
            return Quantized(memory, k=k, n=n, format=word, experts=experts)
        if tensor["format"] in _PLAIN:
            return _numpy().frombuffer(memory, numpy_type(_PLAIN[tensor["format"]], None)).reshape(*stack, n, k).swapaxes(-1, -2)
        raise KeyError(f"{name} is {tensor['format']}, which is not read")
