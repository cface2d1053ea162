/// Rooftile: GEMM on tuned Vulkan kernels, or on the machine's BLAS where that is predicted to be
/// faster. C ABI.
///
/// Cost of the choice. It has been measured only with Mesa's lavapipe against OpenBLAS on two
/// cores: in 12 runs of 300 random problems the drop-in took 0.947 to 1.005 times the total time of
/// OpenBLAS on all threads, and 10 of the 3,600 problems were slower by more than 10 % and 200 ns
/// (bench/results/lavapipe.md has these runs and the cost of first calls).
///
/// Contexts and threads. One context serves any number of threads. It reads the tuning database
/// once, when it is opened; run `rooftile tune` before to let it use a device. Without a database,
/// a device or a driver every call runs on the host's BLAS. A background thread of the context
/// opens the device and compiles the kernels. Until a problem's kernel is compiled, a kernel that
/// compiles quickly may answer (docs/kernel-choice.md), otherwise the host does. Another
/// thread writes the counts of problems without a tuned kernel to the database, once a minute and
/// when the context is closed. Copies of 4 MB and more to and from a device are shared with up to
/// seven threads that end with them.
///
/// Repeatability. Calls that a thread repeats are measured, and may move between the device, one
/// host thread and all of them. Results of one problem may therefore differ by rounding;
/// rooftile_options.deterministic makes them equal bit by bit.
///
/// Floating-point environment. No function raises floating-point flags of the calling thread or
/// traps, whatever traps the program has enabled, and all leave flags, traps and rounding mode as
/// they are. Excepted is what others compute: NumPy's own loop (numpy.h), and the host's BLAS where
/// it computes a float32 C from float32 operands, or a float64 C, without an epilogue
/// (rooftile_sgemm and rooftile_gemm, tiers HOST and HOST1, of float64 also HOST64; also as the
/// answer or a part of AUTO).
/// Flags, traps and rounding are then those of a direct call. All else on the host rounds to
/// nearest.
///
/// Structure sizes. Structures begin with struct_size, which the caller sets to the sizeof of the
/// structure, so that a program works with any version of the library that has the same
/// soname. Fields that an older, shorter structure lacks count as zero. A newer, longer structure
/// is accepted if the fields that this library does not know are zero, and is UNSUPPORTED
/// otherwise. A result is filled up to the size of the caller's structure, with zeros in fields
/// that the library does not know. Other sizes are an INVALID_ARGUMENT.
#ifndef ROOFTILE_ROOFTILE_H_
#define ROOFTILE_ROOFTILE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ROOFTILE_API __attribute__((visibility("default")))
#else
#define ROOFTILE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ROOFTILE_VERSION_MAJOR 0
#define ROOFTILE_VERSION_MINOR 1
#define ROOFTILE_VERSION_PATCH 0

typedef struct rooftile_context rooftile_context;
/// An operand that was packed before the call (packed.h).
typedef struct rooftile_packed rooftile_packed;

typedef enum rooftile_status {
  ROOFTILE_OK = 0,
  ROOFTILE_INVALID_ARGUMENT = 1,  ///< An argument is wrong; no result was changed.
  ROOFTILE_UNSUPPORTED = 2,       ///< The call is legal, but not on this device, driver or build.
  ROOFTILE_OUT_OF_MEMORY = 3,
  /// The driver failed or the device is lost. Returned by calls that force the device tier, by
  /// calls with a packed operand that do not give the operand itself, and by the functions of
  /// resident.h, packed.h and vulkan.h.
  ROOFTILE_DEVICE_ERROR = 4,
  ROOFTILE_TIMEOUT = 5,
  ROOFTILE_IO_ERROR = 6,
  /// The tuning database is unusable: newer than this library, locked or unreadable.
  ROOFTILE_DATABASE_ERROR = 7,
  ROOFTILE_INTERNAL_ERROR = 8
} rooftile_status;

typedef enum rooftile_layout { ROOFTILE_ROW_MAJOR = 0, ROOFTILE_COLUMN_MAJOR = 1 } rooftile_layout;
typedef enum rooftile_transpose {
  ROOFTILE_NO_TRANSPOSE = 0,
  ROOFTILE_TRANSPOSE = 1
} rooftile_transpose;

