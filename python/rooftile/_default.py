"""The session of module-level functions: opened at the first use, once in each process."""
import functools
import os
import threading
from typing import Any, Callable, Optional, TypeVar, Union, cast

from . import device_array
from ._grouped import Integers
from ._plain import Multiply, leave
from .device_array import DeviceArray
from .epilogue import Epilogue
from .session import Decision, Session

_lock = threading.Lock()
_session: Optional[Session] = None
_multiply: Multiply = leave  # of the session
_General = TypeVar("_General", bound=Callable[..., Any])


def default_session() -> Session:
    """The session that rooftile.matmul uses. Thread-safe. Errors: those of Session."""
    global _session, _multiply
    if _session is None or _session.closed:
        with _lock:
            if _session is None or _session.closed:
                opened = Session()
                _multiply = opened.plain()
                _session = opened
    return _session


device_array.default_session = default_session


def renew() -> None:
    """Lets the next product open the session anew, with what has been tuned since. Arrays keep the earlier one."""
    _forget()


def _forget() -> None:
    """In a forked child, which opens a context of its own. The parent's is left alone: its threads are not there."""
    global _session, _lock, _multiply
    _session, _lock, _multiply = None, threading.Lock(), leave


os.register_at_fork(after_in_child=_forget)


def _plain_first(general: _General) -> _General:
    """matmul, of which the session's multiply may compute what has no options."""
    @functools.wraps(general)
    def matmul(a: Any, b: Any, out: Any = None, **options: Any) -> Any:
        if not options:
            result = _multiply(a, b, out)
            if result is not None:
                return result
        return general(a, b, out, **options)

    return cast(_General, matmul)


@_plain_first
def matmul(a: Any, b: Any, out: Any = None, *, alpha: float = 1.0, beta: Optional[float] = None, c: Any = None,
           epilogue: Union[str, Epilogue, None] = None, bias: Any = None, dtype_out: Any = None, tier: Optional[str] = None,
           precision: Optional[str] = None, dtype: Any = None, kappa: float = 0.0) -> Any:
    """alpha * a @ b + beta * c, followed by the epilogue, on whatever is predicted to be fastest here.

    a, b: m x k and k x n (or vectors, or stacks of matrices that are repeated as in NumPy): anything with the buffer protocol or
      __dlpack__ in the processor's memory, such as NumPy arrays, PyTorch's CPU tensors and memory maps. b may be Quantized or
      Packed, and with a DeviceArray the result is one. They are float32, float16, bfloat16 (of ml_dtypes, PyTorch, this package,
      or uint16 with dtype="bfloat16"), or both float64, int8 or uint8. Two different ones of float32, float16 and bfloat16 are
      multiplied as float32. A list of numbers is float32, beside float64 that. Transposed and padded views are read where they are;
      only what no leading dimension can say is copied.
    out: where the result goes and what is returned; by rows, by columns or with any strides, also with leading axes along which
      the product is repeated. It overlaps neither a nor b. Without it the result is PyTorch's where a is, else NumPy's (a number
      for two vectors), and a memoryview where NumPy is not installed.
    c: repeated to the shape of the result and added with the factor beta (default 1); without c, a beta other than 0 reads out. It,
      bias and what an Epilogue has may be lists of numbers, too.
    bias: n (or 1 x n) values added to each row, or m x 1. epilogue: "relu", "gelu_erf", "gelu_tanh", "silu" or an Epilogue.
    dtype_out: default: that of out or c, else of a; int32 for 8-bit integers, whose sums are exact; float32 beside Quantized.
    tier: "auto", "device", "host", "host1", "host64". precision: "relaxed", "standard", "high", "exact64", "half", "int8". kappa: condition
      number of what is done with the result; from 1000 on the sums are float64.

    Errors name the argument: ValueError for shapes, read-only or overlapping outputs and unknown words, TypeError for types and
    objects, MemoryError, Error for what this device or build cannot do. Thread-safe; other threads run meanwhile.

    >>> import numpy
    >>> a = numpy.arange(6, dtype="float32").reshape(2, 3)
    >>> matmul(a, a.T)
    array([[ 5., 14.],
           [14., 50.]], dtype=float32)
    >>> matmul(a, a.T, bias=numpy.array([-20, 0], "float32"), epilogue="relu")
    array([[ 0., 14.],
           [ 0., 50.]], dtype=float32)
    >>> matmul(a, a)
    Traceback (most recent call last):
    ValueError: a is 2 x 3 and b is 2 x 3: the inner sizes 3 and 2 differ
    """
    return default_session().matmul(a, b, out, alpha=alpha, beta=beta, c=c, epilogue=epilogue, bias=bias, dtype_out=dtype_out,
                                    tier=tier, precision=precision, dtype=dtype, kappa=kappa)


def matmul_grouped(a: Any, b: Any, rows: Integers, experts: Optional[Integers] = None, out: Any = None, *, alpha: float = 1.0,
                   beta: Optional[float] = None, c: Any = None, epilogue: Union[str, Epilogue, None] = None, bias: Any = None,
                   dtype_out: Any = None, tier: Optional[str] = None, precision: Optional[str] = None, dtype: Any = None,
                   kappa: float = 0.0, status: Optional[DeviceArray] = None) -> Any:
    """The product of each group of rows of a with the matrix of its expert, in one call, as in a mixture of experts.

    a: m x k; the rows of a group lie side by side. b: experts x k x n (any strides that matmul reads where they are, so also the
      transpose of experts x n x k), or a Quantized stack.
    rows: how many rows each group has, 0 or more; their sum is m at most. experts: the matrix of each group, from 0 on; without it
      group g has matrix g.
    out: m x n. Rows behind the last group stay as they are, and are 0 (or those of c) in a new result.
    bias, and column_scale of an Epilogue: n values, or experts x n. A bias that is m x 1, row_scale and residual belong to the rows
      of out. The other arguments are those of matmul.

    With a DeviceArray among the operands the product is collected, as in matmul, and rows and experts may be DeviceArrays of int32,
    which are read when the work runs. status: a DeviceArray of one int32 that then gets what is wrong with them: 0 nothing, 1 an
    expert is unknown (its group is left out), 2 a size is negative or their sum is more than m (nothing is computed).

    Errors are those of matmul. Thread-safe.

    >>> import numpy
    >>> a = numpy.arange(6, dtype="float32").reshape(3, 2)
    >>> b = numpy.stack([numpy.eye(2, dtype="float32"), numpy.ones((2, 2), "float32")])
    >>> matmul_grouped(a, b, rows=[2, 1], experts=[1, 0])
    array([[1., 1.],
           [5., 5.],
           [4., 5.]], dtype=float32)
    >>> matmul_grouped(a, b, rows=[2, 2])
    Traceback (most recent call last):
    ValueError: rows has a sum of 4; a has 3 rows
    """
    return default_session().matmul_grouped(a, b, rows, experts, out, alpha=alpha, beta=beta, c=c, epilogue=epilogue, bias=bias,
                                            dtype_out=dtype_out, tier=tier, precision=precision, dtype=dtype, kappa=kappa,
                                            status=status)


def explain(a: Any, b: Any, **options: Any) -> Decision:
    """Where matmul would compute these arguments (arrays, or shapes of matrices of float32 or of dtype), and why. Computes nothing.

    >>> explain((8, 8), (8, 8), tier="host64").tier
    'host64'
    """
    return default_session().explain(a, b, **options)


def last_decision() -> Decision:
    """How this thread's last product of arrays in the processor's memory was answered. Errors: Error where it failed, or there was
    none."""
    return default_session().last_decision()
