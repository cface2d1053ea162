#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every function that can fail returns one of these. After anything but OK nothing was recorded. */
typedef enum rooftile_embed_status {
  ROOFTILE_EMBED_OK = 0,
  ROOFTILE_EMBED_NULL_ARGUMENT, /* a pointer or a handle that the call needs is null */
  /* A class, size, ld, stride or offset that describes no product, offsets that are no multiples of
     elements (of limits.alignment_bytes for a quantised B), scalars that the class forbids, a clamp
     with NaN or with its low above its high; of record, a C that shares bytes with another
     operand. */
  ROOFTILE_EMBED_BAD_PROBLEM,
  /* The device, or what is enabled on it, is below the needs of every kernel of the class, or the
     limits are none of a device. */
  ROOFTILE_EMBED_UNSUPPORTED_DEVICE,
  /* An operand is beyond a binding, an allocation or 32-bit addresses; k is beyond exact integer
     sums or what the driver's loops run. */
  ROOFTILE_EMBED_TOO_LARGE,
  /* A matrix, its last word of 4 bytes, or the last vector of 16 bytes that the chosen kernel loads
     does not fit. */
  ROOFTILE_EMBED_BUFFER_TOO_SMALL,
  /* Less than choice.workspace_bytes, not aligned, or over another operand. */
  ROOFTILE_EMBED_WORKSPACE_TOO_SMALL,
  ROOFTILE_EMBED_WRONG_CHOICE, /* the chosen kernel does not compute this problem */
  ROOFTILE_EMBED_NOT_PREPARED, /* rooftile_embed_prepare was not called for the choice */
  ROOFTILE_EMBED_OUT_OF_MEMORY,
  ROOFTILE_EMBED_DEVICE_ERROR /* any other error of the driver */
} rooftile_embed_status;

/* "OK", "BAD_PROBLEM", ... */
const char* rooftile_embed_status_name(rooftile_embed_status status);

/* ---- The device ---- */

/* A device as selection sees it. Plain data: copy it, or fill it in yourself. */
typedef struct rooftile_embed_limits {
  /* Of VkPhysicalDeviceProperties; product_id is deviceID, driver_id a VkDriverId. */
  uint32_t vendor_id, product_id, driver_id, driver_version, api_version;
  uint32_t max_workgroup_invocations, max_workgroup_size[3], max_workgroup_count[3];
  /* Of a workgroup; reserved: what the driver takes of it for matrices of workgroup scope. */
  uint32_t shared_memory_bytes, reserved_shared_bytes;
  uint32_t max_push_constants_bytes, max_storage_bindings, max_texel_bindings;
  uint64_t max_storage_range_bytes, max_texel_elements, max_allocation_bytes;
  uint32_t alignment_bytes; /* of bindings and of the workspace; a power of two, at least 16 */
  uint32_t subgroup_size, min_subgroup_size, max_subgroup_size, max_workgroup_subgroups;
  uint32_t max_loop_trips; /* of all loops of an invocation; 0: loops run to their end */
  uint32_t features;       /* ROOFTILE_EMBED_FLOAT16 | ... */
  /* Bit i: the device has the i-th shape of cooperative matrices that this header's kernels use,
     or has it as a multiple of a smaller one (ROOFTILE_EMBED_MATRIX_NV2). */
  uint64_t matrix_shapes, multiple_shapes;
} rooftile_embed_limits;

/* Reads the limits and all features that the device offers. The instance may have been made for
   Vulkan 1.1 or later; api_version is what it was made for (VkApplicationInfo).
   Errors: NULL_ARGUMENT, UNSUPPORTED_DEVICE (Vulkan 1.0), OUT_OF_MEMORY. */
rooftile_embed_status rooftile_embed_get_limits(VkInstance instance, uint32_t api_version,
                                                VkPhysicalDevice physical,
                                                rooftile_embed_limits* limits);

/* For VkDeviceCreateInfo: the extensions and features that kernels of this header use, as far as
   limits.features has them. Do not move the structure while `features`, a chain for pNext, is in
   use. A program that has structures of its own for the same features sets them there instead. */