/// Where a call runs. AUTO picks the tier with the lowest predicted time and, while the device's
/// kernel is being compiled, a kernel that compiles quickly or the host. A forced tier is used or
/// the call fails; a call that forces the device waits for its kernel, or for one that compiles
/// quickly.
typedef enum rooftile_tier {
  ROOFTILE_TIER_AUTO = 0,
  ROOFTILE_TIER_DEVICE = 1,  ///< The device's best legal kernel, as soon as it is compiled.
  /// BLAS on all of its threads. Where the precision or kappa of the call or the context requires
  /// float64, the call runs as HOST64 and is reported as HOST64.
  ROOFTILE_TIER_HOST = 2,
  ROOFTILE_TIER_HOST1 = 3,  ///< BLAS on one thread; otherwise the same as HOST.
  /// BLAS in float64, over widened inputs where these are not F64, with alpha, beta and the
  /// epilogue in float64 too. The result is rounded once, to C's type. AUTO uses this tier only
  /// where a guard or a precision requires it.
  ROOFTILE_TIER_HOST64 = 4,
  /// Only as an answer, never as a wish: several devices, or devices and the host, each computed a
  /// part of the call (rooftile_devices).
  ROOFTILE_TIER_SPLIT = 5
} rooftile_tier;

/// The devices that one call under AUTO may use (docs/several-devices.md).
typedef enum rooftile_devices {
  /// As the context says. A context's own default is $ROOFTILE_DEVICES (one or all), else ONE.
  ROOFTILE_DEVICES_DEFAULT = 0,
  ROOFTILE_DEVICES_ONE = 1,  ///< The context's device or the host.
  /// All tuned devices and the host, at the same time where that is predicted to be faster: rows,
  /// columns or matrices of the batch are divided so that all end together. Calls with a packed
  /// operand, calls that force a tier, calls that kernels for HALF or INT8 compute, and calls on a
  /// deterministic context or on the program's own device are not divided.
  ROOFTILE_DEVICES_ALL = 2
} rooftile_devices;

/// Accuracy that a result must have. Every function that takes a context keeps it on every tier or
/// fails with UNSUPPORTED. F64 operands and an I32 C meet all of them on every tier, so that
/// nothing below is done or refused for them. docs/precision.md has the table.
typedef enum rooftile_precision {
  /// The context's precision. A context's own default is $ROOFTILE_PRECISION (relaxed, standard,
  /// high, exact64, half or int8), else STANDARD.
  ROOFTILE_PRECISION_DEFAULT = 0,
  ROOFTILE_PRECISION_RELAXED = 1,  ///< The same as STANDARD, whatever the value of kappa.
  /// Sums in the precision of the types, in any order of summation.
  ROOFTILE_PRECISION_STANDARD = 2,
  /// Each element is within 1e-6 of its sum of magnitudes, plus the rounding to C's type. On a
  /// device the operands are scanned and 16 elements of the result are checked; the host computes
  /// in float64. f16_sums is ignored.
  ROOFTILE_PRECISION_HIGH = 3,
  /// Sums in float64, rounded once: on the host (tier HOST64) or the device. UNSUPPORTED where a
  /// device is forced that has no float64.
  ROOFTILE_PRECISION_EXACT64 = 4,
  /// As STANDARD, but float32 operands may be rounded to 16 bits before they are multiplied: an
  /// element is off by at most 2^-10 of its sum of magnitudes more. Matrix units are faster then,
  /// with kernels that `rooftile tune --type f32_half` finds (docs/precision.md#half). All else
  /// computes as for STANDARD, and so does a call whose kappa is more than 0 and less than 1000.
  /// Not in version 0.1.0, which refuses it.
  ROOFTILE_PRECISION_HALF = 5,
  /// As HALF, and beside a quantised B float32 rows of A may be rounded to 8-bit integers, each 32
  /// steps of k in a scale of their own: an element is off by at most 1/254 of the sum of |b| times
  /// the largest |a| of its 32 steps more. Kernels with packed dot products are faster then, which
  /// `rooftile tune --type f32xq4_k_int8` finds for Q4_K (docs/gguf.md). Such a row of A
  /// that holds an infinity or a NaN may make each element of its row of C a NaN. Not in version
  /// 0.1.0, which refuses it.
  ROOFTILE_PRECISION_INT8 = 6
} rooftile_precision;

