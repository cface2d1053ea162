/* Rooftile: products on data that stays on the device. Part of rooftile.h.
 *
 * Buffers are the device's memory; products read and write them asynchronously, and lists run
 * several products in one submission. Everything that is put on a context's device runs in the
 * order in which it was asked for, and each piece of work sees what those before it have written.
 *
 * The device is the one that the context has tuned kernels for. Without any it is the best one that
 * Vulkan offers (options.device and $ROOFTILE_DEVICE choose), and one plain kernel computes
 * everything: right, not fast. That kernel, wherever the database has no certificate of it, is
 * checked against float64 once a process before its first use. Kernels are chosen for the operands
 * as they lie: a leading dimension or an offset that vectors do not divide may cost the fastest
 * one. Leading dimensions and strides that are multiples of 4 elements (16 for I8 and U8), and
 * offsets of whole multiples of 16 bytes, are best.
 *
 * There is no host tier here: a device that fails is an error, ROOFTILE_DEVICE_ERROR, of the call
 * or of the wait for it. What products after a lost device would have written is undefined, and
 * every later call on that device fails: open the context again.
 *
 * The handles are names, not addresses: one that was released is refused with INVALID_ARGUMENT, and
 * never used again for something else. All functions are thread-safe; two threads that use the same
 * bytes of a buffer agree on who comes first. Errors leave results as they were and set
 * rooftile_last_error. A handle keeps its device alive: it may be released after the context is
 * closed. In a process forked from one that has used the device only release is allowed. */
#ifndef ROOFTILE_RESIDENT_H_
#define ROOFTILE_RESIDENT_H_

#include <rooftile/rooftile.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rooftile_buffer rooftile_buffer; /* memory of the device */
typedef struct rooftile_run rooftile_run;       /* work on its way */
typedef struct rooftile_list rooftile_list;     /* products and transfers to be run together */

/* No timeout. */
#define ROOFTILE_FOREVER UINT64_MAX

/* ---- Buffers ---- */

/* At least so many bytes (more than 0), rounded up to a multiple of 16; what is in them is
 * undefined. Opens the device if it was not. OUT_OF_MEMORY above what the device allocates at once
 * or has left, UNSUPPORTED when there is no device, DEVICE_ERROR. */
ROOFTILE_API rooftile_status rooftile_buffer_create(rooftile_context* context, size_t bytes,
                                                    rooftile_buffer** buffer);

/* The memory lives on until all work that uses it, and every list with it, is finished or released.
 * NULL is fine. */
ROOFTILE_API rooftile_status rooftile_buffer_release(rooftile_buffer* buffer);

ROOFTILE_API rooftile_status rooftile_buffer_size(rooftile_buffer* buffer, size_t* bytes);

/* Copy, and return when it is done: after all work that uses the buffer and was asked for before.
 * INVALID_ARGUMENT for bytes that are not in the buffer; TIMEOUT when the device hangs, which is
 * then given up. */
ROOFTILE_API rooftile_status rooftile_buffer_upload(rooftile_buffer* buffer, size_t offset_bytes,
                                                    const void* from, size_t bytes);
ROOFTILE_API rooftile_status rooftile_buffer_download(rooftile_buffer* buffer, size_t offset_bytes,
                                                      void* to, size_t bytes);

/* ---- Products ---- */

/* Where an operand starts: so many elements behind the start of a buffer, which is how a part of a
 * buffer is used. Elements are those of the operand's type: float for scales of rows and columns,
 * bias and residual, A's type for a quantised B's scales and float zero points; bytes for a
 * quantised B itself, packed zero points and a workspace. Any offset will do for most: a quantised
 * B, its scales and its zero points start at a multiple of 256 bytes (of the device's own
 * alignment, which is that at most), and so does a workspace. */
typedef struct rooftile_place {
  rooftile_buffer* buffer; /* NULL: there is no such operand */
  int64_t offset;
} rooftile_place;

/* The operands of one product, or of a batch by strides; its problem is a rooftile_gemm_args whose
 * pointers are all NULL, with an epilogue and a quantisation whose pointers are NULL as well (their
 * other fields count, lengths included). An epilogue has the scales, the bias and the residual
 * whose buffers are named here. Batches lie a stride apart: arrays of pointers are not for buffers.
 * All buffers belong to the context. What rooftile_gemm says of operands that overlap holds within
 * a buffer. Scales and zero points are not searched for NaN.
 * Results are those of ROOFTILE_PRECISION_STANDARD. A call fails with UNSUPPORTED where its guard,
 * or without one the context, asks for more: for HIGH, EXACT64, a scan, a check, or a kappa of at
 * least 1000. (An int32 C is exact and takes any precision.) In a context of such a precision a
 * guard of ROOFTILE_PRECISION_STANDARD says that the call may do without it. */
