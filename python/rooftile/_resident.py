"""Products whose operands are on the device: from the arguments of matmul to an entry of the session's list."""
import ctypes
from typing import Any, Dict, List, Tuple, Union

from . import _abi
from ._abi import F32, ITEM_SIZES, TYPE_NAMES
from ._call import Options, check_result_type, number_of
from ._operands import array_of, arrays_of, check_epilogue_type, check_types, differ, epilogue_type, values_of, widened
from ._shapes import Shape, broadcast, contiguous_strides, count, repeated_strides, single_stride, text
from ._views import operand_view, type_of, view_of
from .device_array import DeviceArray, DeviceSession, Memory, uploaded
from .epilogue import Epilogue, epilogue_of
from .weights import Packed, PackedExperts, Quantized


def on_device(session: DeviceSession, x: Any, name: str, dtype: Any = None) -> DeviceArray:
    if isinstance(x, DeviceArray):
        if x.session is not session:
            raise ValueError(f"{name} belongs to another session")
        _abi.check_type(name, x.type, lambda: f"is {x.dtype}")
        return x
    x = array_of(x, name)
    operand_view(x, name, None if dtype is None else type_of("dtype", dtype))  # for the argument's name in errors
    return DeviceArray(x, session, dtype)


def _values_on_device(session: DeviceSession, x: Any, name: str, kind: int) -> DeviceArray:
    """An operand of an epilogue, of this type. Errors: those of values_of."""
    if isinstance(x, DeviceArray):
        check_epilogue_type(name, x.type, kind)
    else:
        x = array_of(x, name, kind)
        values_of(x, name, kind)  # refuses what would be copied in vain
    return on_device(session, x, name)


def place(operands: _abi.ResidentOperands, name: str, memory: Memory) -> None:
    setattr(operands, name, _abi.Place(buffer=memory.handle, offset=0))


def set_operand(args: _abi.GemmArgs, operands: _abi.ResidentOperands, name: str, array: DeviceArray, batch: Shape) -> None:
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
    place(operands, name, array.memory)


def _set_weights(session: DeviceSession, args: _abi.GemmArgs, operands: _abi.ResidentOperands, weights: Quantized) -> _abi.Quantization:
    """The weights are put on the device once for each session. Returns what must stay alive."""
    quantization = weights.quantization(args.type)
    quantization.scales = quantization.zero_points = None
    parts = weights.on_device.get(session)
    if parts is None:
        parts = weights.on_device[session] = {name: uploaded(session, view) for name, view in weights.parts().items()}
    for name, memory in parts.items():
        place(operands, {"values": "b"}.get(name, name), memory)
    args.trans_b, args.quantization = 1, ctypes.addressof(quantization)
    return quantization


def set_epilogue(session: DeviceSession, args: _abi.GemmArgs, operands: _abi.ResidentOperands, o: Options, shape: Shape,
                  keep: List[Any], experts: int = 0) -> Dict[str, Shape]:
    """experts: of a grouped product, as in epilogue_args. Returns the shapes of column_scale and bias, if given."""
    given: Epilogue = epilogue_of(o.epilogue)
    m, n = shape[-2:]
    kind = epilogue_type(args.type)
    after = _abi.Epilogue(activation=_abi.enumerator("epilogue", _abi.ACTIVATIONS, given.activation))
    wanted = (("row_scale", given.row_scale, (m,)), ("column_scale", given.column_scale, (n,)), ("bias", o.bias, (n,)),
              ("residual", given.residual, shape))
    used = given.activation != "none" or given.clamp is not None
    columns: Dict[str, Shape] = {}
    for name, x, expected in wanted:
        if x is None:
            continue
        array, used = _values_on_device(session, x, name, kind), True
        if name in ("column_scale", "bias"):
            columns[name] = array.shape
        if name in columns and array.shape == (experts, n) and experts > 0:
            after.bias_kind = 2 if name == "bias" else after.bias_kind
            expected = (experts, n)
        elif name == "bias":
            after.bias_kind = 1 if array.shape == (m, 1) and array.shape != (1, n) else 2
            expected = (m, 1) if after.bias_kind == 1 else (n,) if len(array.shape) == 1 else (1, n)
        if array.shape != expected or array.stored[1] and 1 not in array.shape:
            raise ValueError(f"{name} is {text(array.shape)}; it has to be {text(expected)}, in C order")
        if name == "residual":
            after.ld_residual, after.stride_residual = max(n, 1), m * n
        place(operands, name, array.memory)
        keep.append(array)
    if given.clamp is not None:
        after.set_clamp(given.clamp, kind)
    if used:
        args.epilogue = ctypes.addressof(after)
        keep.append(after)
    return columns