typedef struct rooftile_embed_requirements {
  uint32_t extension_count;
  const char* extensions[8];
  void* features;
  uint64_t rte_chain[64];
} rooftile_embed_requirements;
void rooftile_embed_get_requirements(const rooftile_embed_limits* limits,
                                     rooftile_embed_requirements* requirements);

/* ---- The product: C := alpha * op(A) * op(B) + beta * C, then the epilogue of the class ---- */

/* The epilogue is C := clamp(activation(y) + residual) with y = alpha * sum * row_scale[i] *
   column_scale[j] + beta * C + bias, of which a class has what its name says. Where C is int32,
   alpha and beta are 0 or 1. Where alpha or k is 0, A and B are not read, and a choice that was
   made for other values may be refused as WRONG_CHOICE. */
/* Row-major, sizes in elements. A is m x k (k x m where the class has it transposed), B k x n (n x
   k). A quantised B is n x k in whole blocks; ldb is k rounded up to blocks, and a batch shares it.
   Its blocks are those of GGUF files, or the values, scales and zero points of ONNX's MatMulNBits;
   Rooftile's docs/types.md has their order.
   A stride is the distance from a matrix of the batch to the next; 0 for A or B: all share one. For
   a column-major product swap A and B, m and n, and the two transposes.
   Most tuned kernels load vectors of 16 bytes: lda, ldb, strides and offsets of A and B in
   multiples of them keep all kernels eligible. */
typedef struct rooftile_embed_problem {
  rooftile_embed_class of_class;
  int64_t m, n, k, batch;
  int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
  float alpha, beta;
  float clamp_low, clamp_high; /* of classes whose epilogue ends with a clamp */
} rooftile_embed_problem;
/* One product without gaps between rows, alpha 1 and beta 0; no limits for a clamp. The strides are
   those of matrices one behind the other, for a program that sets batch. */
rooftile_embed_problem rooftile_embed_problem_of(rooftile_embed_class of_class, int64_t m,
                                                 int64_t n, int64_t k);

/* Where a matrix begins in a buffer, in bytes, and how many bytes the whole buffer has. */
typedef struct rooftile_embed_place {
  VkBuffer buffer;
  VkDeviceSize offset, bytes;
} rooftile_embed_place;

/* Every buffer needs VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, the workspace also _TRANSFER_DST_BIT and
   _UNIFORM_TEXEL_BUFFER_BIT; see ROOFTILE_EMBED_TEXELS. Kernels read and write whole words of 4
   bytes. B, scales and zero points of a quantised B begin at multiples of limits.alignment_bytes.
   C shares no byte with another operand, but the residual may be C itself. Blocks side by side in
   the rows of one matrix share none; of matrices with different ld, gaps between rows count as the
   matrix's. Places that the class does not use stay zero. */
typedef struct rooftile_embed_operands {
  rooftile_embed_place a, b, c;
  rooftile_embed_place scales, zero_points; /* of a quantised B that has its own */
  /* The epilogue's vectors, float32: row_scale has m values, column_scale n, bias m (bias_row) or n
     (bias_column). They lie in one buffer, at a multiple of 4 bytes. */
  rooftile_embed_place vectors;
  int64_t row_scale, column_scale, bias; /* their begins, in floats behind vectors.offset */
  rooftile_embed_place residual;         /* float32, m x n for each product of the batch */
  int64_t ld_residual, stride_residual;
  rooftile_embed_place workspace;
} rooftile_embed_operands;

/* ---- Choosing, compiling, recording ---- */

typedef struct rooftile_embed_choice {
  int32_t kernel;           /* for rooftile_embed_describe */
  int32_t is_tuned;         /* 0: the plain kernel, because this device was not measured, or none
                               of its kernels takes these sizes and alignments */
  int32_t is_same_driver;   /* 1: certified with this very version of the driver */
  float expected_ns;        /* 0: not known */
  uint64_t workspace_bytes; /* that recording needs, at a multiple of limits.alignment_bytes */
  double rte_flops;
} rooftile_embed_choice;

