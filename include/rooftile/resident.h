/// Rooftile: GEMM on data that stays on the device. Part of rooftile.h.
///
/// Order. Buffers are device memory. Calls read and write them asynchronously, and lists run
/// several calls in one submission. All work on a context's device runs in the order in which it
/// was requested, and each piece of work sees what earlier ones have written.
///
/// Device and kernels. The device is the one that the context has tuned kernels for. Without tuned
/// kernels it is the best one that Vulkan offers (options.device and $ROOFTILE_DEVICE choose), and
/// the fallback kernel computes everything, correctly but not fast, until the kernel for a device
/// of its kind is certified in the background (not in deterministic contexts). Preparing a call and
/// adding one to a list wait for that certificate (rooftile_resident_prepare). Where the database
/// has no certificate of the fallback kernel, it is checked against float64 once per process before
/// its first use. Kernels are chosen for the operands as they are stored: a leading dimension or an
/// offset that is not a multiple of the vector width may rule out the fastest kernel. Leading
/// dimensions and strides that are multiples of 4 elements (16 for I8 and U8) and offsets that are
/// multiples of 16 bytes are best.
///
/// Device failures. There is no host tier here. A device that fails makes the call, or the wait for
/// it, fail with ROOFTILE_DEVICE_ERROR. The results of work that was unfinished when the device was
/// lost are undefined, and every later call on that device fails: open the context again
/// (docs/resident.md).
///
/// Handles, threads and errors. Handles are names, not addresses: a released handle is refused with
/// INVALID_ARGUMENT and never reused. All functions are thread-safe; two threads that use the same
/// bytes of a buffer must agree on the order. Errors that are found before submission change no
/// result; all errors set rooftile_last_error. A handle keeps its device alive, so it may be
/// released after the context is closed. In a process forked from one that has used the device,
/// only release is allowed.
#ifndef ROOFTILE_RESIDENT_H_
#define ROOFTILE_RESIDENT_H_

#include <rooftile/rooftile.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rooftile_buffer rooftile_buffer;  ///< Device memory.
typedef struct rooftile_run rooftile_run;        ///< Submitted work.
typedef struct rooftile_list rooftile_list;      ///< Calls and transfers that run together.

/// Timeout that never expires.
#define ROOFTILE_FOREVER UINT64_MAX

/// ---- Buffers ----

/// Allocates at least `bytes` (more than 0) of device memory, rounded up to a multiple of 16. The
/// content is undefined. Opens the device if it is not open. The caller releases *buffer.
///
/// Errors: OUT_OF_MEMORY above what the device can allocate at once or has left, UNSUPPORTED when
/// there is no device, DEVICE_ERROR.
ROOFTILE_API rooftile_status rooftile_buffer_create(rooftile_context* context, size_t bytes,
                                                    rooftile_buffer** buffer);

/// Releases the handle; NULL is allowed. The memory is freed when all work that uses it is finished
/// and every list that uses it is released.
ROOFTILE_API rooftile_status rooftile_buffer_release(rooftile_buffer* buffer);

ROOFTILE_API rooftile_status rooftile_buffer_size(rooftile_buffer* buffer, size_t* bytes);

/// Copy between host memory and a buffer, and return when the copy is done. The copy runs after all
/// work on the buffer that was requested before.
///
/// Errors: INVALID_ARGUMENT for bytes outside the buffer; TIMEOUT when the device hangs, which is
/// then treated as lost: after 100 times the predicted time of the work before, and not before 10
/// s, to which a software device adds 60 s for each kernel that runs for the first time.
ROOFTILE_API rooftile_status rooftile_buffer_upload(rooftile_buffer* buffer, size_t offset_bytes,
                                                    const void* from, size_t bytes);
ROOFTILE_API rooftile_status rooftile_buffer_download(rooftile_buffer* buffer, size_t offset_bytes,
                                                      void* to, size_t bytes);

/// ---- Calls ----