typedef struct rooftile_resident_operands {
  size_t struct_size; /* sizeof(rooftile_resident_operands) */
  rooftile_place a, b, c;
  rooftile_place row_scale, column_scale, bias, residual; /* with args->epilogue */
  rooftile_place scales, zero_points;                     /* with args->quantization */
  /* For re-laid out operands and parts of a product that is split along k. No buffer: one of the
   * context's own, which all its products share. */
  rooftile_place workspace;
  /* At most so many bytes: kernels that take more are passed over, and the plain one takes none
   * (unless scales and bias lie in different buffers: then 4 bytes an element of them). 0: to the
   * end of the workspace's buffer; without one, a quarter of the device's memory. */
  size_t workspace_bytes;
} rooftile_resident_operands;

/* What a product will be computed with. */
typedef struct rooftile_prepared {
  size_t struct_size;     /* set by the caller to sizeof(rooftile_prepared) */
  size_t workspace_bytes; /* that it takes */
  double expected_ns;     /* predicted from tuning; of the plain kernel an upper guess */
  char kernel[160];       /* in the words of rooftile_decision; "" when there is nothing to do */
} rooftile_prepared;

/* Chooses the kernel for this product and compiles it, so that none of the calls below has to wait
 * for that; says which it is, if prepared is not NULL. Contents are not touched.
 * UNSUPPORTED, with what stands in the way, when no kernel can: an operand beyond 32-bit element
 * addresses or the device's largest binding, or a quantised B whose offset is not aligned. */
ROOFTILE_API rooftile_status rooftile_resident_prepare(rooftile_context* context,
                                                       const rooftile_gemm_args* args,
                                                       const rooftile_resident_operands* operands,
                                                       rooftile_prepared* prepared);

/* Puts the product on the device's queue and returns; args->tier is AUTO or DEVICE. Products of
 * more than a quarter of a second run as several submissions, for the operating system's watchdog.
 * *run is to be released; run may be NULL: a failure then shows in whatever is waited for next. */
ROOFTILE_API rooftile_status rooftile_resident_gemm(rooftile_context* context,
                                                    const rooftile_gemm_args* args,
                                                    const rooftile_resident_operands* operands,
                                                    rooftile_run** run);

/* Waits until everything asked for on the context's device is finished. Host memory of a list's
 * downloads is not filled by this. TIMEOUT when it takes longer; that breaks nothing. */
ROOFTILE_API rooftile_status rooftile_resident_finish(rooftile_context* context,
                                                      uint64_t timeout_ns);

/* OK when the work is finished and has succeeded; then host memory that it downloads to is filled.
 * TIMEOUT when it is not finished in so long (0: does not wait); it may be waited for again.
 * DEVICE_ERROR when the device was lost, or given up by another call, maybe meanwhile. */
ROOFTILE_API rooftile_status rooftile_run_wait(rooftile_run* run, uint64_t timeout_ns);

/* The work goes on. Host memory that it downloads to is not touched any more. NULL is fine. */
ROOFTILE_API rooftile_status rooftile_run_release(rooftile_run* run);

/* ---- Lists ---- */

/* Products and transfers that run in one submission (several, where they take more than a quarter
 * of a second together), in the order in which they are added; a barrier is put where one touches
 * what another wrote. */
ROOFTILE_API rooftile_status rooftile_list_create(rooftile_context* context, rooftile_list** list);

/* Chooses and compiles the kernel, as rooftile_resident_prepare. */
ROOFTILE_API rooftile_status rooftile_list_gemm(rooftile_list* list, const rooftile_gemm_args* args,
                                                const rooftile_resident_operands* operands);

/* Host memory is read by each rooftile_list_run, before it returns. */
ROOFTILE_API rooftile_status rooftile_list_upload(rooftile_list* list, rooftile_buffer* buffer,
                                                  size_t offset_bytes, const void* from,
                                                  size_t bytes);

/* Host memory is filled by the rooftile_run_wait that returns OK: it has to be there until then, or
 * until the run and the list are released. */
ROOFTILE_API rooftile_status rooftile_list_download(rooftile_list* list, rooftile_buffer* buffer,
                                                    size_t offset_bytes, void* to, size_t bytes);

/* Puts the list on the device's queue and returns. It may be run again before it is finished: runs
 * follow each other. A list with transfers waits for its last run first, whose downloads then land.
 * run may be NULL when there are no downloads. */
ROOFTILE_API rooftile_status rooftile_list_run(rooftile_list* list, rooftile_run** run);

/* Runs on their way are not affected. NULL is fine. */
ROOFTILE_API rooftile_status rooftile_list_release(rooftile_list* list);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include <rooftile/packed.h>

#endif /* ROOFTILE_RESIDENT_H_ */
