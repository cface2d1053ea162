"""From the arguments of matmul to the structures of one call of rooftile_gemm."""
import ctypes
import math
from typing import Any, List, NamedTuple, Optional, Tuple, Union

from . import _abi
from ._abi import BF16, F16, F32, F64, I8, I32, ITEM_SIZES, RESULTS, TYPE_NAMES, U8
from ._layout import Operand, as_stored, operand_of, place_batch
from ._operands import array_of, operand_views
from ._result import as_numpy_returns, new_result
from ._shapes import Shape, broadcast, contiguous_strides, count, overlaps_itself, repeated_strides, text
from ._views import View, of_bytes, type_of, view_of
from .epilogue import Epilogue, epilogue_args, epilogue_of
from .weights import Packed, Quantized

# The address of a result that is not computed: beyond all memory, so that it overlaps nothing.
_NOWHERE = 1 << 56


class Options(NamedTuple):
    """The arguments of matmul besides a, b and out."""

    alpha: float = 1.0
    beta: Optional[float] = None
    c: Any = None
    epilogue: Union[str, Epilogue, None] = None
    bias: Any = None
    dtype_out: Any = None
    tier: Optional[str] = None
    precision: Optional[str] = None
    dtype: Any = None
    kappa: float = 0.0


class Call:
    """One call: its arguments, what they point to, and where its result goes."""

    def __init__(self, args: _abi.GemmArgs) -> None:
        self.args = args
        self.keep: List[Any] = []
        self.result: Any = None
        self.copy_back: Optional[Tuple[View, View]] = None
        self.source: Optional[View] = None  # c
        self.target: Optional[View] = None  # where the library computes, which gets the values of c first
        self.is_given = False  # the target is the caller's memory
        self._before: Optional[View] = None

    def begin(self) -> None:
        """To be called when all that this package knows of the arguments is right."""
        if self.source is not None and self.target is not None:
            if self.is_given and self.copy_back is None:
                self._before = self.target.copied()
            self.target.fill_from(self.source)

    def undo(self) -> None:
        """To be called where the library has refused the call: gives the caller's memory its values of before."""
        if self._before is not None and self.target is not None:
            self.target.fill_from(self._before)

    def finish(self) -> Any:
        """To be called when the library has computed. Returns the result."""
        if self.copy_back is not None:
            to, computed = self.copy_back
            to.fill_from(computed)
        return self.result if self.is_given else as_numpy_returns(self.result)


def number_of(name: str, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is a number beyond the range of float64") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; it is a number") from None


def promoted(view: View, name: str, axis: int) -> View:
    """A vector as a matrix of one row (a, axis 0) or one column (b, axis 1), as NumPy does."""
    if len(view.shape) == 0:
        raise ValueError(f"{name} has no dimensions; a matrix has two, and a vector one")
    if len(view.shape) > 1:
        return view
    (size,), (step,) = view.shape, view.strides
    return view.reshaped((1, size), (0, step)) if axis == 0 else view.reshaped((size, 1), (step, 0))


def _type_out(given: Optional[int], a: View, like: Optional[View], quantized: bool) -> int:
    """The type of the result: as asked for, else that of out or c, else NumPy's, but int32 for 8-bit integers, and float32
    beside quantised weights."""
    if given is not None:
        return given
    if like is not None:
        return like.type
    return I32 if a.type in (I8, U8) else F32 if quantized else a.type


def _result_shape(a: Shape, b: Shape, vector_a: bool, vector_b: bool) -> Tuple[Shape, Shape]:
    """Batch and whole shape of the product of two (stacks of) matrices, or vectors as such. Errors: ValueError."""
    if a[-1] != b[-2]:
        given_a, given_b = a[1:] if vector_a else a, b[:-1] if vector_b else b
        raise ValueError(f"a is {text(given_a)} and b is {text(given_b)}: the inner sizes {a[-1]} and {b[-2]} differ")
    batch = broadcast(a[:-2], b[:-2])
    if batch is None:
        raise ValueError(f"a is {text(a)} and b is {text(b)}: the batches {text(a[:-2])} and {text(b[:-2])} do not fit")
    return batch, (*batch, a[-2], b[-1])


class Shapes(NamedTuple):
    """What the result looks like: to the caller (vectors without the axis of 1), and as matrices."""

    batch: Shape
    whole: Shape
    seen: Shape


