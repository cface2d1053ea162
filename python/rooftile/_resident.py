"""Products whose operands are on the device: from the arguments of matmul to an entry of the session's list."""
import ctypes
from typing import TYPE_CHECKING, Any, List, Tuple, Union

from . import _abi
from ._abi import ITEM_SIZES, TYPE_NAMES
from ._shapes import Shape, broadcast, contiguous_strides, count, repeated_strides, single_stride, text
from ._views import type_of, view_of
from .device_array import DeviceArray, Memory, uploaded
from .epilogue import Epilogue, epilogue_of
from .weights import Quantized

if TYPE_CHECKING:
    from ._call import Options
    from .session import Session


def _on_device(session: "Session", x: Any, name: str, dtype: Any = None) -> DeviceArray:
    if isinstance(x, DeviceArray):
        if x.session is not session:
            raise ValueError(f"{name} belongs to another session")
        return x
    view_of(x, name, None if dtype is None else type_of("dtype", dtype))  # for the argument's name in errors
    return DeviceArray(x, session, dtype)


def _place(operands: _abi.ResidentOperands, name: str, memory: Memory) -> None:
    setattr(operands, name, _abi.Place(buffer=memory.handle, offset=0))


def _set_operand(args: _abi.GemmArgs, operands: _abi.ResidentOperands, name: str, array: DeviceArray, batch: Shape) -> None:
    stored, transposed = array.stored
    size = ITEM_SIZES[array.type]
    strides = repeated_strides(stored[:-2], contiguous_strides(stored, size)[:-2], batch)
    stride = single_stride(batch, strides)
    if stride is None:
        raise ValueError(f"{name} is {text(array.shape)} and the batch {text(batch)}; on a device a batch is repeated as a whole")
    setattr(args, "ld" + name, max(stored[-1], 1))
    setattr(args, "stride_" + name, stride // size)
    if name != "c":
        setattr(args, "trans_" + name, int(transposed))
    _place(operands, name, array.memory)


def _set_weights(session: "Session", args: _abi.GemmArgs, operands: _abi.ResidentOperands, weights: Quantized) -> _abi.Quantization:
    """The weights are put on the device once for each session. Returns what must stay alive."""
    quantization = weights.quantization(args.type)
    quantization.scales = quantization.zero_points = None
    parts = weights.on_device.get(session)
    if parts is None:
        parts = weights.on_device[session] = {name: uploaded(session, view) for name, view in weights.parts().items()}
    for name, memory in parts.items():
        _place(operands, {"values": "b"}.get(name, name), memory)
    args.trans_b, args.quantization = 1, ctypes.addressof(quantization)
    return quantization


def _set_epilogue(session: "Session", args: _abi.GemmArgs, operands: _abi.ResidentOperands, o: "Options", shape: Shape,
                  keep: List[Any]) -> None:
    given: Epilogue = epilogue_of(o.epilogue)
    m, n = shape[-2:]
    after = _abi.Epilogue(activation=_abi.enumerator("epilogue", _abi.ACTIVATIONS, given.activation))
    wanted = (("row_scale", given.row_scale, (m,)), ("column_scale", given.column_scale, (n,)), ("bias", o.bias, (n,)),
              ("residual", given.residual, shape))
    used = given.activation != "none" or given.clamp is not None
    for name, x, expected in wanted:
        if x is None:
            continue
        array, used = _on_device(session, x, name), True
        if array.type != _abi.F32:
            raise TypeError(f"{name} is {array.dtype}; it has to be float32")
        if name == "bias":
            after.bias_kind = 1 if array.shape == (m, 1) and array.shape != (1, n) else 2
            expected = (m, 1) if after.bias_kind == 1 else (n,) if len(array.shape) == 1 else (1, n)
        if array.shape != expected or array.stored[1] and name == "residual":
            raise ValueError(f"{name} is {text(array.shape)}; it has to be {text(expected)}, in C order")
        if name == "residual":
            after.ld_residual, after.stride_residual = max(n, 1), m * n
        _place(operands, name, array.memory)
        keep.append(array)
    if given.clamp is not None:
        after.set_clamp(given.clamp)
    if used:
        args.epilogue = ctypes.addressof(after)
        keep.append(after)


def _shape(x: DeviceArray, y: Union[DeviceArray, Quantized]) -> Tuple[Shape, Shape]:
    """Batch and whole shape of the product."""
    for name, sizes in (("a", x.shape), ("b", y.shape)):
        if len(sizes) < 2:
            raise ValueError(f"{name} is {text(sizes)}; on a device matrices have two dimensions or more")
    if isinstance(y, DeviceArray) and x.type != y.type:
        raise TypeError(f"a is {x.dtype} and b is {y.dtype}; both have to have one type")
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"a is {text(x.shape)} and b is {text(y.shape)}: the inner sizes {x.shape[-1]} and {y.shape[-2]} differ")
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    if batch is None:
        raise ValueError(f"a is {text(x.shape)} and b is {text(y.shape)}: the batches do not fit")
    return batch, (*batch, x.shape[-2], y.shape[-1])


