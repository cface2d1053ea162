/* Rooftile: matrix products on tuned Vulkan kernels, or on the machine's BLAS where that is predicted
 * to be faster. C ABI.
 *
 * What the choice costs has been measured with Mesa's lavapipe over OpenBLAS on two cores only
 * (bench/results/lavapipe.md): in 12 runs of 300 random products, each called 32 times, the drop-in
 * took 0.947 to 1.005 times as long as OpenBLAS on all threads in total, and 10 of the 3,600 were
 * slower by more than 10 % and 200 ns. Against the best tier of each product, ten runs of 300 took
 * 1.010 to 1.027 times as long on average; first calls alone 1.014 to 1.078.
 *
 * One context serves any number of threads. A context reads the tuning database once, when it is
 * opened; run `rooftile tune` first to let it use a device. Without a database, a device or a
 * driver every call runs on the host's BLAS. A device is opened, and its kernels compiled, by a
 * thread of the context: until a problem's kernel is there, one that compiles quickly may answer
 * (docs/dispatch-score.md, "While a kernel is compiled"), and else the host. A product that a
 * thread makes again is measured, and may change between one thread of the host and all of them. So
 * results of one problem may differ by roundings; rooftile_options.deterministic makes them equal
 * bit by bit. Problems without a tuned kernel are counted in the database, by a thread of the
 * context once a minute and when it is closed.
 *
 * Structures begin with struct_size, which the caller sets to sizeof the structure: by it a library
 * serves programs that were compiled with other headers of its soname. What an older structure
 * lacks counts as zero. A newer one is taken as long as the fields that this library does not know
 * are zero, and else UNSUPPORTED. A result is filled as far as the caller's structure goes, and is
 * zero where the library knows nothing. Other sizes are an INVALID_ARGUMENT. */
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
typedef struct rooftile_packed rooftile_packed; /* an operand that was packed before (packed.h) */

typedef enum rooftile_status {
  ROOFTILE_OK = 0,
  ROOFTILE_INVALID_ARGUMENT = 1, /* a value is wrong; nothing was touched */
  ROOFTILE_UNSUPPORTED = 2,      /* legal, but not on this device, driver or build */
  ROOFTILE_OUT_OF_MEMORY = 3,
  ROOFTILE_DEVICE_ERROR =
      4, /* the driver failed or the device is lost (only when the device tier was forced) */
  ROOFTILE_TIMEOUT = 5,
  ROOFTILE_IO_ERROR = 6,
  ROOFTILE_DATABASE_ERROR = 7, /* the tuning database is unusable: newer, locked, unreadable */
  ROOFTILE_INTERNAL_ERROR = 8
} rooftile_status;

typedef enum rooftile_layout { ROOFTILE_ROW_MAJOR = 0, ROOFTILE_COLUMN_MAJOR = 1 } rooftile_layout;
typedef enum rooftile_transpose {
  ROOFTILE_NO_TRANSPOSE = 0,
  ROOFTILE_TRANSPOSE = 1
} rooftile_transpose;

/* Where a product is computed. Auto: the tier with the lowest predicted time, and the host while
 * the device's kernel is being compiled. A forced tier is used or the call fails; a forced device
 * waits for its kernel, or for one that compiles quickly. */
typedef enum rooftile_tier {
  ROOFTILE_TIER_AUTO = 0,
  ROOFTILE_TIER_DEVICE = 1, /* the device's best legal kernel, once it is compiled */
  ROOFTILE_TIER_HOST = 2,   /* BLAS with all of its threads; in float64 where the precision (or the
                               kappa) of the call or the context asks for it: the tier that has
                               answered is then HOST64 */
  ROOFTILE_TIER_HOST1 = 3,  /* the same with one thread */
  ROOFTILE_TIER_HOST64 = 4  /* BLAS in float64 over widened inputs; alpha, beta and the epilogue in
                               float64, too; the result is rounded once, to C's type. Auto takes it
                               only for a guard or a precision that asks for it */
} rooftile_tier;

