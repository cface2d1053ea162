"""Grouped products: groups of rows of a, each with the matrix of an expert, on host memory and on the device."""
import ctypes
from typing import Any, Iterable, List, NamedTuple, Optional, Tuple, Union

from . import _abi
from ._call import Call, Options, Shapes, begin_call, dtype_of, place_quantized, place_result, single_out
from ._layout import Operand, as_stored, operand_of, place_batch
from ._library import check, library
from ._operands import check_types, epilogue_type, operand_views, values_of
from ._resident import begin_resident, on_device, operands_on_device, set_epilogue, set_operand, set_operand_b
from ._shapes import Shape, size_of, sizes_of, text
from ._views import View, view_of
from .device_array import DeviceArray, DeviceSession
from .epilogue import columns_of_experts, epilogue_args, epilogue_of
from .weights import Packed, PackedExperts, Quantized

Integers = Union[Iterable[int], DeviceArray]


class GroupedCall(NamedTuple):
    """What rooftile_grouped_gemm is called with."""

    call: Call
    groups: _abi.Groups


def _array(values: List[int], keep: List[Any]) -> int:
    keep.append((ctypes.c_int64 * max(len(values), 1))(*values))
    return ctypes.addressof(keep[-1])


def _host_groups(rows: Any, experts: Any, m: int, count: int, keep: List[Any]) -> Tuple[_abi.Groups, int]:
    """The groups, and how many rows they have. m: rows of a. count: matrices of b. Errors: ValueError, TypeError."""
    sizes = sizes_of("rows", rows)
    if sum(sizes) > m:
        raise ValueError(f"rows has a sum of {sum(sizes)}; a has {m} rows")
    groups = _abi.Groups(count=len(sizes), experts=count, rows=_array(sizes, keep))
    if experts is None:
        if len(sizes) > count:
            raise ValueError(f"rows has {len(sizes)} groups and b {count} matrices; say with experts which group has which")
        return groups, sum(sizes)
    numbers = sizes_of("experts", experts)
    if len(numbers) != len(sizes):
        raise ValueError(f"experts has {len(numbers)} numbers and rows {len(sizes)}; each group has one of both")
    for g, number in enumerate(numbers):
        if number >= count:
            raise ValueError(f"experts[{g}] is {number}; b has {count} matrices")
    groups.experts_of_groups = _array(numbers, keep)
    return groups, sum(sizes)


def _shape_of(a: Shape, b: Shape) -> Shape:
    """Of the result. Errors: ValueError."""
    if len(a) != 2:
        raise ValueError(f"a is {text(a)}; it has two dimensions, and the rows of each group lie side by side")
    if len(b) != 3:
        raise ValueError(f"b is {text(b)}; it has three dimensions: experts, k and n")
    if a[1] != b[1]:
        raise ValueError(f"a is {text(a)} and b is {text(b)}: the inner sizes {a[1]} and {b[1]} differ")
    if b[0] == 0:
        raise ValueError(f"b is {text(b)}; it has one matrix at least")
    return a[0], b[2]


def _by_rows(view: View) -> Operand:
    stored = as_stored(view)
    if stored is not None and not stored.by_columns:
        return stored
    return operand_of(view.copied())


def _place_experts(call: Call, b: View) -> None:
    args, stored = call.args, operand_of(b)
    call.keep.append(place_batch(args, "b", stored, b.shape[:1]))
    if args.b_array:  # matrices that overlap, or in another order
        args.b_array = None
        stored = operand_of(b.copied())
        call.keep.append(place_batch(args, "b", stored, b.shape[:1]))
    args.trans_b = int(stored.by_columns)


def grouped_call_of(a: Any, b: Any, rows: Any, experts: Any, out: Any, status: Any, o: Options) -> GroupedCall:
    """Errors: ValueError, TypeError, MemoryError."""
    if status is not None:
        raise TypeError(f"status is a {type(status).__name__}; it is a DeviceArray")
    if isinstance(b, (Packed, PackedExperts)):
        raise TypeError(f"b is {type(b).__name__}; matmul_grouped of arrays in the processor's memory takes arrays and Quantized: give "
                        "the array itself")
    va, vb = operand_views(a, b, dtype_of(o))
    shape = _shape_of(va.shape, vb.shape)
    (m, n), count = shape, vb.shape[0]
    keep: List[Any] = []
    groups, total = _host_groups(rows, experts, m, count, keep)
    out = single_out(out)
    call, given, _ = begin_call(a, va, vb, Shapes((), shape, shape), out, o)
    call.keep += [keep, groups]
    if call.args.batch == 0:
        return GroupedCall(call, groups)
    args, row = call.args, n * given.itemsize
    if out is None and (o.c is None or not args.reads_c()):
        ctypes.memset(given.address + total * row, 0, (m - total) * row)
    place_batch(args, "a", _placed(call, _by_rows(va)), ())
    # Rows behind the last group stay as they are.
    stored = place_result(call, given, True, args.reads_c() or total < m)
    if out is not None and call.source is not None and call.target is not None:
        call.source, call.target = (view.reshaped((total, n), view.strides) for view in (call.source, call.target))
    place_batch(args, "c", stored, ())
    if isinstance(vb, Quantized):
        place_quantized(call, vb)
    else:
        _place_experts(call, vb)
    after = epilogue_of(o.epilogue)
    kind = epilogue_type(va.type)
    given_columns = {name: values_of(x, name, kind).shape for name, x in (("column_scale", after.column_scale), ("bias", o.bias))
                     if x is not None}
    groups.stride_columns = columns_of_experts(given_columns, n, count)
    structure = epilogue_args(after, o.bias, shape, stored, call.keep, count, call.source is not None)
    if structure is not None:
        args.epilogue = ctypes.addressof(structure)
    return GroupedCall(call, groups)


