"""A context of the library: its database, device and defaults."""
import atexit
import ctypes
import os
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Union

from . import _abi
from ._abi import F32, OPERANDS, TYPE_NAMES
from ._call import Call, Options, call_of, single_out
from ._grouped import Integers, grouped_call_of, pack_experts, resident_grouped
from ._layout import operand_of
from ._library import check, check_product, library
from ._operands import array_of
from ._plain import Multiply, PlainProducts, leave, plain_first
from ._resident import resident_product
from ._result import numpy_module
from ._shapes import contiguous_strides, sizes_of, text
from ._views import NotCopied, type_of, view_of
from .device_array import Collected, DeviceArray
from .epilogue import Epilogue
from .errors import Error
from .weights import Packed, PackedExperts, Quantized


# Held while a context is opened or closed, while a product begins, and while the process forks: a child would wait for ever for a BLAS
# that another thread of its parent was loading, or for a lock of OpenBLAS that a product held.
_gate = threading.RLock()
_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()
# How long a fork waits for the products of other threads. After it, it is as with NumPy, which does not wait.
_LONGEST_WAIT_S = 1.0


def _before_fork() -> None:
    _gate.acquire()
    until = time.monotonic() + _LONGEST_WAIT_S
    for session in list(_sessions):
        session.hold(until)


def _after_fork() -> None:
    for session in list(_sessions):
        session.go_on()
    _gate.release()


def _renew_gate() -> None:
    """In a forked child."""
    global _gate
    _gate = threading.RLock()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_renew_gate)


def _close_all() -> None:
    """Before the interpreter ends. Products of daemon threads are waited for, and their next ones fail."""
    for session in list(_sessions):
        session.close()


def _forget_all() -> None:
    """In a forked child, where the parent's threads are not there, and what they were computing does not end: the parent's sessions
    work, but are not closed by themselves."""
    for session in list(_sessions):
        session.forget_threads()
    _sessions.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)


class Decision(NamedTuple):
    """Where a product runs, and why. Times are in nanoseconds, predicted; device_ns is infinite where veto says why the device
    cannot be used. tier: "device", "host", "host1" (one thread), "host64" (float64) or "split" (over several
    devices). factors: of the score, by name. host64_ns: the time with which the score compares the device where the precision
    asks for float64 sums, else 0. may_round_operands: the precision ("half", "int8") lets the device's kernel round float32 operands."""

    tier: str
    reason: str
    kernel: str
    device: str
    veto: str
    device_ns: float
    host_ns: float
    host1_ns: float
    score: float
    factors: Dict[str, float]
    host64_ns: float
    may_round_operands: bool = False


def _decision(d: _abi.Decision) -> Decision:
    def text(name: str) -> str:
        value: bytes = getattr(d, name)
        return value.decode(errors="replace")

    return Decision(_abi.TIER_NAMES[d.tier], _abi.REASONS[d.reason], text("kernel"), text("device"), text("veto"), d.device_ns,
                    d.host_ns, d.host1_ns, d.score, {f.name.decode(): f.value for f in d.factors if f.name}, d.host64_ns,
                    d.may_round_operands != 0)


def _shape_as_array(x: Any, name: str, dtype: str) -> Any:
    """A shape, such as (2, 3), as an array of this type that takes no memory and is not read. Anything else as it is."""
    if not (isinstance(x, tuple) and all(hasattr(size, "__index__") for size in x)):
        return x
    numpy = numpy_module()
    if numpy is None:
        raise Error("explaining shapes needs NumPy; give arrays")
    x = tuple(sizes_of(name, x))
    try:
        element = numpy.zeros(1, "uint16" if dtype == "bfloat16" else dtype)
        return numpy.lib.stride_tricks.as_strided(element, x, contiguous_strides(x, element.itemsize), writeable=False)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} is {text(x)}: {error}") from None