/* How good a result has to be. It holds in every function that takes a context, on every tier, or
 * the call fails with UNSUPPORTED; docs/precision.md has the table. */
typedef enum rooftile_precision {
  ROOFTILE_PRECISION_DEFAULT = 0,  /* the context's; its own default is $ROOFTILE_PRECISION
                                      (relaxed, standard, high, exact64), else STANDARD */
  ROOFTILE_PRECISION_RELAXED = 1,  /* as STANDARD, whatever kappa says */
  ROOFTILE_PRECISION_STANDARD = 2, /* as sums in the types' own precision are, in any order */
  ROOFTILE_PRECISION_HIGH = 3,     /* within 1e-6 of an element's sum of magnitudes, plus the
                                      rounding to C's type: a device's operands are scanned and 16
                                      elements of its result checked; the host computes in float64.
                                      f16_sums is ignored */
  ROOFTILE_PRECISION_EXACT64 = 4   /* sums in float64, rounded once: tier HOST64. UNSUPPORTED with
                                      a forced device */
} rooftile_precision;

/* What is asked of one call; docs/precision.md. */
typedef struct rooftile_guard {
  size_t struct_size; /* sizeof(rooftile_guard) */
  rooftile_precision precision;
  int scan_range;  /* not 0: infinity and NaN, sums that may overflow, and integers whose sums may
                      pass 2^24 keep a call from the device */
  int check_spots; /* not 0: 16 random elements of a device's result are recomputed in float64.
                      Where one is off by more than 1e-4 of its sum of magnitudes (HIGH: 1e-6) the
                      result is thrown away and the host answers. Where rounding does not explain
                      it, the kernel is not used any more before `rooftile tune` has certified it
                      anew */
  double kappa;    /* condition number of what will be done with C; from 1000 on the call is done as
                      for EXACT64, unless precision is RELAXED. 0: not known */
} rooftile_guard;

/* Set struct_size to sizeof; zero or NULL fields take their defaults. */
typedef struct rooftile_options {
  size_t struct_size;
  const char* database_path; /* default: $ROOFTILE_DB, else rooftile/rooftile.db in the user's data
                                folder */
  const char* device; /* substring of a device's name or UUID; default: $ROOFTILE_DEVICE, else the
                         best tuned one */
  rooftile_tier
      tier; /* for every call whose own tier is AUTO; default: $ROOFTILE_TIER, else auto */
  int no_untuned_log; /* not 0: problems without a tuned kernel are not counted for `rooftile tune
                         --from-log`; default: they are, unless $ROOFTILE_LOG_UNTUNED is "off" */
  int deterministic;  /* not 0: for one database the same call gives the same bits, in every run and
                         from any number of threads. Costs: no kernels that add atomically, host
                         tiers on one thread of OpenBLAS, and a call waits for its kernel to be
                         compiled. Only a kernel that fails, which is said on stderr, may change
                         bits. default: $ROOFTILE_DETERMINISTIC, 1 for yes */
  rooftile_precision precision; /* of calls that do not say */
  int no_measured_calls;        /* not 0: a product that is made again stays on the tier that was
                                   predicted. default: its calls are measured, and go to the tier that was
                                   fastest (tiers may differ in the last bits), unless deterministic or
                                   $ROOFTILE_MEASURE_CALLS is "off" */
} rooftile_options;

/* C := alpha * op(A) * op(B) + beta * C in float32, host memory. op(A) is m x k, op(B) k x n, C m x
 * n. ld in elements: at least the length of a stored row (row-major) or column (column-major), and
 * at least 1. beta == 0 writes C without reading it, so NaN in C vanishes; alpha == 0 or k == 0 do
 * not read A and B; m == 0 or n == 0 do nothing. NaN and infinity in A and B propagate as in BLAS.
 * C overlaps neither A nor B (checked: exactly where they have the same ld, as blocks of one matrix
 * do, else by address range). */
