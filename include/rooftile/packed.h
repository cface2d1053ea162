/* Rooftile: operands that are packed once and used by many calls. Part of rooftile.h.
 *
 * The fastest kernels read A or B in a layout of their own. Making it takes a pass over the operand
 * in every call, and an operand in host memory has to get to the device first. For weights, which
 * stay the same from call to call, both can be done once:
 *
 *     rooftile_pack_args pack = {sizeof pack, ROOFTILE_OPERAND_B, &call};   // call.b: the weights
 *     rooftile_pack(context, &pack, &weights);
 *     call.packed = weights;
 *     rooftile_gemm(context, &call);                                       // again and again
 *
 * A packed operand is a copy in the device's memory. It is valid for one context, one of A and B,
 * one type (or quantisation), one transposition and one size of that operand; everything else may
 * differ from call to call: the other operand's size and transposition, alpha, beta, the type of C,
 * the epilogue, the tier, and the batch, whose products all share the operand (its stride is 0).
 * rooftile_sgemm, rooftile_gemm, rooftile_explain, rooftile_explain_gemm, the functions of
 * resident.h and those of vulkan.h take it in args->packed.
 *
 * The operand itself. It may be changed or freed when the packing function has returned; the packed
 * operand does not follow. A call may give it as well, in args->a or args->b (in operands->a or
 * operands->b on device buffers), with the same contents:
 *   - With it the host can answer: where it is predicted to be faster, where its tier was asked
 * for, while a kernel is compiled, when the device fails, and on machines without a tuned device.
 * Scans, spot checks and float64 sums (rooftile_guard) need it, too. Programs that keep their
 * weights in host memory anyway should give it.
 *   - Without it (a null pointer, or no buffer; ld may be 0 then) the call runs on the device, and
 *     waits for its kernel, or fails: UNSUPPORTED where no kernel can compute it on the device (if
 *     those that read its layouts have failed, packing it again keeps what others read),
 *     DEVICE_ERROR when the device is lost.
 *
 * Kernels. A packed operand is made for the sizes that the caller expects. For each of them it
 * holds the layout that the fastest kernel reads, where packing costs nothing; kernels that read
 * the same layout share it. Where that kernel reads the operand as it is stored, the layout is a
 * plain copy. A call of another size runs the fastest of the kernels that read one of these
 * layouts, or the operand as stored. If some size would find none, a plain copy is held as well.
 *
 * Packed operands are names, as the handles of resident.h are: one that was released is refused
 * with INVALID_ARGUMENT. All functions are thread-safe, and any number of calls, from any thread,
 * may use one packed operand at a time. In a process forked from one that has used the device only
 * release is allowed, and calls that give the operand are answered by the host. */
#ifndef ROOFTILE_PACKED_H_
#define ROOFTILE_PACKED_H_

#include <rooftile/resident.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rooftile_operand { ROOFTILE_OPERAND_A = 0, ROOFTILE_OPERAND_B = 1 } rooftile_operand;

typedef struct rooftile_pack_args {
  size_t struct_size; /* sizeof(rooftile_pack_args) */
  rooftile_operand operand;
  /* A call as it is going to be made: type, quantisation, layout, transposes, m, n, k, leading
   * dimensions, batch and epilogue say which kernels compete. Of its pointers only those of the
   * operand (and of a quantised B's scales and zero points) are read. Its packed field is NULL. */
  const rooftile_gemm_args* call;
  /* What other calls will have for m (for n, where A is packed), the call's own being the first: 1
   * and 512, say, for a language model that reads a prompt of 512 tokens and then writes one after
   * the other. May be NULL where size_count is 0. */
  const int64_t* sizes;
  size_t size_count; /* at most 64 */
} rooftile_pack_args;

/* What a packed operand is. */
typedef struct rooftile_packed_info {
  size_t struct_size;    /* set by the caller to sizeof(rooftile_packed_info) */
  uint64_t device_bytes; /* that it takes from the device's memory, until it is released */
  int layouts;           /* of panels, and the plain copy; 0: no device computes with it */
  int plain_copy;        /* 1: one of them is the operand as it is stored */
  char kernel[160]; /* for the call that it was made with, in the words of rooftile_decision; ""
                       when there is none */
} rooftile_packed_info;

/* Packs an operand in host memory for the device that the context has tuned kernels for. Opens the
 * device and compiles the kernels if need be, and returns when all is done.
 * Where no device computes such calls (nothing is tuned, the device is absent or lost) this is no
 * error: then nothing is held, and calls need the operand, which the host multiplies with.
 * Errors (nothing is held): INVALID_ARGUMENT, OUT_OF_MEMORY, TIMEOUT. */
ROOFTILE_API rooftile_status rooftile_pack(rooftile_context* context,
                                           const rooftile_pack_args* args,
                                           rooftile_packed** packed);

/* The same for an operand in a buffer of the device: operands->a or operands->b, with
 * operands->scales and operands->zero_points for a quantised B. All pointers of args->call are
 * NULL, as in rooftile_resident_gemm; the other places are not looked at, but for the epilogue's,
 * which say what it has. Runs after all that was asked for before. Without tuned kernels a plain
 * copy is held, which the plain kernel reads. Errors (nothing is held): INVALID_ARGUMENT,
 * UNSUPPORTED, OUT_OF_MEMORY, DEVICE_ERROR, TIMEOUT. */
ROOFTILE_API rooftile_status rooftile_resident_pack(rooftile_context* context,
                                                    const rooftile_pack_args* args,
                                                    const rooftile_resident_operands* operands,
                                                    rooftile_packed** packed);

ROOFTILE_API rooftile_status rooftile_packed_query(rooftile_packed* packed,
                                                   rooftile_packed_info* info);

/* The memory lives on until the calls, runs, lists and recordings that use it are finished or
 * released. May be called after the context was closed. NULL is fine. */
ROOFTILE_API rooftile_status rooftile_packed_release(rooftile_packed* packed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ROOFTILE_PACKED_H_ */
