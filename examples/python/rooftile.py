"""Rooftile's C ABI over NumPy, by ctypes alone: matrix products in float32 on whatever is fastest here.

    with rooftile.Session() as session:
        c = session.matmul(a, b.T)          # transposed views are not copied

ROOFTILE_LIBRARY names librooftile.so where the loader does not find it.
"""
import collections
import ctypes
import os

import numpy

TIERS = {"auto": 0, "device": 1, "host": 2, "host1": 3, "host64": 4, "split": 5}
PRECISIONS = {"default": 0, "relaxed": 1, "standard": 2, "high": 3, "exact64": 4}
REASONS = ("predicted", "forced", "compiling", "failed", "nothing_to_do", "precision", "measured")

# How a call was answered, as rooftile_decision has it. Of a device that did not answer, veto says why it cannot.
Decision = collections.namedtuple("Decision", "tier reason kernel device veto device_ns host_ns host1_ns")


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("database_path", ctypes.c_char_p), ("device", ctypes.c_char_p),
                ("tier", ctypes.c_int), ("no_untuned_log", ctypes.c_int), ("deterministic", ctypes.c_int),
                ("precision", ctypes.c_int), ("no_measured_calls", ctypes.c_int)]


class _SgemmArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("layout", ctypes.c_int), ("trans_a", ctypes.c_int),
                ("trans_b", ctypes.c_int), ("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("alpha", ctypes.c_float), ("a", ctypes.c_void_p), ("lda", ctypes.c_int64), ("b", ctypes.c_void_p),
                ("ldb", ctypes.c_int64), ("beta", ctypes.c_float), ("c", ctypes.c_void_p), ("ldc", ctypes.c_int64),
                ("tier", ctypes.c_int), ("guard", ctypes.c_void_p), ("packed", ctypes.c_void_p)]


class _GemmArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("type_c", ctypes.c_int),
                ("f16_sums", ctypes.c_int), ("layout", ctypes.c_int), ("trans_a", ctypes.c_int),
                ("trans_b", ctypes.c_int), ("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("batch", ctypes.c_int64), ("alpha", ctypes.c_float), ("beta", ctypes.c_float),
                ("a", ctypes.c_void_p), ("b", ctypes.c_void_p), ("c", ctypes.c_void_p),
                ("lda", ctypes.c_int64), ("ldb", ctypes.c_int64), ("ldc", ctypes.c_int64),
                ("stride_a", ctypes.c_int64), ("stride_b", ctypes.c_int64), ("stride_c", ctypes.c_int64),
                ("a_array", ctypes.c_void_p), ("b_array", ctypes.c_void_p), ("c_array", ctypes.c_void_p),
                ("quantization", ctypes.c_void_p), ("epilogue", ctypes.c_void_p), ("tier", ctypes.c_int),
                ("guard", ctypes.c_void_p), ("packed", ctypes.c_void_p)]


class _PackArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("operand", ctypes.c_int), ("call", ctypes.POINTER(_GemmArgs)),
                ("sizes", ctypes.POINTER(ctypes.c_int64)), ("size_count", ctypes.c_size_t)]


class _PackedInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device_bytes", ctypes.c_uint64), ("layouts", ctypes.c_int),
                ("plain_copy", ctypes.c_int), ("kernel", ctypes.c_char * 160)]


class _Guard(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("precision", ctypes.c_int), ("scan_range", ctypes.c_int),
                ("check_spots", ctypes.c_int), ("kappa", ctypes.c_double)]


class _Factor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 32), ("value", ctypes.c_double), ("ns", ctypes.c_double)]


class _Decision(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("tier", ctypes.c_int), ("reason", ctypes.c_int),
                ("device_ns", ctypes.c_double), ("host_ns", ctypes.c_double), ("host1_ns", ctypes.c_double),
                ("upload_ns", ctypes.c_double), ("kernel_ns", ctypes.c_double), ("download_ns", ctypes.c_double),
                ("submit_ns", ctypes.c_double), ("score", ctypes.c_double), ("factors", _Factor * 7),
                ("kernel", ctypes.c_char * 160), ("device", ctypes.c_char * 256), ("veto", ctypes.c_char * 256),
                ("veto_name", ctypes.c_char * 32), ("measured_kernel_ns", ctypes.c_double)]


