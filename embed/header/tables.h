#ifndef RTE_TABLES_H_
#define RTE_TABLES_H_
#include <stdint.h>

/* Types of the tables at the end. Those of int32_t alone are printed as lists of numbers. */

/* How a kernel, or the kernel that packs for it, reads an operand. */
typedef struct rte_operand {
  int32_t width;       /* elements that offsets and strides are multiples of */
  int32_t line_width;  /* elements that ld is a multiple of */
  int32_t texel;       /* elements of a texel */
  int32_t window;      /* elements of whole vectors in which blocks are read; 0: others */
  int32_t from_texels; /* whether the operand as stored is read as texels */
  int32_t load_bytes;  /* of a load of blocks with their own scales */
  int32_t packed;
  int32_t pad_rows, pad_k, panel_rows; /* of a packed operand */
  int32_t block;       /* rows and columns that an invocation of the pack kernel moves */
  int32_t along_depth; /* whether it moves them along k */
  int32_t word_steps;  /* steps of k in a word of a packed operand */
  int32_t packed_texels, scale_texels; /* whether panels, and scales, are read as texels */
} rte_operand;

typedef struct rte_kernel {
  int32_t of_class;
  int32_t gemm, pack_a, pack_b, reduce; /* shaders; -1: none */
  int32_t tile_m, tile_n, tile_batch;
  int32_t split_k, k_step, dot;
  int32_t exact;     /* sizes are multiples of tiles */
  int32_t column;    /* workgroups along m come first */
  int32_t atomic;    /* partial sums are added where they lie, from zero */
  int32_t divides_k; /* several dispatches may add to C */
  int32_t least_k;
  int32_t slowness;           /* what a sum that is not finite may cost */
  int32_t trips, other_trips; /* of loops: for a step of k, and besides */
  int32_t local_x, local_y, shared_bytes, workgroup_scope;
  int32_t features, shape, narrow_shape; /* matrix shapes; -1: none */
  rte_operand a, b;
} rte_kernel;

typedef struct rte_class {
  int32_t trans_a, trans_b;
  int32_t bytes_a, b_elements, b_bytes, bytes_c; /* b_elements come in b_bytes together */
  int32_t block;           /* elements of a block of a quantised B; 0: not quantised */
  int32_t separate_scales; /* in a buffer of their own */
  int32_t zero_points;     /* 0: none, 1: packed, 2: in A's type */
  int32_t bits;            /* of a value of a quantised B with separate scales */
  int32_t integer_c;       /* alpha and beta are 0 or 1 */
  int32_t most_k;          /* of sums that cannot overflow */
  int32_t sums_are_c;      /* partial sums of plain products have C's type */
  int32_t row_scale, column_scale, bias, residual; /* of the epilogue; bias 1: rows, 2: columns */
  int32_t clamp, epilogue; /* whether it has a clamp; whether there is any */
  int32_t first_kernel, kernels, first_list, lists;
  int32_t fallback; /* kernel for devices that were not measured; -1: none */
} rte_class;

typedef struct rte_shader {
  int32_t first, words; /* bytes before it in what rte_code unpacks to; words of the module */
  int32_t bindings, push_bytes, subgroup_size, local_size, local_x, features;
  int32_t kinds[8]; /* of each binding: 0 a storage buffer, else a VkFormat of texels */
} rte_shader;

typedef struct rte_shape {
  int32_t m, n, k, operand, sum; /* VkComponentTypeKHR */
  int32_t invocations;           /* of a matrix of workgroup scope; 0: subgroup scope */
} rte_shape;

/* A kernel measured on a problem. */
typedef struct rte_tuned {
  int32_t kernel, rank, is_last_resort;
  int64_t m, n, k, batch;
  double ns, logs[4]; /* log2 of the sizes */
} rte_tuned;

/* Predicted ns of a portfolio's kernel (runtime/model/selector.h): constant + workgroups * (each +
   k * step) + k * wave * ceil(workgroups / units) + batch * (m n mn + m k mk + k n kn), times the
   exponential of a correction. */
typedef struct rte_predicted {
  int32_t kernel;
  double tile_m, tile_n, tile_batch, split_k;
  double constant, each, step, wave, mn, mk, kn;
} rte_predicted;

/* Kernels of a class on a device. Corrections are sums over points near in log2 of the sizes. */
typedef struct rte_list {
  int32_t device, of_class;
  int32_t first_tuned, tuned, first_predicted, predicted;
  int32_t first_point, points; /* of rte_points: m, n, k, batch in log2, then a weight a kernel */
  float variance, scale;
  double per_unit;
} rte_list;

typedef struct rte_device {
  uint32_t vendor_id, product_id, driver_id, driver_version;
} rte_device;

#endif /* RTE_TABLES_H_ */