/// Accuracy requirements of one call; see docs/precision.md.
typedef struct rooftile_guard {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_guard).
  rooftile_precision precision;
  /// If not 0, a call that would go to a device is the host's when its operands hold infinity or
  /// NaN, and is summed in float64 when its sums may overflow, or when A and B hold only whole
  /// numbers and a float32 sum of them may exceed 2^24, up to which it is exact.
  int scan_range;
  /// If not 0, 16 random elements of a device's result are recomputed in float64. If one is off by
  /// more than 1e-4 of its sum of magnitudes (HIGH: 1e-6; HALF and INT8: what they allow more), the
  /// result is discarded and the host answers. If rounding cannot explain the error, the kernel is
  /// not used again until `rooftile tune` has certified it anew.
  int check_spots;
  /// Condition number of the problem that C is used for. From 1000 on the call is treated as
  /// EXACT64, unless the precision is RELAXED. 0 means unknown.
  double kappa;
} rooftile_guard;

/// Options of a context. The caller sets struct_size to sizeof(rooftile_options); fields that are
/// zero or NULL take their defaults.
typedef struct rooftile_options {
  size_t struct_size;
  /// Default: $ROOFTILE_DB, else rooftile/rooftile.db in the user's data folder.
  const char* database_path;
  /// Substring of a device's name or UUID. Default: $ROOFTILE_DEVICE, else the best tuned device.
  const char* device;
  /// Tier of every call whose own tier is AUTO. Default: $ROOFTILE_TIER, else AUTO.
  rooftile_tier tier;
  /// If not 0, problems without a tuned kernel are not counted for `rooftile tune --from-log`.
  /// Default: they are counted, unless $ROOFTILE_LOG_UNTUNED is "off".
  int no_untuned_log;
  /// If not 0, with one database the same call gives the same bits in every run and from any number
  /// of threads. This rules out kernels that add atomically, runs the host tiers on one thread of
  /// OpenBLAS, and makes a call wait until its kernel is compiled. Only a kernel that fails, which
  /// is reported on stderr, may change bits. Default: $ROOFTILE_DETERMINISTIC, where 1 means yes.
  /// Without either, a rank of an MPI program measures no calls and waits for kernels, too.
  int deterministic;
  rooftile_precision precision;  ///< Precision of calls that do not set one.
  /// If not 0, repeated calls stay on the predicted tier. Default: repeated calls are measured and
  /// move to the fastest tier (whose last bits may differ), unless deterministic is set or
  /// $ROOFTILE_MEASURE_CALLS is "off".
  int no_measured_calls;
  int64_t devices;  ///< A rooftile_devices: of calls that do not set one.
} rooftile_options;

/// Arguments of rooftile_sgemm: C := alpha * op(A) * op(B) + beta * C in float32, host memory.
/// - Shapes: op(A) is m x k, op(B) is k x n, C is m x n.
/// - Leading dimensions are in elements: at least the length of a stored row (row-major) or column
///   (column-major), and at least 1.
/// - beta == 0 writes C without reading it, so NaN in C vanishes. With alpha == 0 or k == 0, A and
///   B are not read. With m == 0 or n == 0 nothing is done.
/// - NaN and infinity in A and B propagate as in BLAS.
/// - C overlaps neither A nor B. This is checked exactly where they have the same ld, as blocks of
///   one matrix do, and otherwise by address range.
typedef struct rooftile_sgemm_args {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_sgemm_args).
  rooftile_layout layout;
  rooftile_transpose trans_a, trans_b;
  int64_t m, n, k;
  float alpha;
  const float* a;
  int64_t lda;
  const float* b;
  int64_t ldb;
  float beta;
  float* c;
  int64_t ldc;
  rooftile_tier tier;
  const rooftile_guard* guard;  ///< NULL: the context's precision, no scan and no check.
  rooftile_packed* packed;      ///< A or B, packed before. Then a or b may be NULL, and its ld 0.
  int64_t devices;              ///< A rooftile_devices.
} rooftile_sgemm_args;

typedef enum rooftile_bias {
  ROOFTILE_BIAS_NONE = 0,
  ROOFTILE_BIAS_ROW = 1,    ///< m values, one for each row of C.
  ROOFTILE_BIAS_COLUMN = 2  ///< n values, one for each column of C.
} rooftile_bias;