typedef struct rooftile_sgemm_args {
  size_t struct_size; /* sizeof(rooftile_sgemm_args) */
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
  const rooftile_guard* guard; /* NULL: the context's precision, no scan, no check */
  rooftile_packed* packed;     /* A or B, packed before: then a or b may be NULL, and its ld 0 */
} rooftile_sgemm_args;

typedef enum rooftile_bias {
  ROOFTILE_BIAS_NONE = 0,
  ROOFTILE_BIAS_ROW = 1,   /* m values: one a row of C */
  ROOFTILE_BIAS_COLUMN = 2 /* n values: one a column of C */
} rooftile_bias;

typedef enum rooftile_activation {
  ROOFTILE_ACTIVATION_NONE = 0,
  ROOFTILE_RELU = 1,
  ROOFTILE_GELU_ERF = 2,  /* x/2 (1 + erf(x / sqrt 2)) */
  ROOFTILE_GELU_TANH = 3, /* its approximation by tanh */
  ROOFTILE_SILU = 4       /* x / (1 + exp(-x)) */
} rooftile_activation;

/* What is fused behind the products:
 *   y = alpha * (product)[i][j] * row_scale[i] * column_scale[j] + beta * C[i][j] + bias
 *   C[i][j] := clamp(activation(y) + residual[i][j])
 * Zero or NULL leaves a part out. All products of a batch share the vectors; rows and columns are
 * those of C as the caller sees it, in either layout. A float32 C may be the residual itself
 * (same pointer and ld), and overlaps nothing else. */
typedef struct rooftile_epilogue {
  size_t struct_size;        /* sizeof(rooftile_epilogue) */
  const float* row_scale;    /* m values */
  const float* column_scale; /* n values */
  rooftile_bias bias_kind;
  const float* bias;
  rooftile_activation activation;
  const float* residual; /* stored as C is, with its own ld and stride between products */
  int64_t ld_residual, stride_residual;
  int clamp; /* 0: none; else results are held between low and high */
  float low, high;
} rooftile_epilogue;

/* Elements. The epilogue's scales, bias and residual are float32 always. */
typedef enum rooftile_type {
  ROOFTILE_F32 = 0,
  ROOFTILE_F16 = 1,  /* IEEE half precision */
  ROOFTILE_BF16 = 2, /* the upper half of a float32 */
  ROOFTILE_I8 = 3,   /* A and B only: products and sums are exact int32 */
  ROOFTILE_I32 = 4,  /* C of I8 or U8 operands: alpha and beta are 0 or 1, there is no epilogue */
  ROOFTILE_U8 = 5    /* as I8, unsigned */
} rooftile_type;

/* Where the zero of quantised values lies. */
typedef enum rooftile_zero_point {
  ROOFTILE_ZERO_POINT_MIDDLE = 0, /* 8 for 4 bits, 128 for 8 */
  ROOFTILE_ZERO_POINT_PACKED = 1, /* an integer of so many bits a block */
  ROOFTILE_ZERO_POINT_FLOAT = 2   /* a float of A's type a block */
} rooftile_zero_point;

/* B as ONNX Runtime's operator MatMulNBits stores it: n rows of ceil(k / block) blocks of `block`
 * unsigned values along k, 4 (low nibble first) or 8 bits each, the last block of a row filled up
 * with anything. A value q stands for (q - zero point) * scale of its block. Scales, and zero
 * points that are floats, are n x ceil(k / block) of A's type; packed zero points have rows of
 * ceil(ceil(k / block) * bits / 8) bytes, low nibble first. Of operands in host memory, NaN in
 * scales or float zero points is an INVALID_ARGUMENT. So is, beside an F16 A, a block whose scale
 * and zero point let some q of `bits` bits stand for a weight beyond 65504, because weights may be
 * rounded to F16 before they are multiplied; and with f16_sums a float zero point beyond twice the
 * largest q. */