class Error(RuntimeError):
    """The library's message; status is rooftile_status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def _operand(x):
    """The array, its leading dimension, and whether it is stored transposed. Copied only where neither
    its rows nor its columns lie side by side."""
    x = numpy.asarray(x, dtype=numpy.float32)
    if x.ndim != 2:
        raise ValueError(f"a matrix has two dimensions, not {x.ndim}")
    for transposed in (False, True):
        stored = x.T if transposed else x
        rows, columns = stored.shape
        step, element = stored.strides[0], stored.strides[1]
        in_row = columns <= 1 or element == x.itemsize
        between_rows = rows <= 1 or (step % x.itemsize == 0 and step >= columns * x.itemsize)
        if in_row and between_rows:
            return x, max(columns, 1 if rows <= 1 else step // x.itemsize, 1), int(transposed)
    x = numpy.ascontiguousarray(x)
    return x, max(x.shape[1], 1), 0


class Packed:
    """A right-hand matrix that Session.pack has put on the device in the layouts that its kernels read.

    It keeps the array, because the host multiplies with that where it is faster, or the device fails: its contents
    must stay as they are."""

    def __init__(self, session, array, handle):
        self._session = session
        self._handle = handle
        self.array = array

    @property
    def shape(self):
        return self.array.shape

    @property
    def device_bytes(self):
        """Memory of the device that it takes."""
        info = _PackedInfo(struct_size=ctypes.sizeof(_PackedInfo))
        self._session._check(self._session._library.rooftile_packed_query(self._handle, ctypes.byref(info)))
        return info.device_bytes

    def close(self):
        self._session._library.rooftile_packed_release(self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Session:
    """Owns a rooftile_context. Threads may share it."""

    def __init__(self, database=None, device=None, tier="auto"):
        self._library = ctypes.CDLL(os.environ.get("ROOFTILE_LIBRARY", "librooftile.so.0"))
        self._library.rooftile_last_error.restype = ctypes.c_char_p
        self._context = ctypes.c_void_p()
        options = _Options(struct_size=ctypes.sizeof(_Options), database_path=database and os.fsencode(database),
                           device=device and device.encode(), tier=TIERS[tier])
        self._check(self._library.rooftile_open(ctypes.byref(options), ctypes.byref(self._context)))

    def _check(self, status):
        if status != 0:
            raise Error(status, self._library.rooftile_last_error().decode(errors="replace"))

    def pack(self, b, rows):
        """The right-hand matrix b, packed once for many calls of matmul; rows: how many rows their left-hand
        matrices are going to have, such as (1, 512). Other numbers work as well."""
        b, ldb, trans_b = _operand(b)
        k, n = b.shape
        rows = [int(m) for m in rows]
        if not rows:
            raise ValueError("rows is empty: one expected number at least")
        sizes = (ctypes.c_int64 * len(rows))(*rows)
        call = _GemmArgs(struct_size=ctypes.sizeof(_GemmArgs), trans_b=trans_b, m=rows[0], n=n, k=k, batch=1, alpha=1,
                         b=b.ctypes.data, lda=max(k, 1), ldb=ldb, ldc=max(n, 1))
        args = _PackArgs(struct_size=ctypes.sizeof(_PackArgs), operand=1, call=ctypes.pointer(call), sizes=sizes,
                         size_count=len(rows))
        handle = ctypes.c_void_p()
        self._check(self._library.rooftile_pack(self._context, ctypes.byref(args), ctypes.byref(handle)))
        return Packed(self, b, handle)

    def matmul(self, a, b, out=None, alpha=1.0, beta=0.0, tier="auto", precision="default", kappa=0.0):
        """alpha * a @ b + beta * out in float32; out is made where there is none (then beta must be 0). b may be
        Packed.

        kappa: condition number of what will be done with the result, from 1000 on the sums are float64. 0: not known.
        """
        packed = b._handle if isinstance(b, Packed) else None
        a, lda, trans_a = _operand(a)
        b, ldb, trans_b = _operand(b.array if packed is not None else b)
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"{a.shape[0]} x {a.shape[1]} times {b.shape[0]} x {b.shape[1]}: the inner sizes differ")
        shape = (a.shape[0], b.shape[1])
        if out is None:
            if beta != 0:
                raise ValueError("beta needs out")
            out = numpy.empty(shape, dtype=numpy.float32)
        if out.dtype != numpy.float32 or out.shape != shape or not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError(f"out has to be a contiguous, writeable float32 array of {shape[0]} x {shape[1]}")
        guard = _Guard(struct_size=ctypes.sizeof(_Guard), precision=PRECISIONS[precision], kappa=kappa)
        args = _SgemmArgs(struct_size=ctypes.sizeof(_SgemmArgs), trans_a=trans_a, trans_b=trans_b, m=shape[0], n=shape[1],
                          k=a.shape[1], alpha=alpha, a=a.ctypes.data, lda=lda, b=b.ctypes.data, ldb=ldb, beta=beta,
                          c=out.ctypes.data, ldc=max(shape[1], 1), tier=TIERS[tier],
                          guard=ctypes.addressof(guard) if kappa != 0 or precision != "default" else None, packed=packed)
        self._check(self._library.rooftile_sgemm(self._context, ctypes.byref(args)))
        return out

    def last_decision(self):
        """How this thread's last matmul was answered, and why."""
        decision = _Decision(struct_size=ctypes.sizeof(_Decision))
        self._check(self._library.rooftile_last_decision(self._context, ctypes.byref(decision)))
        text = {name: getattr(decision, name).decode(errors="replace") for name in ("kernel", "device", "veto")}
        return Decision(tier=list(TIERS)[decision.tier], reason=REASONS[decision.reason], device_ns=decision.device_ns,
                        host_ns=decision.host_ns, host1_ns=decision.host1_ns, **text)

    def close(self):
        self._library.rooftile_close(self._context)
        self._context = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