/// NaN stays NaN. Infinities become what the formulas give in NumPy: GELU and SiLU of -infinity
/// are NaN.
typedef enum rooftile_activation {
  ROOFTILE_ACTIVATION_NONE = 0,
  ROOFTILE_RELU = 1,
  ROOFTILE_GELU_ERF = 2,   ///< x/2 (1 + erf(x / sqrt 2))
  ROOFTILE_GELU_TANH = 3,  ///< Approximation of GELU_ERF by tanh.
  ROOFTILE_SILU = 4        ///< x / (1 + exp(-x))
} rooftile_activation;

/// Operations fused behind the multiplication:
///   y = alpha * (op(A) * op(B))[i][j] * row_scale[i] * column_scale[j] + beta * C[i][j] + bias
///   C[i][j] := clamp(activation(y) + residual[i][j])
/// The two scales are multiplied in either order. Zero or NULL leaves an operation out. All members
/// of a batch share the vectors. Rows and columns are those of C as the caller sees it, in either
/// layout. Scales, bias and residual are float, or double beside operands of type F64. A C of the
/// same type may itself be the residual (same pointer and ld); otherwise C overlaps none of the
/// epilogue's operands.
typedef struct rooftile_epilogue {
  size_t struct_size;        ///< Set by the caller to sizeof(rooftile_epilogue).
  const void* row_scale;     ///< m values
  const void* column_scale;  ///< n values
  rooftile_bias bias_kind;
  const void* bias;
  rooftile_activation activation;
  /// Stored like C, with a leading dimension and a batch stride of its own.
  const void* residual;
  int64_t ld_residual, stride_residual;
  /// If not 0, results are limited to the range from low to high, neither of which is NaN; NaN
  /// stays NaN.
  int clamp;
  float low, high;           ///< 0 beside operands of type F64,
  double low_f64, high_f64;  ///< which have these. 0 beside the others.
} rooftile_epilogue;

/// Element types.
typedef enum rooftile_type {
  ROOFTILE_F32 = 0,
  ROOFTILE_F16 = 1,   ///< IEEE half precision
  ROOFTILE_BF16 = 2,  ///< bfloat16: the upper half of a float32.
  ROOFTILE_I8 = 3,  ///< Signed 8-bit integer, for A and B only: products and sums are exact int32.
  /// C of I8 or U8 operands: alpha and beta are 0 or 1, and there is no epilogue.
  ROOFTILE_I32 = 4,
  ROOFTILE_U8 = 5,  ///< Unsigned 8-bit integer; otherwise the same as I8.
  /// IEEE double precision, for A, B and C together. Sums are float64, which meets every
  /// rooftile_precision.
  ROOFTILE_F64 = 6
} rooftile_type;

/// Zero point of quantised values.
typedef enum rooftile_zero_point {
  ROOFTILE_ZERO_POINT_MIDDLE = 0,  ///< 8 for 4-bit values, 128 for 8-bit values.
  ROOFTILE_ZERO_POINT_PACKED = 1,  ///< One integer of `bits` bits for each block.
  ROOFTILE_ZERO_POINT_FLOAT = 2    ///< One floating-point number of A's type for each block.
} rooftile_zero_point;

/// Blocks of a GGUF file: n rows of whole blocks along k, as a tensor of the format lies in the
/// file. A tensor's first size is k, and the product of the others is n.
typedef enum rooftile_block_format {
  ROOFTILE_BLOCKS_MATMULNBITS = 0,  ///< No such blocks: scales lie apart.
  ROOFTILE_BLOCKS_Q4_0 = 1,         ///< 32 values in 18 bytes.
  ROOFTILE_BLOCKS_Q5_0 = 2,         ///< 32 values in 22 bytes.
  ROOFTILE_BLOCKS_Q8_0 = 3,         ///< 32 values in 34 bytes.
  ROOFTILE_BLOCKS_Q4_K = 4,         ///< 256 values in 144 bytes.
  ROOFTILE_BLOCKS_Q5_K = 5,         ///< 256 values in 176 bytes.
  ROOFTILE_BLOCKS_Q6_K = 6,         ///< 256 values in 210 bytes.
  ROOFTILE_BLOCKS_MXFP4 = 7,        ///< 32 values in 17 bytes.
  ROOFTILE_BLOCKS_Q4_1 = 8,         ///< 32 values in 20 bytes.
  ROOFTILE_BLOCKS_Q5_1 = 9,         ///< 32 values in 24 bytes.
  ROOFTILE_BLOCKS_Q2_K = 10,        ///< 256 values in 84 bytes.
  ROOFTILE_BLOCKS_Q3_K = 11,        ///< 256 values in 110 bytes.
  ROOFTILE_BLOCKS_IQ4_NL = 12,      ///< 32 values in 18 bytes.
  ROOFTILE_BLOCKS_IQ4_XS = 13,      ///< 256 values in 136 bytes.
  ROOFTILE_BLOCKS_NVFP4 = 14        ///< 64 values in 36 bytes, without the tensor's own scale.
} rooftile_block_format;