typedef struct rooftile_quantization {
  size_t struct_size; /* sizeof(rooftile_quantization) */
  int bits;           /* 4 or 8 */
  int block;          /* 16, 32, 64, 128 or 256 */
  rooftile_zero_point zero_point;
  size_t values_bytes; /* length of B, of the scales and of the zero points: checked against n, k */
  const void* scales;
  size_t scales_bytes;
  const void* zero_points; /* not read for ZERO_POINT_MIDDLE */
  size_t zero_points_bytes;
} rooftile_quantization;

/* batch products of one shape: C := alpha * op(A) * op(B) + beta * C with operands of any type, and
 * an epilogue. Fields that rooftile_sgemm_args has as well mean the same here. Matrix i of an
 * operand lies i strides (elements) behind its pointer, or at entry i of its array, if that is not
 * NULL; then pointer and stride are ignored. Stride 0 for A or B: all products share that matrix.
 * Matrices C must not overlap each other.
 * Sums are float32 (int32 for I8 and U8). Results are rounded to C's type to nearest, or to one of
 * its two neighbours on devices that round otherwise.
 * quantization: B is quantised; then A is F32 or F16, layout ROW_MAJOR, trans_b TRANSPOSE, ldb 0 or
 * ceil(k / block) * block, and all products of a batch share B (stride_b 0). */
typedef struct rooftile_gemm_args {
  size_t struct_size; /* sizeof(rooftile_gemm_args) */
  rooftile_type type; /* of A and B */
  rooftile_type type_c;
  int f16_sums; /* not 0: sums of F16 products may be kept in half precision, where that is faster
                 */
  rooftile_layout layout;
  rooftile_transpose trans_a, trans_b;
  int64_t m, n, k;
  int64_t batch; /* at least 1 */
  float alpha, beta;
  const void* a;
  const void* b;
  void* c;
  int64_t lda, ldb, ldc;
  int64_t stride_a, stride_b, stride_c;
  const void* const* a_array;
  const void* const* b_array;
  void* const* c_array;
  const rooftile_quantization* quantization; /* NULL: B has A's type */
  const rooftile_epilogue* epilogue;         /* NULL: none */
  rooftile_tier tier;
  const rooftile_guard* guard; /* NULL: the context's precision, no scan, no check */
  rooftile_packed* packed;     /* A or B, packed before: then a or b may be NULL, and its ld 0 */
} rooftile_gemm_args;

/* One of the seven factors of the dispatch score: above 1 it favours the device. */
typedef struct rooftile_factor {
  char name[32];
  double value;
  double ns; /* what it changes in the device's predicted time; positive costs */
} rooftile_factor;

/* How a call was answered. */
typedef enum rooftile_reason {
  ROOFTILE_REASON_PREDICTED = 0,     /* by the tier that is predicted to be fastest */
  ROOFTILE_REASON_FORCED = 1,        /* by the tier that arguments, options or environment name */
  ROOFTILE_REASON_COMPILING = 2,     /* by the host: the device's kernel is not compiled yet */
  ROOFTILE_REASON_FAILED = 3,        /* by the host: the device failed */
  ROOFTILE_REASON_NOTHING_TO_DO = 4, /* m or n is 0 */
  ROOFTILE_REASON_PRECISION = 5,     /* by the host: because of the precision that is asked for, or
                                        of what the guard found */
  ROOFTILE_REASON_MEASURED = 6       /* by the tier that earlier calls of the same product on this
                                        thread found to be faster, or that is on trial */
} rooftile_reason;

/* Predictions in ns; device_ns is infinity when the device is out of the race (then veto says why).
 * score is the product of the factors: predicted host time over predicted device time, 0 when
 * vetoed. docs/explain.md lists the names of vetoes. */