def _placed(call: Call, operand: Operand) -> Operand:
    call.keep.append(operand)
    return operand


def _device_integers(name: str, given: Any, session: DeviceSession, count: int) -> _abi.Place:
    if not isinstance(given, DeviceArray):
        raise TypeError(f"{name} is a {type(given).__name__}; it is a DeviceArray where rows is one")
    if given.session is not session:
        raise ValueError(f"{name} belongs to another session")
    if given.dtype != "int32":
        raise TypeError(f"{name} is {given.dtype}, which is not int32")
    if given.shape != (count,):
        raise ValueError(f"{name} is {text(given.shape)}; it has to be {text((count,))}")
    return _abi.Place(buffer=given.memory.handle, offset=0)


def _device_groups(session: DeviceSession, rows: DeviceArray, experts: Any, status: Any, count: int,
                   places: _abi.GroupedOperands) -> _abi.Groups:
    """Groups whose sizes are read from the device. count: matrices of b."""
    if len(rows.shape) != 1:
        raise ValueError(f"rows is {text(rows.shape)}; it has one dimension")
    (groups,) = rows.shape
    if experts is None and groups > count:
        raise ValueError(f"rows has {groups} groups and b {count} matrices; say with experts which group has which")
    for name, given, length in (("rows", rows, groups), ("experts", experts, groups), ("status", status, 1)):
        if given is not None:
            setattr(places, "experts_of_groups" if name == "experts" else name, _device_integers(name, given, session, length))
    return _abi.Groups(count=groups, experts=count)


def pack_experts(session: DeviceSession, b: Any, rows: int, groups: Optional[int]) -> PackedExperts:
    """Errors: TypeError, ValueError, MemoryError, and Error where the device's kernels read experts as stored."""
    if isinstance(b, (Quantized, Packed, PackedExperts)):
        raise TypeError(f"b is {type(b).__name__}; an array is packed, and kernels read quantised weights as stored")
    y = on_device(session, b, "b")
    if len(y.shape) != 3:
        raise ValueError(f"b is {text(y.shape)}; it has three dimensions: experts, k and n")
    count, k, n = y.shape
    args = _abi.GemmArgs(type=y.type, type_c=_abi.I32 if y.type in (_abi.I8, _abi.U8) else y.type, m=size_of("rows", rows, 1), n=n, k=k,
                         batch=1, lda=max(k, 1), ldc=max(n, 1))
    args.set_scalar("alpha", 1)
    operands = _abi.ResidentOperands()
    set_operand(args, operands, "b", y, (count,))
    sizes = _abi.Groups(count=count if groups is None else size_of("groups", groups, 1), experts=count)
    handle, lib = ctypes.c_void_p(), library()
    session.collected.run()  # what may write to b
    check(lib, lib.rooftile_resident_pack_experts(session.context, *map(ctypes.addressof, (args, sizes, operands, handle))))
    return PackedExperts(session, y.shape, y.type, bool(args.trans_b), handle)


def resident_grouped(session: DeviceSession, a: Any, b: Any, rows: Any, experts: Any, out: Any, status: Any, o: Options) -> DeviceArray:
    """matmul_grouped where an operand is a DeviceArray. The others are copied to the device."""
    x, y = operands_on_device(session, a, b, o.dtype)
    shape = _shape_of(x.shape, y.shape)
    if not isinstance(y, Quantized):
        check_types(x.type, y.type)
    if isinstance(y, PackedExperts) and y.session is not session:
        raise ValueError("b belongs to another session")
    if x.stored[1] and 1 not in x.shape:
        raise ValueError("a is a transpose; its rows have to lie side by side")
    operands = _abi.ResidentOperands()
    places, count = _abi.GroupedOperands(operands=ctypes.addressof(operands)), y.shape[0]
    held: List[Any] = []
    if isinstance(rows, DeviceArray):
        groups, total = _device_groups(session, rows, experts, status, count, places), 0
    elif status is not None:
        raise ValueError("status is for rows on the device; others are checked before anything runs")
    else:
        groups, total = _host_groups(rows, experts, shape[0], count, held)
    result, args, keep = begin_resident(session, x, isinstance(y, Quantized), shape, out, o)
    if 0 in shape:
        return result
    if out is None and total < shape[0]:
        result.fill_with_zeros()
    set_operand(args, operands, "a", x, ())
    set_operand(args, operands, "c", result, ())
    if isinstance(y, PackedExperts):
        args.packed, args.trans_b = y.handle, int(y.transposed)
    else:
        keep.append(set_operand_b(session, args, operands, y, (count,)))
    columns = set_epilogue(session, args, operands, o, shape, keep, count)
    groups.stride_columns = columns_of_experts(columns, shape[1], count)
    session.collected.add(session.context, "rooftile_list_grouped_gemm", args, groups, places)
    return result
