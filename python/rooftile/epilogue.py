"""What is computed behind the multiplication, in the same pass over C."""
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from . import _abi
from ._layout import Operand, row_stride, transposed
from ._operands import epilogue_type, values_of
from ._shapes import Shape, text
from ._views import View


class Epilogue(NamedTuple):
    """Operations fused behind a product: y = alpha * (a @ b) * row_scale * column_scale + beta * c + bias, and then
    clamp(activation(y) + residual). All vectors and the residual are float32 (float64 beside float64 operands), or lists of numbers;
    None leaves an operation out.

    activation: "relu", "gelu_erf", "gelu_tanh", "silu" or "none". row_scale: m values. column_scale: n values (in matmul_grouped
    also experts x n).
    residual: an array of the result's shape. clamp: (low, high). Immutable, so threads may share it.

    >>> import numpy, rooftile
    >>> a = numpy.array([[1, -2]], dtype="float32")
    >>> rooftile.matmul(a, numpy.eye(2, dtype="float32"), epilogue=Epilogue("relu", clamp=(0, 0.5)))
    array([[0.5, 0. ]], dtype=float32)
    """

    activation: str = "none"
    row_scale: Any = None
    column_scale: Any = None
    residual: Any = None
    clamp: Optional[Tuple[float, float]] = None


def epilogue_of(given: Union[str, Epilogue, None]) -> Epilogue:
    if given is None:
        return Epilogue()
    if isinstance(given, str):
        _abi.enumerator("epilogue", _abi.ACTIVATIONS, given)
        return Epilogue(given)
    if not isinstance(given, Epilogue):
        raise TypeError(f"epilogue is a {type(given).__name__}; it is an Epilogue or one of {', '.join(_abi.ACTIVATIONS)}")
    return given


def _vector(x: Any, name: str, kind: int, length: int, experts: int, keep: List[Any]) -> int:
    view = values_of(x, name, kind)
    if view.shape == (experts, length) and experts > 0:
        return _rows(view, keep)
    if view.shape != (length,):
        raise ValueError(f"{name} is {text(view.shape)}; it has to be {text((length,))}{_or_rows(experts, length)}")
    return _address(view, keep)


def _or_rows(experts: int, n: int) -> str:
    return f", or {experts} x {n}, a row for each expert" if experts > 0 else ""


def _rows(view: View, keep: List[Any]) -> int:
    keep.append(view.copied())
    return int(keep[-1].address)


def _address(view: View, keep: List[Any]) -> int:
    """Address of the values, side by side."""
    axes = [(size, step) for size, step in zip(view.shape, view.strides) if size != 1]
    if view.address % view.itemsize or any(step != view.itemsize for _, step in axes):
        view = view.copied()
    keep.append(view)
    return view.address


def _set_bias(args: _abi.Epilogue, bias: Any, kind: int, m: int, n: int, experts: int, keep: List[Any]) -> None:
    view = values_of(bias, "bias", kind)
    if view.shape == (experts, n) and experts > 0:
        args.bias_kind, args.bias = 2, _rows(view, keep)
        return
    if view.shape in ((n,), (1, n)):
        args.bias_kind = 2
    elif view.shape == (m, 1):
        args.bias_kind = 1
    else:
        raise ValueError(f"bias is {text(view.shape)}; it has to be {text((n,))} or 1 x {n} (added to each row) or {m} x 1"
                         + _or_rows(experts, n))
    args.bias = _address(view, keep)


def _as_matrices(view: View, shape: Shape) -> View:
    """A view without the axis of 1 that a vector's product lacks, with it."""
    batch = len(shape) - 2
    if len(view.shape) == batch:
        return view.reshaped(shape, (*view.strides, 0, 0))
    axis = batch if view.shape[-1] == shape[-1] else batch + 1
    return view.reshaped(shape, (*view.strides[:axis], 0, *view.strides[axis:]))


def _set_residual(args: _abi.Epilogue, residual: Any, shape: Shape, seen: Shape, out: Operand, changes: bool, keep: List[Any]) -> None:
    view = values_of(residual, "residual", epilogue_type(out.view.type))
    if view.shape == seen != shape:
        view = _as_matrices(view, shape)
    if view.shape != shape:
        raise ValueError(f"residual is {text(view.shape)}; it has to have the result's shape, {text(seen)}")
    ld = row_stride(view)
    in_place = view.address == out.view.address
    if ld is None or out.by_columns or len(shape) > 2 or view.address % view.itemsize or (in_place and changes):
        view = (transposed(view) if out.by_columns else view).copied()
        ld = max(shape[-2] if out.by_columns else shape[-1], 1)
    args.residual, args.ld_residual = view.address, ld
    args.stride_residual = shape[-1] * shape[-2]
    keep.append(view)


def columns_of_experts(shapes: Dict[str, Shape], n: int, experts: int) -> int:
    """Elements from an expert's column_scale and bias to the next one's: n, or 0 where all share them.

    shapes: of those that there are, by name; a bias of rows (m x 1) counts for neither. Errors: ValueError where one is shared."""
    own = [name for name, shape in shapes.items() if shape == (experts, n)]
    shared = [name for name, shape in shapes.items() if shape in ((n,), (1, n)) and name not in own]
    if own and shared:
        raise ValueError(f"{own[0]} is {text((experts, n))} and {shared[0]} {text(shapes[shared[0]])}; both have a row for each expert, or "
                         "neither")
    return n if own else 0


def epilogue_args(epilogue: Epilogue, bias: Any, shape: Shape, out: Operand, keep: List[Any],
                  experts: int = 0, changes: bool = False, seen: Optional[Shape] = None) -> Optional[_abi.Epilogue]:
    """The C ABI's structure for a result of this shape (two dimensions or more), or None where there is nothing to do.

    keep: gets what must stay alive during the call. experts: of a grouped product, whose column_scale and bias may have a row for
    each (columns_of_experts). changes: the memory of out gets other values (those of c) before the call. seen: the result's shape
    as the caller sees it, without the axis of 1 of a vector's product."""
    parts = (bias, epilogue.row_scale, epilogue.column_scale, epilogue.residual, epilogue.clamp)
    activation = _abi.enumerator("activation", _abi.ACTIVATIONS, epilogue.activation)
    if activation == 0 and all(part is None for part in parts):
        return None
    m, n = shape[-2:]
    kind = epilogue_type(out.view.type)
    args = _abi.Epilogue(activation=activation)
    if epilogue.row_scale is not None:
        args.row_scale = _vector(epilogue.row_scale, "row_scale", kind, m, 0, keep)
    if epilogue.column_scale is not None:
        args.column_scale = _vector(epilogue.column_scale, "column_scale", kind, n, experts, keep)
    if bias is not None:
        _set_bias(args, bias, kind, m, n, experts, keep)
    if epilogue.residual is not None:
        _set_residual(args, epilogue.residual, shape, shape if seen is None else seen, out, changes, keep)
    if epilogue.clamp is not None:
        args.set_clamp(epilogue.clamp, kind)
    keep.append(args)
    return args
