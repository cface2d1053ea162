"""The C ABI of include/rooftile/ (rooftile.h, resident.h, grouped.h, packed.h, numpy.h) as ctypes structures, whose fields are described
there."""
import ctypes
import math
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

TIERS: Dict[str, int] = {"auto": 0, "device": 1, "host": 2, "host1": 3, "host64": 4}
TIER_NAMES = (*TIERS, "split")  # As an answer: several devices or the host, where ROOFTILE_DEVICES allows it.
PRECISIONS: Dict[str, int] = {"default": 0, "relaxed": 1, "standard": 2, "high": 3, "exact64": 4, "half": 5, "int8": 6}
REASONS = ("predicted", "forced", "compiling", "failed", "nothing_to_do", "precision", "measured")
ACTIVATIONS: Dict[str, int] = {"none": 0, "relu": 1, "gelu_erf": 2, "gelu_tanh": 3, "silu": 4}
ZERO_POINTS: Dict[str, int] = {"none": 0, "packed": 1, "float": 2}
# Values of a block of each format, and its bytes, in the order of rooftile_block_format.
BLOCKS = {"q4_0": (32, 18), "q5_0": (32, 22), "q8_0": (32, 34), "q4_k": (256, 144), "q5_k": (256, 176), "q6_k": (256, 210),
          "mxfp4": (32, 17), "q4_1": (32, 20), "q5_1": (32, 24), "q2_k": (256, 84), "q3_k": (256, 110), "iq4_nl": (32, 18),
          "iq4_xs": (256, 136), "nvfp4": (64, 36)}
BLOCK_FORMATS: Dict[str, int] = {name: number for number, name in enumerate(BLOCKS, 1)}

F32, F16, BF16, I8, I32, U8, F64 = range(7)
TYPE_NAMES = ("float32", "float16", "bfloat16", "int8", "int32", "uint8", "float64")
ITEM_SIZES = (4, 2, 2, 1, 4, 1, 8)
OPERANDS, RESULTS = (F32, F16, BF16, I8, U8, F64), (F32, F16, BF16, I32, F64)
# What arguments may hold, by their names in messages; others may hold all types.
_TYPES: Dict[str, Tuple[int, ...]] = {"a": OPERANDS, "b": OPERANDS, "out": RESULTS, "c": RESULTS, "scales": (F32, F16),
                                      **dict.fromkeys(("bias", "row_scale", "column_scale", "residual"), (F32, F64))}


def check_type(argument: str, kind: Optional[int], held: Callable[[], str], hint: str = "") -> int:
    """The type if the argument may have it. held: how the message tells what the argument holds; kind None: no type of ours.
    Errors: TypeError that names the types that the argument may have."""
    legal = _TYPES.get(argument, range(len(TYPE_NAMES)))
    if kind is None or kind not in legal:
        names = [TYPE_NAMES[i] for i in legal]
        raise TypeError(f"{argument} {held()}, which is {'not' if len(names) == 1 else 'none of'} {', '.join(names)}{hint}")
    return kind

FOREVER = 2**64 - 1
_BEYOND_FLOAT32 = 2.0**128 - 2.0**103  # the smallest number that rounds to infinity

# mypy does not know that ctypes accepts instances of _CData subclasses here.
_Fields = List[Tuple[str, Any]]


def _fields(text: str) -> _Fields:
    """Fields written as "kind name name; kind name"."""
    kinds: Dict[str, Any] = {"size": ctypes.c_size_t, "int": ctypes.c_int, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
                             "float": ctypes.c_float, "double": ctypes.c_double, "text": ctypes.c_char_p,
                             "pointer": ctypes.c_void_p, "kernel": ctypes.c_char * 160, "line": ctypes.c_char * 256,
                             "word": ctypes.c_char * 32, "shares": ctypes.c_char * 200, "why": ctypes.c_char * 248}
    fields: _Fields = []
    for part in text.split(";"):
        kind, *names = part.split()
        fields += [(name, kinds[kind]) for name in names]
    return fields