/// Start of an operand: an offset in elements from the start of a buffer, so that an operand may
/// begin inside a buffer. Elements are those of the operand's type: float, or double of F64, for
/// row scales, column scales, bias and residual; A's type for the scales and float zero points of a
/// quantised B; bytes for a quantised B itself, packed zero points and a workspace. Most operands
/// may have any offset. A quantised B, its scales, its zero points and a workspace start at a
/// multiple of 256 bytes (strictly, of the device's own alignment, which is at most that).
typedef struct rooftile_place {
  rooftile_buffer* buffer;  ///< NULL: the operand is absent.
  int64_t offset;
} rooftile_place;

/// The operands of one call, or of a batch by strides. Its problem is a rooftile_gemm_args whose
/// pointers are all NULL, as are the pointers of its epilogue and quantisation; their other fields,
/// lengths included, count. An epilogue has the scales, bias and residual whose buffers are named
/// here.
///
/// - All buffers belong to the context. Arrays of pointers are not supported.
/// - The overlap rules of rooftile_gemm hold within a buffer.
/// - Scales and bias of an epilogue are not searched for NaN, but scales and zero points of a
///   quantised B are (rooftile_resident_gemm).
/// - Results have ROOFTILE_PRECISION_STANDARD. A call fails with UNSUPPORTED where its guard, or
///   without a guard the context, requires more: HIGH, EXACT64, a scan, a check, or a kappa of at
///   least 1000. An int32 C is exact, float64 has float64 sums, and both meet any precision. In a
///   context with such a precision, a guard of ROOFTILE_PRECISION_STANDARD states that the call may
///   do without it.
typedef struct rooftile_resident_operands {
  size_t struct_size;  ///< Set by the caller to sizeof(rooftile_resident_operands).
  rooftile_place a, b, c;
  rooftile_place row_scale, column_scale, bias, residual;  ///< With args->epilogue.
  rooftile_place scales, zero_points;                      ///< With args->quantization.
  /// Memory for packed operands and for the partial sums of split-K. If there is no buffer, the
  /// call uses a workspace of the context that all its calls share.
  rooftile_place workspace;
  /// Limit of the workspace in bytes. Kernels that need more are skipped. The plain kernel needs
  /// none, except the bytes of scales and bias where these lie in different buffers.
  /// 0 means up to the end of the workspace's buffer, or without a buffer a quarter of the device's
  /// memory.
  size_t workspace_bytes;
} rooftile_resident_operands;

/// Kernel that was chosen for a call.
typedef struct rooftile_prepared {
  size_t struct_size;      ///< Set by the caller to sizeof(rooftile_prepared).
  size_t workspace_bytes;  ///< Workspace that the kernel needs.
  double expected_ns;  ///< Time predicted from tuning; for the plain kernel a pessimistic guess.
  char kernel[160];    ///< Name as in rooftile_decision; "" when there is nothing to do.
} rooftile_prepared;

/// Chooses the kernel for this call and compiles it, so that none of the calls below has to wait
/// for that. Fills *prepared unless prepared is NULL. Buffer contents are not touched.
///
/// Where the types, transposes and epilogue of the call were not tuned, it first waits until a
/// kernel for them is certified: tenths of a second on most devices, at most 10 seconds, and once
/// for each kernel if the database can keep the certificate, otherwise once in each process. After
/// 10 seconds (a compiler that hangs, a very slow driver) the call goes on with the plain kernel,
/// a line on stderr says so, and no call waits for that certificate again; calls that are prepared
/// once it is there use it. Calls of several threads wait at the same time. A deterministic context
/// does not wait.
///
/// Errors: UNSUPPORTED, with the reason in the message, when no kernel can compute the call: for
/// example because an operand exceeds 32-bit element addresses or the device's largest binding, or
/// because a quantised B's offset is not aligned.
ROOFTILE_API rooftile_status rooftile_resident_prepare(rooftile_context* context,
                                                       const rooftile_gemm_args* args,
                                                       const rooftile_resident_operands* operands,
                                                       rooftile_prepared* prepared);