def operands_on_device(session: DeviceSession, a: Any, b: Any,
                       dtype: Any) -> Tuple[DeviceArray, Union[DeviceArray, Quantized, PackedExperts]]:
    """a and b. Arrays in the processor's memory are copied as float32 where that is the type of both."""
    if isinstance(b, Packed):
        raise TypeError("b is Packed, which is for an a in the processor's memory; beside a DeviceArray give a DeviceArray of the array "
                        "that was packed, or Quantized")
    given = dict(zip("ab", arrays_of(a, b)))
    kept = (DeviceArray, Quantized, PackedExperts)
    if not isinstance(b, (Quantized, PackedExperts)):
        held = None if dtype is None else type_of("dtype", dtype)
        views = {name: view_of(x, name, held) for name, x in given.items() if not isinstance(x, kept)}
        types = [views[name].type if name in views else x.type for name, x in given.items()]
        if differ(*types) and all(name in views or x.type == F32 for name, x in given.items()):
            given.update((name, widened(view)) for name, view in views.items() if view.type != F32)
            dtype = None
    x = on_device(session, given["a"], "a", dtype)
    return x, b if isinstance(b, (Quantized, PackedExperts)) else on_device(session, given["b"], "b", dtype)


def set_operand_b(session: DeviceSession, args: _abi.GemmArgs, operands: _abi.ResidentOperands, b: Union[DeviceArray, Quantized],
                  batch: Shape) -> Any:
    """Returns what must stay alive."""
    if isinstance(b, Quantized):
        return _set_weights(session, args, operands, b)
    set_operand(args, operands, "b", b, batch)
    return b


def _shape(x: DeviceArray, y: Union[DeviceArray, Quantized]) -> Tuple[Shape, Shape]:
    """Batch and whole shape of the product."""
    for name, sizes in (("a", x.shape), ("b", y.shape)):
        if len(sizes) < 2:
            raise ValueError(f"{name} is {text(sizes)}; on a device matrices have two dimensions or more")
    if isinstance(y, DeviceArray):
        check_types(x.type, y.type)
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"a is {text(x.shape)} and b is {text(y.shape)}: the inner sizes {x.shape[-1]} and {y.shape[-2]} differ")
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    if batch is None:
        raise ValueError(f"a is {text(x.shape)} and b is {text(y.shape)}: the batches do not fit")
    return batch, (*batch, x.shape[-2], y.shape[-1])


def _result_of(session: DeviceSession, x: DeviceArray, quantized: bool, shape: Shape, out: Any, o: Options) -> DeviceArray:
    if o.c is not None and o.c is not out:
        raise ValueError("c is not out; on a device beta reads out")
    if out is not None and not isinstance(out, DeviceArray):
        raise TypeError(f"out is a {type(out).__name__}; it has to be a DeviceArray as the operands are")
    if o.dtype_out is not None:
        kind = type_of("dtype_out", o.dtype_out, _abi.RESULTS)
    elif out is not None:
        kind = out.type
    else:
        kind = _abi.I32 if x.type in (_abi.I8, _abi.U8) else _abi.F32 if quantized else x.type
    check_result_type("out", None if o.dtype_out is None else kind, kind, x.type)
    result = DeviceArray.empty(session, shape, kind) if out is None else on_device(session, out, "out")
    if result.shape != shape or result.type != kind or result.stored[1]:
        raise ValueError(f"out is {text(result.shape)}, {result.dtype}; the result is {text(shape)}, {TYPE_NAMES[kind]}, in C order")
    return result


def begin_resident(session: DeviceSession, x: DeviceArray, quantized: bool, shape: Shape, out: Any,
                   o: Options) -> Tuple[DeviceArray, _abi.GemmArgs, List[Any]]:
    """The result, the call without operands and batch, and what must stay alive until a list has copied it."""
    beta = number_of("beta", o.beta) if o.beta is not None else 0.0 if o.c is None else 1.0
    if out is None and o.c is None and beta != 0:
        raise ValueError("beta needs out to read from")
    result = _result_of(session, x, quantized, shape, out, o)
    args = _abi.GemmArgs(type=x.type, type_c=result.type, m=shape[-2], n=shape[-1], k=x.shape[-1], batch=1,
                         tier=_abi.enumerator("tier", _abi.TIERS, o.tier))
    args.set_scalar("alpha", number_of("alpha", o.alpha))
    args.set_scalar("beta", beta)
    guard = _abi.Guard(precision=_abi.enumerator("precision", _abi.PRECISIONS, o.precision), kappa=number_of("kappa", o.kappa))
    if guard.precision or guard.kappa:
        args.guard = ctypes.addressof(guard)
    return result, args, [guard]


def resident_product(session: DeviceSession, a: Any, b: Any, out: Any, o: Options) -> DeviceArray:
    """matmul where an operand is a DeviceArray. The others are copied to the device."""
    x, y = operands_on_device(session, a, b, o.dtype)
    if isinstance(y, PackedExperts):
        raise TypeError("b is PackedExperts, which matmul_grouped multiplies with")
    if isinstance(y, Quantized):
        y.check_no_stack()
    batch, shape = _shape(x, y)
    result, args, keep = begin_resident(session, x, isinstance(y, Quantized), shape, out, o)
    if 0 in shape:
        return result
    args.batch = count(batch)
    operands = _abi.ResidentOperands()
    set_operand(args, operands, "a", x, batch)
    set_operand(args, operands, "c", result, batch)
    keep.append(set_operand_b(session, args, operands, y, batch))
    set_epilogue(session, args, operands, o, shape, keep)
    session.collected.add(session.context, "rooftile_list_gemm", args, operands)
    return result