class Structure(ctypes.Structure):
    """A structure of the ABI, whose first field is its size."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.struct_size = ctypes.sizeof(self)


class Options(Structure):
    _fields_ = _fields("size struct_size; text database_path device; int tier no_untuned_log deterministic precision"
                       " no_measured_calls; i64 devices")


class SgemmArgs(Structure):
    _fields_ = _fields("size struct_size; int layout trans_a trans_b; i64 m n k; float alpha; pointer a; i64 lda; pointer b;"
                       "i64 ldb; float beta; pointer c; i64 ldc; int tier; pointer guard packed; i64 devices")


class GemmArgs(Structure):
    _fields_ = _fields("size struct_size; int type type_c f16_sums layout trans_a trans_b; i64 m n k batch; float alpha beta;"
                       "pointer a b c; i64 lda ldb ldc stride_a stride_b stride_c; pointer a_array b_array c_array"
                       " quantization epilogue; int tier; pointer guard packed; i64 devices; double alpha_f64 beta_f64")

    def set_scalar(self, name: str, number: float) -> None:
        """Sets alpha or beta in the field for the type of the operands, which is set already.

        Errors: ValueError for a finite number that float32 does not reach, where the operands are not float64."""
        if self.type == F64:
            name += "_f64"
        elif math.isfinite(number) and abs(number) >= _BEYOND_FLOAT32:
            raise ValueError(f"{name} is {number:g}, beyond the range of float32")
        setattr(self, name, number)

    def reads_c(self) -> bool:
        return bool(self.beta != 0 or self.beta_f64 != 0)


class Guard(Structure):
    _fields_ = _fields("size struct_size; int precision scan_range check_spots; double kappa")


class Epilogue(Structure):
    _fields_ = _fields("size struct_size; pointer row_scale column_scale; int bias_kind; pointer bias; int activation;"
                       "pointer residual; i64 ld_residual stride_residual; int clamp; float low high; double low_f64 high_f64")

    def set_clamp(self, given: Any, kind: int) -> None:
        """kind: of the epilogue's operands, F32 or F64. Errors: TypeError for what is no pair of numbers, ValueError for a finite number
        that the type does not reach."""
        try:
            if any(isinstance(limit, (str, bytes)) for limit in given):
                raise TypeError
            low, high = map(float, given)
        except OverflowError:
            raise ValueError("clamp has a number beyond the range of float64") from None
        except (TypeError, ValueError):
            raise TypeError(f"clamp is {given!r}; it is a pair of numbers, (low, high)") from None
        if kind == F64:
            self.low_f64, self.high_f64 = low, high
        elif any(math.isfinite(limit) and abs(limit) >= _BEYOND_FLOAT32 for limit in (low, high)):
            raise ValueError(f"clamp is ({low:g}, {high:g}), beyond the range of float32")
        else:
            self.low, self.high = low, high
        self.clamp = 1


class Quantization(Structure):
    _fields_ = _fields("size struct_size; int bits block zero_point; size values_bytes; pointer scales; size scales_bytes;"
                       "pointer zero_points; size zero_points_bytes; i64 format")


class Factor(ctypes.Structure):
    _fields_ = _fields("word name; double value ns")


class Decision(Structure):
    _fields_ = [*_fields("size struct_size; int tier reason; double device_ns host_ns host1_ns upload_ns kernel_ns download_ns"
                         " submit_ns score"), ("factors", Factor * 7),
                *_fields("kernel kernel; line device veto; word veto_name; double measured_kernel_ns pass_ns"
                         " split_ns; shares split; why split_reason; double host64_ns;"
                         " int may_round_operands")]


class PackArgs(Structure):
    _fields_ = _fields("size struct_size; int operand; pointer call sizes; size size_count")


class PackedInfo(Structure):
    _fields_ = _fields("size struct_size; u64 device_bytes; int layouts plain_copy; kernel kernel")


class Place(ctypes.Structure):
    _fields_ = _fields("pointer buffer; i64 offset")


class ResidentOperands(Structure):
    _fields_ = [("struct_size", ctypes.c_size_t),
                *[(name, Place) for name in ("a", "b", "c", "row_scale", "column_scale", "bias", "residual", "scales",
                                             "zero_points", "workspace")],
                ("workspace_bytes", ctypes.c_size_t)]


class Groups(Structure):
    _fields_ = _fields("size struct_size; i64 count experts; pointer rows experts_of_groups; i64 stride_columns")


class GroupedOperands(Structure):
    _fields_ = [*_fields("size struct_size; pointer operands"),
                *[(name, Place) for name in ("rows", "experts_of_groups", "status")]]


class NumpyArgs(Structure):
    _fields_ = _fields("size struct_size; pointer original context; i64 least")


class NumpyArrays(ctypes.Structure):
    _fields_ = _fields("pointer context; i64 running; pointer type dtype none; size head; pointer empty")


_P, _SIZE, _U64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
_ARGUMENTS: Dict[str, List[Any]] = {
    "rooftile_open": [_P, _P], "rooftile_sgemm": [_P, _P], "rooftile_gemm": [_P, _P],
    "rooftile_explain_gemm": [_P, _P, _P], "rooftile_last_decision": [_P, _P],
    "rooftile_buffer_create": [_P, _SIZE, _P], "rooftile_buffer_release": [_P],
    "rooftile_buffer_upload": [_P, _SIZE, _P, _SIZE], "rooftile_buffer_download": [_P, _SIZE, _P, _SIZE],
    "rooftile_resident_finish": [_P, _U64],
    "rooftile_list_create": [_P, _P], "rooftile_list_gemm": [_P, _P, _P], "rooftile_list_run": [_P, _P],
    "rooftile_list_release": [_P],
    "rooftile_grouped_gemm": [_P, _P, _P], "rooftile_list_grouped_gemm": [_P, _P, _P, _P],
    "rooftile_numpy_route": [_P, _P, _P],
    "rooftile_pack": [_P, _P, _P], "rooftile_packed_query": [_P, _P], "rooftile_packed_release": [_P],
    "rooftile_resident_pack_experts": [_P] * 5,
}


def declare(library: ctypes.CDLL) -> None:
    """Declares the functions that the package calls, so that pointers are passed in 64 bits."""
    for name, arguments in _ARGUMENTS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    for name in ("rooftile_close", "rooftile_flush"):
        function = getattr(library, name)
        function.argtypes, function.restype = [_P], None
    for name in ("rooftile_last_error", "rooftile_version"):
        function = getattr(library, name)
        function.argtypes, function.restype = [], ctypes.c_char_p


def enumerator(argument: str, names: Dict[str, int], value: Union[str, int, None]) -> int:
    """The number of a name. Errors: ValueError that names the argument and what it may be; TypeError."""
    if value is None:
        return 0
    if not isinstance(value, str):
        raise TypeError(f"{argument} is {value!r}; it is one of {', '.join(names)}")
    if value not in names:
        raise ValueError(f"{argument} is {value!r}; it is one of {', '.join(names)}")
    return names[value]