def _shapes(a: View, b: Shape, vector_a: bool, vector_b: bool) -> Shapes:
    batch, whole = _result_shape(a.shape, b, vector_a, vector_b)
    seen = batch + (() if vector_a else whole[-2:-1]) + (() if vector_b else whole[-1:])
    return Shapes(batch, whole, seen)


def _as_matrices(view: View, shapes: Shapes, vector_a: bool) -> View:
    """The caller's result or c with the axes of 1 that vectors lack."""
    missing = len(shapes.whole) - len(view.shape)
    if missing == 0:
        return view
    if missing == 2:
        return view.reshaped(shapes.whole, (*view.strides, 0, 0))
    at = len(shapes.batch) + (0 if vector_a else 1)
    return view.reshaped(shapes.whole, (*view.strides[:at], 0, *view.strides[at:]))


def _repeated(shapes: Shapes, out: Shape) -> Shapes:
    """The shapes of the product repeated along the leading axes of out, as NumPy does; unchanged where they do not fit."""
    axes = len(shapes.seen) - len(shapes.batch)
    batch = out[:max(len(out) - axes, 0)]
    if broadcast(shapes.batch, batch) != batch or out[len(batch):] != shapes.seen[len(shapes.batch):]:
        return shapes
    return Shapes(batch, batch + shapes.whole[-2:], batch + shapes.seen[len(shapes.batch):])


def single_out(out: Any) -> Any:
    """The array of NumPy's form out=(array,). Errors: ValueError for more than one."""
    if not isinstance(out, tuple):
        return out
    if len(out) != 1:
        raise ValueError(f"out is a tuple of {len(out)}; it is one array")
    return out[0]


def check_result_type(name: str, wanted: Optional[int], kind: int, operands: int) -> None:
    """name: the argument that has the type, if dtype_out has not. Errors: TypeError."""
    if kind == I32 and operands not in (I8, U8):
        raise TypeError(f"{name if wanted is None else 'dtype_out'} is int32, the result of int8 or uint8; a is {TYPE_NAMES[operands]}")
    if (kind == F64) != (operands == F64):
        raise TypeError(f"{name if wanted is None else 'dtype_out'} is {TYPE_NAMES[kind]}; the result of {TYPE_NAMES[operands]} is "
                        f"{'' if operands == F64 else 'not '}float64")


def _check_result(view: View, name: str, fits: bool, shapes: Shapes, kind: int) -> None:
    if not fits:
        raise ValueError(f"{name} is {text(view.shape)}; the result is {text(shapes.seen)}")
    if view.type != kind:
        raise TypeError(f"{name} is {TYPE_NAMES[view.type]}; the result is {TYPE_NAMES[kind]}")


def place_result(call: Call, out: View, row_major: bool, keeps: bool) -> Operand:
    """The memory that the library writes: out itself, or a copy where no leading dimension can say out's strides, or where its
    matrices interleave in a way that no stride can say. keeps: what out holds is needed."""
    stored = as_stored(out)
    call.target = out
    if stored is None or (stored.by_columns and row_major) or stored.interleaves():
        computed = out.copied() if keeps else of_bytes(bytearray(out.nbytes), out.type, out.shape)
        call.copy_back, call.target = (out, computed), computed
        stored = Operand(computed, max(out.shape[-1], 1), False)
    call.keep.append(stored.view)
    return stored


def _begin(a: View, b: Union[View, Quantized], shapes: Shapes, o: Options) -> Call:
    tier = _abi.enumerator("tier", _abi.TIERS, o.tier)
    m, n = shapes.whole[-2:]
    args = _abi.GemmArgs(type=a.type, m=m, n=n, k=a.shape[-1], batch=max(count(shapes.batch), 1), tier=tier)
    args.set_scalar("alpha", number_of("alpha", o.alpha))
    call = Call(args)
    precision, kappa = _abi.enumerator("precision", _abi.PRECISIONS, o.precision), number_of("kappa", o.kappa)
    if precision != 0 or kappa != 0:
        guard = _abi.Guard(precision=precision, kappa=kappa)
        args.guard = ctypes.addressof(guard)
        call.keep.append(guard)
    return call


def place_quantized(call: Call, b: Quantized) -> None:
    args = call.args
    args.trans_b = 1
    quantization = b.quantization(args.type)
    args.b, args.quantization = b.address, ctypes.addressof(quantization)
    call.keep += [b, quantization]