/// Quantised B, stored as by ONNX Runtime's operator MatMulNBits, or in the blocks of a GGUF file
/// (format).
/// - Values: n rows of ceil(k / block) blocks of `block` unsigned values along k, of 4 bits (low
///   nibble first) or 8 bits each. The last block of a row is padded with arbitrary values. A value
///   q stands for (q - zero point) * scale of its block.
/// - Scales, and zero points of kind FLOAT: n x ceil(k / block) elements of A's type.
/// - Zero points of kind PACKED: n rows of ceil(ceil(k / block) * bits / 8) bytes, low nibble
///   first.
/// - INVALID_ARGUMENT: NaN in the scales or float zero points of operands in host memory; with an
///   F16 A also a block whose scale and zero point let some q of `bits` bits stand for a weight
///   beyond 65504, because weights may be rounded to F16 before they are multiplied. Operands on a
///   device are checked in the same way (resident.h).
/// - Blocks of a GGUF file: bits and block are 0 or those of the format, zero_point is MIDDLE, and
///   there are no scales and zero points. INVALID_ARGUMENT: a block in host memory with a scale
///   that is infinite or NaN, or that allows weights beyond A's type: with an F16 A beyond 65504,
///   with another one beyond 3.4e38, which only MXFP4 can. Blocks on a device are not checked:
///   results are then NaN or infinite.
/// - Sums are float32, whatever f16_sums says.
typedef struct rooftile_quantization {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_quantization).
  int bits;            ///< 4 or 8
  int block;           ///< 16, 32, 64, 128 or 256
  rooftile_zero_point zero_point;
  /// Length of B in bytes. It is checked against n and k, as are the lengths of the scales and zero
  /// points.
  size_t values_bytes;
  const void* scales;
  size_t scales_bytes;
  const void* zero_points;  ///< Not read for ROOFTILE_ZERO_POINT_MIDDLE.
  size_t zero_points_bytes;
  int64_t format;  ///< A rooftile_block_format.
} rooftile_quantization;

/// Arguments of rooftile_gemm: `batch` calls of one shape, C := alpha * op(A) * op(B) + beta * C,
/// with operands of any type and an epilogue. Fields that rooftile_sgemm_args has as well mean the
/// same here.
/// - Batches: matrix i of an operand starts i strides (in elements) behind its pointer, or at entry
///   i of its array if the array is not NULL; then pointer and stride are ignored. With stride 0
///   for A or B, the whole batch shares that matrix. The matrices C must not overlap each other; by
///   stride, they may lie behind each other or side by side in the rows of one matrix.
/// - Precision: sums are float32 (int32 for I8 and U8, float64 for F64). Results are rounded to the
///   nearest value of C's type, or to one of the two neighbouring values on devices that round
///   otherwise.
/// - Quantised B: A is F32 or F16 (or BF16 beside the blocks of a GGUF file), layout is ROW_MAJOR,
///   trans_b is TRANSPOSE, ldb is 0 or ceil(k / block) * block, and the whole batch shares B
///   (stride_b is 0).
typedef struct rooftile_gemm_args {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_gemm_args).
  rooftile_type type;  ///< Type of A and B.
  rooftile_type type_c;
  /// If not 0, sums of F16 products may be kept in half precision where that is faster.
  int f16_sums;
  rooftile_layout layout;
  rooftile_transpose trans_a, trans_b;
  int64_t m, n, k;
  int64_t batch;  ///< Number of matrices, at least 1.
  float alpha, beta;
  const void* a;
  const void* b;
  void* c;
  int64_t lda, ldb, ldc;
  int64_t stride_a, stride_b, stride_c;
  const void* const* a_array;
  const void* const* b_array;
  void* const* c_array;
  const rooftile_quantization* quantization;  ///< NULL: B has A's type.
  const rooftile_epilogue* epilogue;          ///< NULL: no epilogue.
  rooftile_tier tier;
  const rooftile_guard* guard;  ///< NULL: the context's precision, no scan and no check.
  rooftile_packed* packed;      ///< A or B, packed before. Then a or b may be NULL, and its ld 0.
  int64_t devices;              ///< A rooftile_devices.
  /// The scalars of F64 operands, whose alpha and beta stay 0. With other types these two stay 0.
  /// A library of version 0.1.0 does not know them.
  double alpha_f64, beta_f64;
} rooftile_gemm_args;

