"""Arithmetic of shapes and strides, without memory."""
import itertools
import math
import operator
from typing import Any, List, Optional, Sequence, Tuple

Shape = Tuple[int, ...]


def contiguous_strides(shape: Shape, itemsize: int) -> Shape:
    """Strides in bytes of an array in C order.

    >>> contiguous_strides((2, 3, 5), 4)
    (60, 20, 4)
    """
    strides = []
    step = itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def broadcast(a: Shape, b: Shape) -> Optional[Shape]:
    """The shape that both are repeated to, as in NumPy, or None where they do not fit.

    >>> broadcast((4, 1), (3,)), broadcast((2,), (3,))
    ((4, 3), None)
    """
    sizes = []
    for x, y in itertools.zip_longest(reversed(a), reversed(b), fillvalue=1):
        if x != y and 1 not in (x, y):
            return None
        sizes.append(y if x == 1 else x)
    return tuple(reversed(sizes))


def repeated_strides(shape: Shape, strides: Shape, to: Shape) -> Shape:
    """Strides of an array that is repeated to the shape `to`: 0 along the axes that it lacks.

    >>> repeated_strides((3, 1), (8, 4), (2, 3, 5))
    (0, 8, 0)
    """
    missing = len(to) - len(shape)
    return (0,) * missing + tuple(0 if size == 1 else step for size, step in zip(shape, strides))


def single_stride(shape: Shape, strides: Shape) -> Optional[int]:
    """The one stride that walks through all axes in C order, or None where there is none.

    >>> single_stride((2, 3), (60, 20)), single_stride((2, 3), (0, 20)), single_stride((2, 3), (0, 0))
    (20, None, 0)
    """
    axes = [(size, step) for size, step in zip(shape, strides) if size != 1]
    if not axes:
        return 0
    for (_, outer), (size, inner) in zip(axes, axes[1:]):
        if outer != size * inner:
            return None
    return axes[-1][1]


def overlaps_itself(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether elements may share memory: some step is shorter than what the axes of smaller steps span. Axes that interleave without
    sharing anything count as well.

    >>> overlaps_itself((2, 3), (12, 4), 4), overlaps_itself((2, 3), (0, 4), 4), overlaps_itself((3, 2), (-4, 12), 4)
    (False, True, False)
    """
    span = itemsize
    if 0 in shape:
        return False
    for step, size in sorted((abs(step), size) for size, step in zip(shape, strides) if size > 1):
        if step < span:
            return True
        span += step * (size - 1)
    return False


def offsets(shape: Shape, strides: Sequence[int]) -> List[int]:
    """Offset of every member in C order.

    >>> offsets((2, 2), (0, 20))
    [0, 20, 0, 20]
    """
    return [sum(i * step for i, step in zip(index, strides)) for index in itertools.product(*map(range, shape))]


def size_of(name: str, value: Any, least: int = 0) -> int:
    """Errors: TypeError for what is no whole number, ValueError for less than the least.

    >>> size_of("k", 3, 1)
    3
    """
    try:
        number = int(operator.index(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it is a whole number") from None
    if number < least:
        raise ValueError(f"{name} is {number}; it is {least} or more")
    return number


def sizes_of(name: str, given: Any) -> List[int]:
    """Of a sequence of sizes. Errors: TypeError, ValueError."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"{name} is a {type(given).__name__}; it is a sequence of whole numbers")
    return [size_of(f"{name}[{i}]", value) for i, value in enumerate(given)]


def text(shape: Shape) -> str:
    """A shape as messages write it.

    >>> text((2, 3)), text((4,))
    ('2 x 3', '(4,)')
    """
    return (" x ".join(map(str, shape)) if len(shape) > 1 else str(shape)) if shape else "no dimensions"


def count(shape: Shape) -> int:
    return math.prod(shape)