def _place_inputs(call: Call, a: View, b: Union[View, Quantized], batch: Shape, by_columns: bool) -> None:
    args = call.args
    stored = operand_of(a)
    args.trans_a = int(stored.by_columns != by_columns)
    call.keep.append(place_batch(args, "a", stored, batch))
    if isinstance(b, Quantized):
        place_quantized(call, b)
        return
    stored = operand_of(b)
    args.trans_b = int(stored.by_columns != by_columns)
    call.keep.append(place_batch(args, "b", stored, batch))


def begin_call(a: Any, va: View, vb: Union[View, Quantized], shapes: Shapes, out: Any, o: Options,
               computes: bool = True) -> Tuple[Call, View, Shapes]:
    """The call without operands, the memory of its result, and its shapes, repeated to those of out. Where there is nothing to
    compute, args.batch is 0."""
    out = single_out(out)
    dtype, wanted = dtype_of(o), None if o.dtype_out is None else type_of("dtype_out", o.dtype_out, RESULTS)
    # uint16 memory of the result holds what it is asked to be, else what the operands hold.
    held = wanted if wanted in (F16, BF16) else dtype if dtype is not None else va.type
    given = None if out is None else view_of(out, "out", held, writable=True)
    like = given if given is not None or o.c is None or isinstance(o.c, (list, tuple)) else view_of(o.c, "c", held)
    kind = _type_out(wanted, va, like, isinstance(vb, Quantized))
    source = None if o.c is None or o.c is out else view_of(array_of(o.c, "c", kind), "c", held)
    beta = number_of("beta", o.beta) if o.beta is not None else 0.0 if o.c is None else 1.0
    if beta != 0 and given is None and source is None:
        raise ValueError("beta needs c, or out to read from")
    check_result_type("out" if given is not None else "c", wanted, kind, va.type)
    if given is not None:
        shapes = _repeated(shapes, given.shape)
        _check_result(given, "out", given.shape == shapes.seen, shapes, kind)
    if source is not None:
        _check_result(source, "c", broadcast(source.shape, shapes.seen) == shapes.seen, shapes, kind)
        source = source.reshaped(shapes.seen, repeated_strides(source.shape, source.strides, shapes.seen))
    if o.c is not None and beta == 0:
        source = None
    if given is not None and overlaps_itself(given.shape, given.strides, given.itemsize):
        raise ValueError("out overlaps itself: its elements share memory")

    call = _begin(va, vb, shapes, o)
    call.args.set_scalar("beta", beta)
    call.args.type_c = kind
    if given is None and not computes:
        given = View(_NOWHERE, kind, shapes.seen, contiguous_strides(shapes.seen, ITEM_SIZES[kind]), False, None)
    elif given is None:
        call.result, given = new_result(shapes.seen, kind, a)
    else:
        call.result, call.is_given = out, True
    call.source = source
    if math.prod(shapes.whole) == 0:
        call.args.batch = 0
    return call, given, shapes


def dtype_of(o: Options) -> Optional[int]:
    return None if o.dtype is None else type_of("dtype", o.dtype)


def call_of(a: Any, b: Any, out: Any, o: Options, computes: bool = True) -> Call:
    """Everything that rooftile_gemm needs for alpha * a @ b + beta * c. Errors: ValueError, TypeError, MemoryError.

    computes: False where it is only explained."""
    va, vb = operand_views(a, b, dtype_of(o))
    vector_a, vector_b = len(va.shape) == 1, len(vb.shape) == 1
    va = promoted(va, "a", 0)
    if isinstance(vb, Quantized):
        vb.check_no_stack()
    else:
        vb = promoted(vb, "b", 1)
    call, given, shapes = begin_call(a, va, vb, _shapes(va, vb.shape, vector_a, vector_b), out, o, computes)
    if call.args.batch == 0:
        return call
    target = _as_matrices(given, shapes, vector_a)
    row_major = isinstance(vb, Quantized)
    stored = place_result(call, target, row_major, call.args.reads_c() and call.source is None)
    call.args.layout = int(stored.by_columns)
    _place_inputs(call, va, vb, shapes.batch, stored.by_columns)
    call.keep.append(place_batch(call.args, "c", stored, shapes.batch))
    after = epilogue_args(epilogue_of(o.epilogue), o.bias, shapes.whole, stored, call.keep, changes=call.source is not None,
                          seen=shapes.seen)
    if after is not None:
        call.args.epilogue = ctypes.addressof(after)
    if isinstance(b, Packed):
        call.args.packed = b.handle
        call.keep.append(b)
    return call