/// One of the seven factors of the dispatch score. A value above 1 favours the device.
typedef struct rooftile_factor {
  char name[32];
  double value;
  double ns;  ///< Change of the device's predicted time; a positive value is a cost.
} rooftile_factor;

/// Why a call ran on the tier that answered it.
typedef enum rooftile_reason {
  ROOFTILE_REASON_PREDICTED = 0,  ///< The tier is predicted to be fastest.
  ROOFTILE_REASON_FORCED = 1,     ///< The arguments, the options or the environment name the tier.
  /// The host answered because the device's kernel is not compiled yet.
  ROOFTILE_REASON_COMPILING = 2,
  ROOFTILE_REASON_FAILED = 3,         ///< The host answered because the device failed.
  ROOFTILE_REASON_NOTHING_TO_DO = 4,  ///< m or n is 0.
  /// The host answered because of the precision of the call, or because of what the guard found.
  ROOFTILE_REASON_PRECISION = 5,
  /// Earlier measured calls of the same problem on this thread found the tier to be faster, or the
  /// tier is being measured.
  ROOFTILE_REASON_MEASURED = 6
} rooftile_reason;

/// Explanation of a tier choice. Predictions are in ns. device_ns is infinity when the device
/// cannot be used; veto then gives the reason. score is the product of the factors: predicted host
/// time over predicted device time, or 0 when the device cannot be used. docs/explain.md lists the
/// names of vetoes.
typedef struct rooftile_decision {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_decision).
  /// rooftile_explain: the tier that these arguments lead to. rooftile_last_decision: the tier that
  /// answered.
  rooftile_tier tier;
  rooftile_reason reason;  ///< rooftile_explain sets PREDICTED, FORCED or PRECISION.
  double device_ns, host_ns, host1_ns;
  double upload_ns, kernel_ns, download_ns, submit_ns;  ///< Parts of device_ns.
  double score;
  rooftile_factor factors[7];
  /// Name of the device kernel that would run, "" when there is none. rooftile_last_decision gives
  /// the one that ran, where the device answered: it may be another one while the best is compiled.
  char kernel[160];
  char device[256];    ///< Name of the tuned device, "" when there is none.
  char veto[256];      ///< Why the device cannot be used, "" when it can.
  char veto_name[32];  ///< Veto for programs: "none", "not_tuned", "does_not_fit", ...
  /// Time of the kernel that was tuned on exactly these sizes, packing included; 0 when there is
  /// none.
  double measured_kernel_ns;
  /// Part of device_ns: the pass over C after a kernel without epilogue, where no kernel fuses the
  /// epilogue or has the types (on the device where C is there, otherwise on the host); else 0.
  double pass_ns;
  /// Predicted time of the best division over devices and the host; 0 where none was asked for, or
  /// none is possible.
  double split_ns;
  /// Tier SPLIT: who computes how much, such as "llvmpipe 1216, host1 832 rows", else "".
  /// rooftile_last_decision gives the shares of that call.
  char split[200];
  char split_reason[248];  ///< Why the call is split or not; "" where that was not asked for.
  /// Predicted time of the host with float64 sums, with which the score compares the device where
  /// the precision asks for them; else 0. Not in version 0.1.0.
  double host64_ns;
  /// Not 0: the tier is DEVICE, and the precision (HALF, INT8) lets its kernels round float32
  /// operands. Not in version 0.1.0.
  int may_round_operands;
} rooftile_decision;