def _path(name: str, value: Any) -> Optional[bytes]:
    if value is None:
        return None
    try:
        encoded = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}; it is text") from None
    if b"\0" in encoded:
        raise ValueError(f"{name} is {value!r}, which has a null character")
    return encoded


class _Product:
    """One that runs in the general way."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class Session(NotCopied):
    """Owns a context. Threads may share it: each call is independent. A context manager that closes it.

    database: path of the tuning database (default: that of `rooftile tune`). device: part of the name or UUID of the device.
    tier, precision: defaults of the session's products. deterministic: the same call gives the same bits in every run.
    log_untuned: whether products without a tuned kernel are counted for `rooftile tune --from-log`.

    Errors: ValueError for unknown words, Error where the database is unusable or there is no BLAS, MemoryError.

    >>> import numpy
    >>> with Session(tier="host1") as session:
    ...     session.matmul(numpy.eye(2, dtype="float32"), numpy.ones((2, 1), "float32"))
    array([[1.],
           [1.]], dtype=float32)
    """

    def __init__(self, database: Union[str, "os.PathLike[str]", None] = None, device: Optional[str] = None,
                 tier: Optional[str] = None, precision: Optional[str] = None, deterministic: bool = False,
                 log_untuned: bool = True) -> None:
        self._context = ctypes.c_void_p()
        self._running: Dict[_Product, None] = {}
        self._unclosed = ctypes.c_void_p()  # the context of a session that is closed in the middle of a product of its own thread
        options = _abi.Options(database_path=_path("database", database), device=_path("device", device),
                               tier=_abi.enumerator("tier", _abi.TIERS, tier),
                               precision=_abi.enumerator("precision", _abi.PRECISIONS, precision),
                               deterministic=int(deterministic), no_untuned_log=int(not log_untuned))
        self._library = library()
        with _gate:
            check(self._library, self._library.rooftile_open(ctypes.addressof(options), ctypes.addressof(self._context)))
        self._plain: Optional[PlainProducts] = None
        self._multiply: Multiply = leave
        self.collected = Collected()
        self._process = os.getpid()
        self.before_close: Optional[Callable[[], None]] = None  # of what uses the context without this object
        _sessions.add(self)

    @property
    def context(self) -> ctypes.c_void_p:
        """The handle of the C ABI. Errors: ValueError where the session is closed."""
        context = self._context
        if not context:
            raise ValueError("the session is closed")
        return context

    def forget_threads(self) -> None:
        """In a forked child (for the package's own use)."""
        self._running, self._plain, self._multiply, self.collected = {}, None, leave, Collected()

    def hold(self, until: float) -> None:
        """Lets no product begin, and waits for those of other threads, but no longer than until (for the package's own use)."""
        if self._plain is not None:
            self._plain.stop()
            self._plain.wait(until)
        while self._others_run() and time.monotonic() < until:
            time.sleep(0.001)

    def _others_run(self) -> bool:
        own = threading.get_ident()
        return any(product.thread != own for product in list(self._running))

    def go_on(self) -> None:
        """After hold."""
        if self._plain is not None and not self.closed:
            self._plain.go_on(self.context)

    @property
    def closed(self) -> bool:
        return not self._context

    def _check_open(self) -> None:
        _ = self.context

    def array(self, x: Any, dtype: Any = None) -> DeviceArray:
        """x as a DeviceArray of this session's device."""
        return DeviceArray(x, self, dtype)

    def plain(self) -> Multiply:
        """PlainProducts.multiply of this session, where there is NumPy (for the package's own use)."""
        if self._plain is None and numpy_module() is not None:
            with _gate:  # One for all threads, and none behind a closing.
                if self._plain is None:
                    self._plain = PlainProducts(self._library, self.context, numpy_module())
                    self._multiply = self._plain.multiply
                    if self.closed:  # by a signal handler, meanwhile
                        self._plain.stop()
        return self._multiply

    def _prepared(self, prepare: Callable[..., Any], *arguments: Any) -> Any:
        """What a product is run with. Where it is refused here, last_decision does not go on telling of the product before it."""
        try:
            return prepare(*arguments)
        except BaseException:
            self._library.rooftile_sgemm(self.context, None)
            raise

    def _run(self, call: Call, function: str, *arguments: _abi.Structure) -> Any:
        if call.args.batch == 0:  # nothing to compute, which last_decision tells
            nothing = _abi.SgemmArgs(lda=1, ldb=1, ldc=1)
            check(self._library, self._library.rooftile_sgemm(self.context, ctypes.addressof(nothing)))
            return call.finish()
        product = _Product()
        try:
            with _gate:
                self._running[product] = None  # first, so that a signal handler that closes leaves the context
                context = self.context
            call.begin()
            check_product(self._library, getattr(self._library, function)(context, *map(ctypes.addressof, arguments)))
        except BaseException:
            call.undo()
            raise
        finally:
            self._running.pop(product, None)  # no function of Python, at whose beginning a signal handler may raise an exception
            if self._unclosed and not self._running:
                context, self._unclosed = self._unclosed, ctypes.c_void_p()
                self._library.rooftile_close(context)
        return call.finish()

    @plain_first
    def matmul(self, a: Any, b: Any, out: Any = None, *, alpha: float = 1.0, beta: Optional[float] = None, c: Any = None,
               epilogue: Union[str, Epilogue, None] = None, bias: Any = None, dtype_out: Any = None, tier: Optional[str] = None,
               precision: Optional[str] = None, dtype: Any = None, kappa: float = 0.0) -> Any:
        """alpha * a @ b + beta * c in this session; rooftile.matmul has the description."""
        o = Options(alpha, beta, c, epilogue, bias, dtype_out, tier, precision, dtype, kappa)
        out = single_out(out)
        for array in (a, b, out):
            if isinstance(array, DeviceArray):
                return resident_product(array.session, a, b, out, o)
        self._check_open()
        self.plain()  # for later products
        call = self._prepared(call_of, a, b, out, o)
        return self._run(call, "rooftile_gemm", call.args)

    def matmul_grouped(self, a: Any, b: Any, rows: Integers, experts: Optional[Integers] = None, out: Any = None, *,
                       alpha: float = 1.0, beta: Optional[float] = None, c: Any = None, epilogue: Union[str, Epilogue, None] = None,
                       bias: Any = None, dtype_out: Any = None, tier: Optional[str] = None, precision: Optional[str] = None,
                       dtype: Any = None, kappa: float = 0.0, status: Optional[DeviceArray] = None) -> Any:
        """Groups of rows of a, each with a matrix of its own, in this session; rooftile.matmul_grouped has the description."""
        o = Options(alpha, beta, c, epilogue, bias, dtype_out, tier, precision, dtype, kappa)
        out = single_out(out)
        for array in (a, b, out, rows, experts, status):
            if isinstance(array, (DeviceArray, PackedExperts)):
                return resident_grouped(array.session, a, b, rows, experts, out, status, o)
        self._check_open()
        call, groups = self._prepared(grouped_call_of, a, b, rows, experts, out, status, o)
        return self._run(call, "rooftile_grouped_gemm", call.args, groups)

    def explain(self, a: Any, b: Any, **options: Any) -> Decision:
        """Where matmul would compute these arguments (arrays, or shapes of matrices of float32 or of dtype), and why. Computes
        nothing.

        >>> with Session(tier="host") as session:
        ...     session.explain((64, 32), (32, 16), dtype="float64").reason
        'forced'
        """
        o = Options(**options)
        held = TYPE_NAMES[F32 if o.dtype is None else type_of("dtype", o.dtype, OPERANDS)]
        call = call_of(_shape_as_array(a, "a", held), _shape_as_array(b, "b", held), None, o, computes=False)
        if call.args.batch == 0:
            raise ValueError("the result has a size of 0, so there is nothing to explain")
        decision = _abi.Decision()
        check(self._library, self._library.rooftile_explain_gemm(self.context, ctypes.addressof(call.args),
                                                                 ctypes.addressof(decision)))
        return _decision(decision)

    def last_decision(self) -> Decision:
        """How this thread's last product of arrays in the processor's memory was answered. Errors: Error where it failed, or there
        was none."""
        decision = _abi.Decision()
        check(self._library, self._library.rooftile_last_decision(self.context, ctypes.addressof(decision)))
        return _decision(decision)

    def pack(self, b: Any, rows: Iterable[int]) -> Packed:
        """The right-hand matrix b (an array or Quantized), packed once for many products.

        rows: how many rows their left-hand matrices are going to have, such as (1, 512); others work as well.
        Errors: ValueError, TypeError, MemoryError. Without a device that computes with it, it holds nothing.
        """
        sizes = sizes_of("rows", rows)
        if not sizes:
            raise ValueError("rows is empty: one expected number at least")
        keep: List[Any] = []
        call = _abi.GemmArgs(m=sizes[0], batch=1, trans_b=1)
        if isinstance(b, Quantized):
            b.check_no_stack()
            kept: Any = b
            shape = b.shape
            call.type = b.scale_type
            quantization = b.quantization(b.scale_type)
            call.b, call.quantization = b.address, ctypes.addressof(quantization)
            keep.append(quantization)
        else:
            kept, shape = self._pack_array(b, call)
        call.set_scalar("alpha", 1)
        call.n, call.k = shape[1], shape[0]
        call.lda, call.ldc = max(shape[0], 1), max(shape[1], 1)
        array = (ctypes.c_int64 * len(sizes))(*sizes)
        args = _abi.PackArgs(operand=1, call=ctypes.addressof(call), sizes=ctypes.addressof(array), size_count=len(sizes))
        handle = ctypes.c_void_p()
        check(self._library, self._library.rooftile_pack(self.context, ctypes.addressof(args), ctypes.addressof(handle)))
        return Packed(kept, shape, handle)

    def _pack_array(self, b: Any, call: _abi.GemmArgs) -> Any:
        b = array_of(b, "b")
        view = view_of(b, "b")
        if len(view.shape) != 2:
            raise ValueError(f"b has {len(view.shape)} dimensions; a matrix that is packed has two")
        stored = operand_of(view)
        call.type = call.type_c = view.type
        if view.type in (_abi.I8, _abi.U8):
            call.type_c = _abi.I32
        call.b, call.ldb, call.trans_b = stored.view.address, stored.ld, int(stored.by_columns)
        return b, view.shape

    def pack_experts(self, b: Any, rows: int, groups: Optional[int] = None) -> PackedExperts:
        """An array of experts x k x n, packed once on the device for many products of matmul_grouped with DeviceArrays.

        rows, groups: how many rows, in how many groups (default: one for each expert), the products are going to have; others work
        as well. Waits. Errors: ValueError, TypeError, MemoryError; Error for devices whose kernels read experts as stored, where b
        itself is as fast.
        """
        return pack_experts(self, b, rows, groups)

    def flush(self) -> None:
        """Writes the counts of products without a tuned kernel to the database now."""
        self._library.rooftile_flush(self.context)

    def close(self) -> None:
        """Waits for the products that other threads are computing, and frees the context. A closed session may be closed."""
        if self.before_close is not None:
            self.before_close()
        with _gate:
            context, self._context = self._context, ctypes.c_void_p()
            plain = self._plain
            if plain is not None:
                plain.stop()
        self.collected.drop()
        if plain is not None:
            plain.wait()
        while self._others_run():
            time.sleep(0.001)
        if self._running:  # This is a signal handler in the middle of a product, whose end frees the context.
            self._unclosed = context
        else:
            self._library.rooftile_close(context)

    def __del__(self) -> None:
        # Not a parent's session in a forked child.
        if getattr(self, "_process", None) == os.getpid() and self._context:
            self.close()

    def __enter__(self) -> "Session":
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
