"""A view as matrices with leading dimensions, the way the C ABI takes operands."""
import ctypes
from typing import Any, Optional, Tuple

from ._shapes import Shape, count, offsets, overlaps_itself, repeated_strides, single_stride
from ._views import View


def row_stride(view: View) -> Optional[int]:
    """The leading dimension in elements of a view whose rows lie side by side, or None.

    A row of one element, and a matrix of one row, may have any stride along that axis."""
    rows, columns = view.shape[-2:]
    between, within = view.strides[-2:]
    size = view.itemsize
    if columns > 1 and within != size:
        return None
    if rows <= 1:
        return max(columns, 1)
    return between // size if between % size == 0 and between >= max(columns, 1) * size else None


def transposed(view: View) -> View:
    """The view with its last two axes exchanged."""
    shape, strides = view.shape, view.strides
    return view.reshaped((*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2]))


class Operand:
    """Matrices that share a leading dimension, stored by rows (by_columns False) or by columns."""

    def __init__(self, view: View, ld: int, by_columns: bool) -> None:
        self.view, self.ld, self.by_columns = view, ld, by_columns

    def lines(self) -> Tuple[int, int]:
        """How many rows (columns) a matrix has in memory, and their length in elements."""
        rows, columns = self.view.shape[-2:]
        return (columns, rows) if self.by_columns else (rows, columns)

    def lie_apart(self, step: int, members: int) -> bool:
        """Whether matrices this many bytes apart lie behind each other, or side by side in the rows of one: what a stride can say of
        matrices C."""
        lines, length = self.lines()
        if step % self.view.itemsize:
            return False
        step //= self.view.itemsize
        return step >= lines * self.ld or (length <= step <= self.ld // members + length and (members - 1) * step + length <= self.ld)

    def interleaves(self) -> bool:
        """Whether bytes between the elements of a matrix may belong to another one, and no stride says so."""
        batch, strides = self.view.shape[:-2], self.view.strides[:-2]
        one = single_stride(batch, strides)
        if 0 in batch or one is not None and self.lie_apart(one, count(batch)):
            return False
        lines, length = self.lines()
        return overlaps_itself(batch, strides, max((lines - 1) * self.ld + length, 0) * self.view.itemsize)


def as_stored(view: View) -> Optional[Operand]:
    """The operand without a copy, or None where no leading dimension can say its strides, or it is not aligned."""
    size = view.itemsize
    if view.address % size or any(step % size for step in view.strides[:-2]):
        return None
    ld = row_stride(view)
    if ld is not None:
        return Operand(view, ld, False)
    ld = row_stride(transposed(view))
    return None if ld is None else Operand(view, ld, True)


def operand_of(view: View) -> Operand:
    """The operand; copied only where it has to be."""
    stored = as_stored(view)
    if stored is None:
        copy = view.copied()
        stored = Operand(copy, max(copy.shape[-1], 1), False)
    return stored


def place_batch(args: Any, name: str, operand: Operand, batch: Shape) -> Any:
    """Sets pointer and stride, or the array of pointers, of the operand a, b or c in GemmArgs. Returns what must stay alive."""
    view = operand.view
    strides = repeated_strides(view.shape[:-2], view.strides[:-2], batch)
    setattr(args, name, view.address or None)
    setattr(args, "ld" + name, operand.ld)
    lines, _ = operand.lines()
    one = single_stride(batch, strides)
    if one is not None and (one == 0 and name != "c" or one >= lines * operand.ld * view.itemsize
                            or name == "c" and operand.lie_apart(one, count(batch))):
        setattr(args, "stride_" + name, one // view.itemsize)
        return view
    if len(batch) == 0 or all(size == 1 for size in batch):
        setattr(args, "stride_" + name, max(lines * operand.ld, 1))
        return view
    addresses = [view.address + offset for offset in offsets(batch, strides)]
    array = (ctypes.c_void_p * len(addresses))(*addresses)
    setattr(args, name + "_array", ctypes.addressof(array))
    return (view, array)