typedef struct rooftile_decision {
  size_t struct_size;     /* set by the caller to sizeof(rooftile_decision) */
  rooftile_tier tier;     /* rooftile_explain: that these arguments lead to; rooftile_last_decision:
                             that answered */
  rooftile_reason reason; /* rooftile_explain: PREDICTED, FORCED or PRECISION */
  double device_ns, host_ns, host1_ns;
  double upload_ns, kernel_ns, download_ns, submit_ns; /* parts of device_ns */
  double score;
  rooftile_factor factors[7];
  char kernel[160];          /* the device kernel that would run, "" when none;
                                rooftile_last_decision: that ran, where the device answered: until
                                the one that would run is compiled it may be another */
  char device[256];          /* name of the tuned device, "" when none */
  char veto[256];            /* why the device is out of the race, "" when it is in */
  char veto_name[32];        /* the same for programs: "none", "not_tuned", "does_not_fit", ... */
  double measured_kernel_ns; /* of the kernel tuned on exactly these sizes, packing included; 0 when
                                there is none */
  double pass_ns; /* part of device_ns: the host's pass over C behind a plain kernel, where
                     no kernel has the epilogue or types; else 0 */
} rooftile_decision;

/* Opens a context; *context is NULL on failure. options may be NULL.
 * Errors: INVALID_ARGUMENT (options), DATABASE_ERROR, UNSUPPORTED (no BLAS library on this
 * machine), OUT_OF_MEMORY. A missing or locked database or a missing driver is no error. No Vulkan
 * device is opened, and no thread for it started, before a call needs one. */
ROOFTILE_API rooftile_status rooftile_open(const rooftile_options* options,
                                           rooftile_context** context);

/* Frees the context; no call on it may be running. NULL is fine. Waits for a kernel that is being
 * compiled; so does a process that ends, or unloads the library, without closing its contexts. */
ROOFTILE_API void rooftile_close(rooftile_context* context);

/* Writes now what the context counts (above). For programs that end without rooftile_close; not
 * from a handler of exit, whose thread is half gone. NULL is fine. Thread-safe. */
ROOFTILE_API void rooftile_flush(rooftile_context* context);

/* Thread-safe on one context. Errors leave C untouched, but for one: a device that was asked for
 * and fails may have written into a C whose old content beta, being 0, does not ask for. A lost
 * device, a failing driver or a kernel that cannot run is no error under AUTO: the next kernel, and
 * in the end the host, answers. Nor is a device that hangs: it is given up after a hundred times
 * the predicted time, 10 s at least. But a call whose memory it works in without a copy does not
 * return before the device has ended, or its driver calls it lost (docs/memory.md). */
ROOFTILE_API rooftile_status rooftile_sgemm(rooftile_context* context,
                                            const rooftile_sgemm_args* args);

/* As rooftile_sgemm, for everything that rooftile_gemm_args says: one decision for the whole batch,
 * and on a device one submission. A device fuses the epilogue when a kernel with it is tuned
 * (`rooftile tune --epilogue ...`); the host makes a pass over C, and copies what is not float32.
 */
ROOFTILE_API rooftile_status rooftile_gemm(rooftile_context* context,
                                           const rooftile_gemm_args* args);

/* What rooftile_sgemm would do with these arguments, and why. Pointers in args are not read.
 * Thread-safe. */
ROOFTILE_API rooftile_status rooftile_explain(rooftile_context* context,
                                              const rooftile_sgemm_args* args,
                                              rooftile_decision* decision);

/* The same for rooftile_gemm. */
ROOFTILE_API rooftile_status rooftile_explain_gemm(rooftile_context* context,
                                                   const rooftile_gemm_args* args,
                                                   rooftile_decision* decision);

/* How the calling thread's last rooftile_sgemm or rooftile_gemm on this context was answered, and
 * why: decision as rooftile_explain fills it for that problem now, tier and reason as it was.
 * Thread-safe. UNSUPPORTED when that call failed, or there was none. */
ROOFTILE_API rooftile_status rooftile_last_decision(rooftile_context* context,
                                                    rooftile_decision* decision);

/* Message of this thread's last call that did not return ROOFTILE_OK; "" when there was none. Valid
 * until the thread's next failing call. */
ROOFTILE_API const char* rooftile_last_error(void);

/* "0.1.0": of the library that is loaded, where the macros above are of the header that was
 * compiled. */
ROOFTILE_API const char* rooftile_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include <rooftile/resident.h>

#endif /* ROOFTILE_ROOFTILE_H_ */
