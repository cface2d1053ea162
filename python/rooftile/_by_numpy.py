"""Products by NumPy, for machines where the library of a wheel cannot be loaded: another libc, or an older one.

Arguments are read, checked and laid out as for the library (_call.py, _grouped.py); what is here does with the finished structures what
rooftile_gemm and rooftile_grouped_gemm do on the host.
"""
import ctypes
import math
import os
import sys
import warnings
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

from . import _abi
from ._abi import BF16, F32, I8, I32, ITEM_SIZES, TYPE_NAMES, U8
from ._call import Call
from ._result import numpy_module
from .errors import INVALID_ARGUMENT, UNSUPPORTED, CannotBeLoaded, Error, InvalidArgument

_LONGEST_K = {I8: (2**31 - 1) // 128**2, U8: (2**31 - 1) // 255**2}  # Longer sums may overflow an int32.
_FLOAT64_FROM_KAPPA = 1000
_warned = False


def warn(error: CannotBeLoaded) -> None:
    """Tells once in a process who computes, and why."""
    global _warned
    if not _warned:
        _warned = True
        level, frame = 2, sys._getframe(1)
        while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
            level, frame = level + 1, frame.f_back
        warnings.warn(f"NumPy computes all products, because {error}", RuntimeWarning, stacklevel=level)


class _Part(NamedTuple):
    """Rows of the result that one matrix B gives: a member of a batch, or a group."""

    a: int
    b: int
    c: int
    rows: int
    first: int  # of the rows that the vectors and the residual of the epilogue belong to
    expert: int
    residual: int  # elements before the part's residual


def _types(numpy: Any, kind: int) -> Any:
    return numpy.dtype("uint16" if kind == BF16 else TYPE_NAMES[kind])


class _Product:
    def __init__(self, args: _abi.GemmArgs, groups: Optional[_abi.Groups]) -> None:
        self.args, self.groups = args, groups
        self.numpy: Any = numpy_module()
        self.after = _abi.Epilogue.from_address(args.epilogue) if args.epilogue else None
        guard = _abi.Guard.from_address(args.guard) if args.guard else _abi.Guard()
        if not guard.kappa >= 0:
            raise InvalidArgument(f"kappa is {guard.kappa}; condition numbers are 1 or more, and 0 means unknown", INVALID_ARGUMENT)
        # Sums of integers are exact in float64.
        exact = (args.type in _LONGEST_K or guard.precision >= _abi.PRECISIONS["high"] or guard.kappa >= _FLOAT64_FROM_KAPPA
                 or args.tier == _abi.TIERS["host64"])
        self.wide = self.numpy.dtype("float64" if exact else "float32")

    def check(self) -> None:
        """What the library refuses. Errors: InvalidArgument."""
        args = self.args
        longest = _LONGEST_K.get(args.type)
        if longest is not None and args.k > longest:
            raise InvalidArgument(f"k is {args.k}; sums of {TYPE_NAMES[args.type]} products may overflow beyond {longest}",
                                  INVALID_ARGUMENT)
        after = self.after
        if after is not None and after.clamp and not after.low <= after.high:
            raise InvalidArgument(f"the clamp's limits are {after.low:g} and {after.high:g}", INVALID_ARGUMENT)
        if args.type_c != I32:
            return
        for name, factor in (("alpha", args.alpha), ("beta", args.beta)):
            if factor not in (0, 1):
                raise InvalidArgument(f"{name} is {factor}; it is 0 or 1 where the result is int32", INVALID_ARGUMENT)
        if self.after is not None:
            raise InvalidArgument("an int32 result has no epilogue; float32, float16 and bfloat16 ones have", INVALID_ARGUMENT)

    def memory(self, address: int, rows: int, columns: int, ld: int, kind: int, transposed: bool) -> Any:
        """A matrix of the library's arguments as an array."""
        lines, length = (columns, rows) if transposed else (rows, columns)
        size = ITEM_SIZES[kind]
        elements = (lines - 1) * ld + length
        held = (ctypes.c_char * (elements * size)).from_address(address)
        flat = self.numpy.frombuffer(held, _types(self.numpy, kind))
        steps = (size, ld * size) if transposed else (ld * size, size)
        return self.numpy.lib.stride_tricks.as_strided(flat, (rows, columns), steps)

    def wider(self, array: Any, kind: int) -> Any:
        if kind == BF16:
            array = (array.astype("uint32") << 16).view("float32")
        return array.astype(self.wide, copy=False)

    def narrow(self, values: Any, kind: int) -> Any:
        """Rounded to the nearest value of the type."""
        if kind != BF16:
            return values.astype(TYPE_NAMES[kind])
        single = values.astype("float32")
        bits = single.view("uint32")
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return self.numpy.where(self.numpy.isnan(single), 0x7FC0, rounded).astype("uint16")

    def parts(self) -> Iterator[_Part]:
        args = self.args
        if self.groups is not None:
            yield from self._groups(self.groups)
            return
        for i in range(args.batch):
            a, b, c = (self._address(name, i) for name in "abc")
            yield _Part(a, b, c, args.m, 0, 0, i * (self.after.stride_residual if self.after is not None else 0))

    def _address(self, name: str, i: int) -> int:
        array = getattr(self.args, name + "_array")
        if array:
            return int((ctypes.c_void_p * (i + 1)).from_address(array)[i] or 0)
        size = ITEM_SIZES[self.args.type_c if name == "c" else self.args.type]
        first: int = getattr(self.args, name) or 0
        return first + i * int(getattr(self.args, "stride_" + name)) * size

    def _groups(self, groups: _abi.Groups) -> Iterator[_Part]:
        args, first = self.args, 0
        size, size_c = ITEM_SIZES[args.type], ITEM_SIZES[args.type_c]
        sizes = (ctypes.c_int64 * groups.count).from_address(groups.rows)
        experts: Any = range(groups.count)
        if groups.experts_of_groups:
            experts = (ctypes.c_int64 * groups.count).from_address(groups.experts_of_groups)
        for rows, expert in zip(sizes, experts):
            yield _Part((args.a or 0) + first * args.lda * size, (args.b or 0) + expert * args.stride_b * size,
                        args.c + first * args.ldc * size_c, rows, first, expert,
                        first * (self.after.ld_residual if self.after is not None else 0))
            first += rows

    def matrices(self, part: _Part) -> Tuple[Any, Any, Any]:
        """A and B (None where they are not read), and C."""
        args = self.args
        by_columns = bool(args.layout)
        c = self.memory(part.c, part.rows, args.n, args.ldc, args.type_c, by_columns)
        if args.k == 0:
            return None, None, c
        return (self.memory(part.a, part.rows, args.k, args.lda, args.type, bool(args.trans_a) != by_columns),
                self.memory(part.b, args.k, args.n, args.ldb, args.type, bool(args.trans_b) != by_columns), c)

    def vector(self, address: int, first: int, length: int) -> Any:
        return self.memory(address + 4 * first, 1, length, length, F32, False)[0]

    def residual(self, part: _Part) -> Any:
        assert self.after is not None
        return self.memory(self.after.residual + 4 * part.residual, part.rows, self.args.n, self.after.ld_residual, F32,
                           bool(self.args.layout))

    def compute(self, part: _Part) -> None:
        numpy, args = self.numpy, self.args
        a, b, c = self.matrices(part)
        if a is None or args.alpha == 0:
            y = numpy.zeros(c.shape, self.wide)
        else:
            y = numpy.matmul(self.wider(a, args.type), self.wider(b, args.type))
            if args.alpha != 1:
                y *= self.wide.type(args.alpha)
        after, columns = self.after, part.expert * (self.groups.stride_columns if self.groups is not None else 0)
        if after is not None and after.row_scale:
            y *= self.vector(after.row_scale, part.first, part.rows)[:, None]
        if after is not None and after.column_scale:
            y *= self.vector(after.column_scale, columns, args.n)
        if args.beta != 0:
            y += self.wide.type(args.beta) * self.wider(c, args.type_c)
        if after is not None:
            y = self.finished(y, after, part, columns)
        c[...] = self.narrow(y, args.type_c)

    def finished(self, y: Any, after: _abi.Epilogue, part: _Part, columns: int) -> Any:
        if after.bias_kind == 1:
            y += self.vector(after.bias, part.first, part.rows)[:, None]
        elif after.bias_kind == 2:
            y += self.vector(after.bias, columns, self.args.n)
        y = _activated(self.numpy, y, after.activation)
        if after.residual:
            y += self.residual(part)
        return self.numpy.clip(y, self.wide.type(after.low), self.wide.type(after.high)) if after.clamp else y

    def operands(self, part: _Part) -> List[Any]:
        """What C must not overlap."""
        a, b, _ = self.matrices(part)
        found = [array for array in (a, b) if array is not None]
        after = self.after
        if after is not None:
            m, n = self.args.m, self.args.n
            lengths = (("row_scale", m), ("column_scale", n), ("bias", m if after.bias_kind == 1 else n))
            found += [self.vector(getattr(after, name), 0, length) for name, length in lengths if getattr(after, name)]
            if after.residual:
                found.append(self.residual(part))
        return found

    def check_overlaps(self, parts: List[_Part]) -> None:
        results = [self.matrices(part)[2] for part in parts]
        for part in parts:
            for operand in self.operands(part):
                near = [result for result in results if self.numpy.may_share_memory(result, operand)]
                if any(self.numpy.shares_memory(result, operand) for result in near):
                    raise InvalidArgument("out overlaps a, b or the epilogue's operands", INVALID_ARGUMENT)


def _activated(numpy: Any, y: Any, activation: int) -> Any:
    if activation == _abi.ACTIVATIONS["relu"]:
        return numpy.maximum(y, 0)
    if activation == _abi.ACTIVATIONS["gelu_erf"]:
        erf = numpy.frompyfunc(math.erf, 1, 1)
        return 0.5 * y * (1 + erf(y * math.sqrt(0.5)).astype(y.dtype))
    if activation == _abi.ACTIVATIONS["gelu_tanh"]:
        return 0.5 * y * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y * y * y)))
    if activation == _abi.ACTIVATIONS["silu"]:
        return y / (1 + numpy.exp(-y))
    return y


def run(error: CannotBeLoaded, call: Call, groups: Optional[_abi.Groups] = None) -> Any:
    """Computes the call. Errors: InvalidArgument for what the library refuses, and Error with the cause for what NumPy does not
    compute: quantised weights, the device, and everything where it is not installed."""
    args = call.args
    if numpy_module() is None:
        raise error
    for what, given in (("quantised weights", args.quantization), ("the device", args.tier == _abi.TIERS["device"])):
        if given:
            raise Error(f"{what} cannot be used, because {error}", UNSUPPORTED)
    warn(error)
    if args.batch == 0:  # nothing to compute
        return call.finish()
    product = _Product(args, groups)
    product.check()
    parts = [part for part in product.parts() if part.rows > 0]
    product.check_overlaps(parts)
    call.begin()
    with product.numpy.errstate(all="ignore"):
        for part in parts:
            product.compute(part)
    return call.finish()