/// Opens a context, which the caller frees with rooftile_close. *context is NULL on failure;
/// options may be NULL. No Vulkan device is opened, and no thread for it is started, before a call
/// needs one. Neither this function nor the first call that needs the device belongs into an exit
/// handler or the destructor of a static object, because what they use may be destroyed by then.
///
/// Errors: INVALID_ARGUMENT (options), DATABASE_ERROR, UNSUPPORTED (no BLAS library on this
/// machine), OUT_OF_MEMORY. A missing or locked database or a missing driver is no error.
ROOFTILE_API rooftile_status rooftile_open(const rooftile_options* options,
                                           rooftile_context** context);

/// Frees the context; NULL is allowed. No call on the context may be running. The function waits
/// for a kernel that is being compiled, or a device that is being opened. So does a process that
/// ends, or unloads the library, without closing its contexts.
ROOFTILE_API void rooftile_close(rooftile_context* context);

/// Writes the counts of problems without a tuned kernel to the database now. This is for programs
/// that end without rooftile_close. It must not be called from an exit handler, because the
/// thread-local data of the thread that calls exit is already destroyed. NULL is allowed.
/// Thread-safe.
ROOFTILE_API void rooftile_flush(rooftile_context* context);

/// Computes C := alpha * op(A) * op(B) + beta * C in float32; see rooftile_sgemm_args. Thread-safe
/// on one context.
/// - Errors leave C untouched, with two exceptions. Where beta is 0, so that C's old content is not
///   needed, a forced device that fails may already have written into C. And a forced device that
///   fails in a call that exceeds its buffers leaves the slices of C that were finished
///   (docs/faults.md).
/// - Under AUTO a lost device, a failing driver or a kernel that cannot run is no error: the next
///   kernel answers, and in the end the host. Where a call is split (rooftile_devices), the other
///   devices or the host compute the part of one that fails. Only if the host is out of memory as
///   well, the call fails, and leaves in C the parts that were finished.
/// - Under AUTO a device that hangs is no error either. It is given up after 100 times the
///   predicted time, and after 10 s at the earliest. But a call whose memory the device uses
///   without a copy does not return before the device has finished or its driver reports it as lost
///   (docs/memory.md).
ROOFTILE_API rooftile_status rooftile_sgemm(rooftile_context* context,
                                            const rooftile_sgemm_args* args);

/// Same as rooftile_sgemm, for everything that rooftile_gemm_args describes. One decision holds for
/// the whole batch, which a device runs in one submission. A device fuses the epilogue if a kernel
/// with that epilogue is tuned (`rooftile tune --epilogue ...`). The host makes a pass over C and
/// copies operands that are not float32.
ROOFTILE_API rooftile_status rooftile_gemm(rooftile_context* context,
                                           const rooftile_gemm_args* args);

/// Fills *decision with the tier that rooftile_sgemm would choose for these arguments, and the
/// reasons. Pointers in args are not dereferenced. Thread-safe.
ROOFTILE_API rooftile_status rooftile_explain(rooftile_context* context,
                                              const rooftile_sgemm_args* args,
                                              rooftile_decision* decision);

/// Same as rooftile_explain, for rooftile_gemm.
ROOFTILE_API rooftile_status rooftile_explain_gemm(rooftile_context* context,
                                                   const rooftile_gemm_args* args,
                                                   rooftile_decision* decision);

/// Fills *decision for the calling thread's last rooftile_sgemm or rooftile_gemm on this context.
/// Tier, reason and, if the device answered, the kernel are those of that call; the rest is what
/// rooftile_explain now gives for its problem. Thread-safe. UNSUPPORTED when that call failed or
/// there was none.
ROOFTILE_API rooftile_status rooftile_last_decision(rooftile_context* context,
                                                    rooftile_decision* decision);

/// Returns the message of this thread's last call that did not return ROOFTILE_OK, or "" when there
/// was none. The library owns the text, which is valid until the thread's next failing call.
ROOFTILE_API const char* rooftile_last_error(void);

/// Returns the version of the loaded library, such as "0.1.0". The macros above give the version of
/// the header that the program was compiled with.
ROOFTILE_API const char* rooftile_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include <rooftile/resident.h>

#endif /* ROOFTILE_ROOFTILE_H_ */