/// Submits the call to the device's queue and returns without waiting for it; args->tier is AUTO or
/// DEVICE. The caller releases *run. run may be NULL: a failure is then reported by the next
/// function that waits.
///
/// The scales and zero points of a quantised B are checked as those in host memory are
/// (rooftile_quantization). They are read back before the first call that uses them, and again
/// after an upload or a call has written the buffer that holds them.
///
/// A call of more than a quarter of a second runs as several submissions, so that it does not
/// trigger the operating system's watchdog.
///
/// Errors: INVALID_ARGUMENT, DEVICE_ERROR, OUT_OF_MEMORY, and those of rooftile_resident_prepare.
ROOFTILE_API rooftile_status rooftile_resident_gemm(rooftile_context* context,
                                                    const rooftile_gemm_args* args,
                                                    const rooftile_resident_operands* operands,
                                                    rooftile_run** run);

/// Waits until all requested work on the context's device is finished. It does not fill the host
/// memory of a list's downloads. TIMEOUT when the work takes longer than timeout_ns; the work goes
/// on.
ROOFTILE_API rooftile_status rooftile_resident_finish(rooftile_context* context,
                                                      uint64_t timeout_ns);

/// Waits for submitted work and fills the host memory that it downloads to. timeout_ns == 0 does
/// not wait.
///
/// Returns OK when the work has succeeded, TIMEOUT when it is not finished in time (the caller may
/// wait again), and DEVICE_ERROR when the device was lost, or did not answer another call in time.
ROOFTILE_API rooftile_status rooftile_run_wait(rooftile_run* run, uint64_t timeout_ns);

/// Releases the handle; NULL is allowed. The work goes on, but the host memory that it downloads to
/// is not touched any more.
ROOFTILE_API rooftile_status rooftile_run_release(rooftile_run* run);

/// ---- Lists ----

/// Creates an empty list, which the caller releases. A list holds calls and transfers that run in
/// one submission, in the order in which they are added (in several submissions where they take
/// more than a quarter of a second together). A barrier separates an entry from earlier ones whose
/// results it touches.
ROOFTILE_API rooftile_status rooftile_list_create(rooftile_context* context, rooftile_list** list);

/// Adds a call. Chooses and compiles its kernel, and waits for a certificate, as
/// rooftile_resident_prepare does. The list keeps that kernel.
ROOFTILE_API rooftile_status rooftile_list_gemm(rooftile_list* list, const rooftile_gemm_args* args,
                                                const rooftile_resident_operands* operands);

/// Adds a copy from host memory to a buffer. Each rooftile_list_run reads the host memory before it
/// returns.
ROOFTILE_API rooftile_status rooftile_list_upload(rooftile_list* list, rooftile_buffer* buffer,
                                                  size_t offset_bytes, const void* from,
                                                  size_t bytes);

/// Adds a copy from a buffer to host memory. The rooftile_run_wait that returns OK fills the host
/// memory, which must stay valid until then, or until the run and the list are released.
ROOFTILE_API rooftile_status rooftile_list_download(rooftile_list* list, rooftile_buffer* buffer,
                                                    size_t offset_bytes, void* to, size_t bytes);

/// Submits the list to the device's queue and returns without waiting for it. A list may be run
/// again before it is finished: its runs follow each other. A list with transfers first waits for
/// its last run, whose downloads are then written. run may be NULL when there are no downloads.
///
/// The scales of a quantised B are checked as by rooftile_resident_gemm: those that the list
/// uploads are checked in host memory, those that its own calls write are not checked. If a scale
/// is refused, nothing is run.
ROOFTILE_API rooftile_status rooftile_list_run(rooftile_list* list, rooftile_run** run);

/// Releases the list; NULL is allowed. Submitted runs are not affected.
ROOFTILE_API rooftile_status rooftile_list_release(rooftile_list* list);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include <rooftile/grouped.h>
#include <rooftile/packed.h>

#endif /* ROOFTILE_RESIDENT_H_ */