def _result(session: "Session", x: DeviceArray, quantized: bool, shape: Shape, out: Any, o: "Options") -> DeviceArray:
    if o.c is not None and o.c is not out:
        raise ValueError("c is not out; on a device beta reads out")
    if out is not None and not isinstance(out, DeviceArray):
        raise TypeError(f"out is a {type(out).__name__}; it has to be a DeviceArray as the operands are")
    if o.dtype_out is not None:
        kind = type_of("dtype_out", o.dtype_out)
    elif out is not None:
        kind = out.type
    else:
        kind = _abi.I32 if x.type in (_abi.I8, _abi.U8) else _abi.F32 if quantized else x.type
    result = DeviceArray.empty(session, shape, kind) if out is None else _on_device(session, out, "out")
    if result.shape != shape or result.type != kind or result.stored[1]:
        raise ValueError(f"out is {text(result.shape)}, {result.dtype}; the result is {text(shape)}, {TYPE_NAMES[kind]}, in C order")
    return result


def resident_product(session: "Session", a: Any, b: Any, out: Any, o: "Options") -> DeviceArray:
    """matmul where an operand is a DeviceArray. The others are copied to the device."""
    x = _on_device(session, a, "a", o.dtype)
    y: Union[DeviceArray, Quantized] = b if isinstance(b, Quantized) else _on_device(session, b, "b", o.dtype)
    batch, shape = _shape(x, y)
    beta = o.beta if o.beta is not None else 0.0 if o.c is None else 1.0
    if out is None and o.c is None and beta != 0:
        raise ValueError("beta needs out to read from")
    result = _result(session, x, isinstance(y, Quantized), shape, out, o)
    if 0 in shape:
        return result
    args = _abi.GemmArgs(type=x.type, type_c=result.type, m=shape[-2], n=shape[-1], k=x.shape[-1], batch=count(batch), alpha=o.alpha,
                         beta=beta, tier=_abi.enumerator("tier", _abi.TIERS, o.tier))
    guard = _abi.Guard(precision=_abi.enumerator("precision", _abi.PRECISIONS, o.precision), kappa=o.kappa)
    if guard.precision or guard.kappa:
        args.guard = ctypes.addressof(guard)
    operands = _abi.ResidentOperands(struct_size=ctypes.sizeof(_abi.ResidentOperands))
    keep: List[Any] = [guard]  # until the list has copied it
    _set_operand(args, operands, "a", x, batch)
    _set_operand(args, operands, "c", result, batch)
    if isinstance(y, Quantized):
        keep.append(_set_weights(session, args, operands, y))
    else:
        _set_operand(args, operands, "b", y, batch)
    _set_epilogue(session, args, operands, o, shape, keep)
    session.collected.add(session.context, args, operands)
    return result