/* The kernel for a product: of this header's kernels, the one that Rooftile itself would take on
   this device. Reads no buffer and allocates nothing; handles may be null. Without operands (NULL),
   each matrix is taken to begin its buffer, and the buffer to hold whole vectors of 16 bytes; one
   that ends with its matrix needs a choice with operands. Another problem of the same class may be
   recorded with the choice, if its kernel computes it. Thread-safe. Errors: NULL_ARGUMENT,
   BAD_PROBLEM, UNSUPPORTED_DEVICE, TOO_LARGE, BUFFER_TOO_SMALL. */
rooftile_embed_status rooftile_embed_select(const rooftile_embed_limits* limits,
                                            const rooftile_embed_problem* problem,
                                            const rooftile_embed_operands* operands,
                                            rooftile_embed_choice* choice);

/* What a kernel is, and by whom it was certified. Null for an index that no choice has. */
typedef struct rooftile_embed_description {
  const char* name;         /* "tiled 128x128x16 8x8 v4/4" */
  const char* product;      /* the class: "f32.nt" */
  const char* hash;         /* of the kernel, as in the tuning database */
  const char* bound;        /* the error bound that its certificate checked */
  const char* certificates; /* "DEVICE (DRIVER): TIME", one a line */
  uint32_t features;        /* that it needs */
  uint32_t spirv_bytes;     /* of all its modules */
} rooftile_embed_description;
const rooftile_embed_description* rooftile_embed_describe(int32_t kernel);

/* Pipelines on one VkDevice, whose limits (with the features that are enabled on it, as for select)
   are given.
   Not thread-safe: programs lock it around prepare and destroy; calls of record may run beside each
   other. `cache` may be null.
   Errors: NULL_ARGUMENT, UNSUPPORTED_DEVICE, OUT_OF_MEMORY. */
typedef struct rooftile_embed rooftile_embed;
rooftile_embed_status rooftile_embed_create(VkDevice device, const rooftile_embed_limits* limits,
                                            VkPipelineCache cache, rooftile_embed** embed);
/* When no command buffer that was recorded with it is pending any more, and each recording was
   released. */
void rooftile_embed_destroy(rooftile_embed* embed);

/* Compiles the kernel of a choice, which takes no time if it is compiled already.
   Errors: NULL_ARGUMENT, WRONG_CHOICE, UNSUPPORTED_DEVICE, OUT_OF_MEMORY, DEVICE_ERROR. */
rooftile_embed_status rooftile_embed_prepare(rooftile_embed* embed,
                                             const rooftile_embed_choice* choice);

/* Records the product into a command buffer that is being recorded, outside a render pass, of a
   queue family with compute. Barriers between its own steps are recorded with it. The program puts
   barriers before it (writes of operands, earlier use of the workspace, to COMPUTE_SHADER and
   TRANSFER with SHADER_READ | SHADER_WRITE | TRANSFER_WRITE) and behind it (C is written by
   COMPUTE_SHADER with SHADER_WRITE). It binds a compute pipeline, descriptor set 0 and push
   constants. A long product becomes several dispatches of about a quarter of a second.
   *recording holds descriptors; release it when the command buffer is not used any more. It is NULL
   after an error.
   Errors: those of select, and WORKSPACE_TOO_SMALL, WRONG_CHOICE, NOT_PREPARED, OUT_OF_MEMORY,
   DEVICE_ERROR. */
typedef struct rooftile_embed_recording rooftile_embed_recording;
rooftile_embed_status rooftile_embed_record(rooftile_embed* embed, VkCommandBuffer commands,
                                            const rooftile_embed_choice* choice,
                                            const rooftile_embed_problem* problem,
                                            const rooftile_embed_operands* operands,
                                            rooftile_embed_recording** recording);
void rooftile_embed_release(rooftile_embed* embed, rooftile_embed_recording* recording);

#ifdef __cplusplus
}
#endif
