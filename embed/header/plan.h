/* ---- Arithmetic: which kernels fit a product, and their dispatches ---- */

static int64_t rte_least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t rte_most(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t rte_blocks(int64_t x, int64_t block) { return (x + block - 1) / block; }
static int64_t rte_up(int64_t x, int64_t step) { return rte_blocks(x, step) * step; }

#define RTE_LARGEST_SIZE (INT64_C(2147483647) - 1024)
#define RTE_MOST_ELEMENTS INT64_C(4294967295) /* addresses in shaders have 32 bits */
#define RTE_MOST_BYTES (INT64_C(1) << 62)

/* A product as kernels get it. Offsets and readable elements count from bindings, which begin at
   aligned bytes. */
typedef struct rte_call {
  const rte_class* type;
  rooftile_embed_problem p; /* k 0 where alpha is, alpha 0 where k is */
  int64_t span_a, span_b, span_c, span_residual;
  int64_t offset_a, offset_b, offset_c, offset_residual;
  int64_t readable_a, readable_b;
  int64_t unit_ld_a, unit_at_a, unit_ld_b,
      unit_at_b;          /* rte_unit() of ld, and of offset and stride */
  int64_t left_a, left_b; /* bytes from the binding's begin to the buffer's end */
  int64_t row_scale, column_scale, bias, vectors; /* vectors: elements of their binding */
  int64_t ld_residual, stride_residual;
  VkDeviceSize base_a, base_b, base_c, base_residual, base_vectors;
} rte_call;

/* The largest power of two that divides a number; one beyond every width for 0. */
static int64_t rte_unit(int64_t x) { return x == 0 ? INT64_C(1) << 32 : x & -x; }
/* Whether a width divides a number of this unit. */
static int rte_divides(int32_t width, int64_t unit, int64_t x) {
  return (width & (width - 1)) == 0 ? width <= unit : x % width == 0;
}

static int64_t rte_span(int64_t rows, int64_t columns, int64_t ld, int64_t batch, int64_t stride) {
  return rows == 0 || columns == 0 || batch == 0 ? 0
                                                 : (batch - 1) * stride + (rows - 1) * ld + columns;
}

static int64_t rte_stored_k(const rte_class* type, int64_t k) {
  return type->block > 0 ? rte_up(k, type->block) : k;
}
static int64_t rte_scales(const rte_call* call) { /* elements */
  return call->p.n * (rte_stored_k(call->type, call->p.k) / rte_most(call->type->block, 1));
}
static int64_t rte_zero_point_bytes(const rte_call* call) {
  const int64_t row = rte_stored_k(call->type, call->p.k) / rte_most(call->type->block, 1);
  if (call->type->zero_points == 0) return 0;
  return call->type->zero_points == 2 ? rte_scales(call) * call->type->bytes_a
                                      : call->p.n * ((row * call->type->bits + 7) / 8);
}

static int rte_is_size(int64_t size) { return size >= 0 && size <= RTE_LARGEST_SIZE; }

/* Whether the last product of a batch begins beyond all addresses. */
static int rte_is_far(int64_t batch, int64_t stride) {
  return (double)(batch - 1) * (double)stride > (double)RTE_MOST_ELEMENTS;
}

static rooftile_embed_status rte_check(const rte_class* type, const rooftile_embed_problem* p) {
  const int64_t columns_a = type->trans_a ? p->m : p->k;
  const int64_t columns_b = !type->trans_b      ? p->n
                            : rte_is_size(p->k) ? rte_stored_k(type, p->k)
                                                : p->k;
  if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0) return ROOFTILE_EMBED_BAD_PROBLEM;
  if (!rte_is_size(p->m) || !rte_is_size(p->n) || !rte_is_size(p->k) || !rte_is_size(p->batch) ||
      p->lda > RTE_LARGEST_SIZE || p->ldb > RTE_LARGEST_SIZE || p->ldc > RTE_LARGEST_SIZE ||
      p->k > type->most_k)
    return ROOFTILE_EMBED_TOO_LARGE;
  if (p->lda < rte_most(columns_a, 1) || p->ldb < rte_most(columns_b, 1) ||
      p->ldc < rte_most(p->n, 1))
    return ROOFTILE_EMBED_BAD_PROBLEM;
  if (type->block > 0 && p->ldb != rte_most(columns_b, 1)) return ROOFTILE_EMBED_BAD_PROBLEM;
  if (type->integer_c && ((p->alpha != 0 && p->alpha != 1) || (p->beta != 0 && p->beta != 1)))
    return ROOFTILE_EMBED_BAD_PROBLEM;
  if (type->clamp && !(p->clamp_low <= p->clamp_high)) return ROOFTILE_EMBED_BAD_PROBLEM;
  if (p->batch <= 1) return ROOFTILE_EMBED_OK;
  if (p->stride_a < 0 || p->stride_b < 0 || p->stride_c < 0 ||
      (type->block > 0 && p->stride_b != 0))
    return ROOFTILE_EMBED_BAD_PROBLEM;
  if (rte_is_far(p->batch, p->stride_a) || rte_is_far(p->batch, p->stride_b) ||
      rte_is_far(p->batch, p->stride_c))
    return ROOFTILE_EMBED_TOO_LARGE;
  /* Products must not overlap: one behind the other, or side by side in the rows of a matrix. */
  if (p->stride_c < rte_span(p->m, p->n, p->ldc, 1, 0) &&
      !(p->stride_c >= p->n && p->stride_c <= p->ldc / p->batch + p->n &&
        (p->batch - 1) * p->stride_c + p->n <= p->ldc))
    return ROOFTILE_EMBED_BAD_PROBLEM;
  return ROOFTILE_EMBED_OK;
}

/* Binds a matrix at the last aligned byte before it. */
static rooftile_embed_status rte_align(const rooftile_embed_place* place, uint32_t alignment,
                                       int64_t element_bytes, VkDeviceSize* base, int64_t* offset,
                                       int64_t* readable) {
  if (place->offset > place->bytes || place->bytes > (VkDeviceSize)RTE_MOST_BYTES)
    return ROOFTILE_EMBED_BUFFER_TOO_SMALL;
  *base = place->offset / alignment * alignment;
  *offset = (int64_t)(place->offset - *base) / element_bytes;
  if ((place->offset - *base) % (VkDeviceSize)element_bytes != 0) return ROOFTILE_EMBED_BAD_PROBLEM;
  *readable = (int64_t)(place->bytes - place->offset) / element_bytes;
  return ROOFTILE_EMBED_OK;
}

/* Whether so many bytes, in whole words, lie behind the place. */
static int rte_holds(const rooftile_embed_place* place, int64_t bytes) {
  return place->offset <= place->bytes &&
         (VkDeviceSize)rte_up(bytes, 4) <= place->bytes - place->offset;
}

/* The vectors of an epilogue, which lie in one buffer. */
static rooftile_embed_status rte_align_vectors(const rooftile_embed_operands* at,
                                               uint32_t alignment, rte_call* call) {
  const rte_class* const type = call->type;
  int64_t readable = 0, offset = 0, end = 0;
  rooftile_embed_status status =
      rte_align(&at->vectors, alignment, 4, &call->base_vectors, &offset, &readable);
  if (status != ROOFTILE_EMBED_OK) return status;
  if (at->row_scale < 0 || at->column_scale < 0 || at->bias < 0 ||
      at->row_scale > RTE_MOST_ELEMENTS || at->column_scale > RTE_MOST_ELEMENTS ||
      at->bias > RTE_MOST_ELEMENTS)
    return ROOFTILE_EMBED_BAD_PROBLEM;
  call->row_scale = offset + at->row_scale;
  call->column_scale = offset + at->column_scale;
  call->bias = offset + at->bias;
  if (type->row_scale) end = rte_most(end, call->row_scale + call->p.m);
  if (type->column_scale) end = rte_most(end, call->column_scale + call->p.n);
  if (type->bias) end = rte_most(end, call->bias + (type->bias == 1 ? call->p.m : call->p.n));
  call->vectors = end;
  return end > offset + readable ? ROOFTILE_EMBED_BUFFER_TOO_SMALL : ROOFTILE_EMBED_OK;
}

/* Whether these may be the limits of a device. */
static int rte_are_limits(const rooftile_embed_limits* limits) {
  const uint32_t alignment = limits->alignment_bytes;
  int groups = 1;
  for (int axis = 0; axis < 3; ++axis) groups = groups && limits->max_workgroup_count[axis] > 0;
  return groups && alignment >= 16 && (alignment & (alignment - 1)) == 0;
}

/* Checks a problem and says where its operands lie for kernels. */
static rooftile_embed_status rte_bind(const rooftile_embed_limits* limits,
                                      const rooftile_embed_problem* problem,
                                      const rooftile_embed_operands* at, rte_call* call) {
  rooftile_embed_status status;
  int64_t readable_residual = 0;
  const uint32_t alignment = limits->alignment_bytes;
  if (!rte_are_limits(limits)) return ROOFTILE_EMBED_UNSUPPORTED_DEVICE;
  if ((int)problem->of_class < 0 || (int)problem->of_class >= RTE_CLASSES)
    return ROOFTILE_EMBED_BAD_PROBLEM;
  memset(call, 0, sizeof *call);
  const rte_class* const type = call->type = &rte_classes[problem->of_class];
  call->p = *problem;
  rooftile_embed_problem* const p = &call->p;
  status = rte_check(type, p);
  if (status != ROOFTILE_EMBED_OK) return status;
  if (p->alpha == 0.0f) p->k = 0;
  if (p->k == 0) p->alpha = 0.0f;
  call->span_a = rte_span(type->trans_a ? p->k : p->m, type->trans_a ? p->m : p->k, p->lda,
                          p->batch, p->stride_a);
  call->span_b =
      rte_span(type->trans_b ? p->n : p->k, type->trans_b ? rte_stored_k(type, p->k) : p->n, p->ldb,
               p->batch, p->stride_b);
  call->span_c = rte_span(p->m, p->n, p->ldc, p->batch, p->stride_c);
  if (call->span_a > RTE_MOST_ELEMENTS || call->span_b > RTE_MOST_ELEMENTS ||
      call->span_c > RTE_MOST_ELEMENTS)
    return ROOFTILE_EMBED_TOO_LARGE;
  if (call->span_c == 0) at = NULL; /* an empty product has no operands */
  if (at == NULL) {
    const int64_t widest = rte_most(4, 16 / type->bytes_a);
    const int64_t values = type->separate_scales ? 4 * (32 / type->bits) : widest;
    call->left_a = call->left_b = RTE_MOST_BYTES;
    call->readable_a = rte_up(call->span_a, widest);
    call->readable_b =
        type->block > 0 && !type->separate_scales ? call->span_b : rte_up(call->span_b, values);
    call->column_scale = type->row_scale ? p->m : 0;
    call->bias = call->column_scale + (type->column_scale ? p->n : 0);
    call->ld_residual = rte_up(p->n, 4);
    call->stride_residual = p->m * call->ld_residual;
    call->vectors = call->bias + (type->bias == 1 ? p->m : type->bias == 2 ? p->n : 0);
  } else {
    int64_t readable_c = 0;
    status =
        rte_align(&at->c, alignment, type->bytes_c, &call->base_c, &call->offset_c, &readable_c);
    if (status != ROOFTILE_EMBED_OK) return status;
    if (call->span_c > readable_c ||
        (VkDeviceSize)rte_up((call->offset_c + call->span_c) * type->bytes_c, 4) >
            at->c.bytes - call->base_c)
      return ROOFTILE_EMBED_BUFFER_TOO_SMALL;
    if (p->k > 0) {
      status = rte_align(&at->a, alignment, type->bytes_a, &call->base_a, &call->offset_a,
                         &call->readable_a);
      if (status != ROOFTILE_EMBED_OK) return status;
      status = rte_align(&at->b, alignment, type->block > 0 ? 1 : type->bytes_a, &call->base_b,
                         &call->offset_b, &call->readable_b);
      if (status != ROOFTILE_EMBED_OK) return status;
      call->left_a = (int64_t)(at->a.bytes - call->base_a);
      call->left_b = (int64_t)(at->b.bytes - call->base_b);
      if (type->separate_scales && (!rte_holds(&at->scales, rte_scales(call) * type->bytes_a) ||
                                    !rte_holds(&at->zero_points, rte_zero_point_bytes(call))))
        return ROOFTILE_EMBED_BUFFER_TOO_SMALL;
      if (type->block > 0) {
        if (call->offset_b != 0 || at->scales.offset % alignment != 0 ||
            at->zero_points.offset % alignment != 0)
          return ROOFTILE_EMBED_BAD_PROBLEM; /* kernels find the scales by the row of B */
        call->readable_b = call->readable_b / type->b_bytes * type->b_elements;
      }
    }
    if (type->row_scale || type->column_scale || type->bias) {
      status = rte_align_vectors(at, alignment, call);
      if (status != ROOFTILE_EMBED_OK) return status;
    }
    if (type->residual) {
      status = rte_align(&at->residual, alignment, 4, &call->base_residual, &call->offset_residual,
                         &readable_residual);
      if (status != ROOFTILE_EMBED_OK) return status;
      call->ld_residual = at->ld_residual;
      call->stride_residual = p->batch > 1 ? at->stride_residual : 0;
      if (at->ld_residual < rte_most(p->n, 1) || at->ld_residual > RTE_MOST_ELEMENTS ||
          call->stride_residual < 0)
        return ROOFTILE_EMBED_BAD_PROBLEM;
    }
  }
  call->unit_ld_a = rte_unit(p->lda);
  call->unit_ld_b = rte_unit(p->ldb);
  call->unit_at_a = rte_unit(call->offset_a | (p->batch > 1 ? p->stride_a : 0));
  call->unit_at_b = rte_unit(call->offset_b | (p->batch > 1 ? p->stride_b : 0));
  if (!type->residual) return ROOFTILE_EMBED_OK;
  if (rte_is_far(p->batch, call->stride_residual)) return ROOFTILE_EMBED_TOO_LARGE;
  call->span_residual = rte_span(p->m, p->n, call->ld_residual, p->batch, call->stride_residual);
  return at != NULL && call->span_residual > readable_residual ? ROOFTILE_EMBED_BUFFER_TOO_SMALL
                                                               : ROOFTILE_EMBED_OK;
}

static int64_t rte_depth(const rte_kernel* kernel, int64_t k) { return rte_blocks(k, kernel->dot); }
static int64_t rte_split_depth(const rte_kernel* kernel, int64_t k) {
  const int64_t depth = rte_depth(kernel, k);
  return kernel->split_k == 1 ? depth : rte_up(rte_blocks(depth, kernel->split_k), kernel->k_step);
}
static int64_t rte_slices(const rte_kernel* kernel, int64_t k) {
  return k == 0 ? 1 : rte_blocks(rte_depth(kernel, k), rte_split_depth(kernel, k));
}
static int64_t rte_stored_parts(const rte_kernel* kernel, int64_t k) {
  return kernel->atomic ? 1 : rte_slices(kernel, k);
}
/* Steps of k that one dispatch may run on this device; 0: none. */
static int64_t rte_longest_depth(const rte_kernel* kernel, const rooftile_embed_limits* limits) {
  if (limits->max_loop_trips == 0) return INT64_MAX / kernel->k_step * kernel->k_step;
  return rte_most((int64_t)limits->max_loop_trips - kernel->other_trips, 0) / kernel->trips *
         kernel->k_step;
}

/* Elements from the start of the binding that a kernel, or its pack kernel, reads. */
static int64_t rte_needed(const rte_operand* operand, int64_t span, int64_t offset) {
  if (span == 0) return 0;
  if (operand->packed)
    return operand->from_texels ? rte_up(offset + span, operand->texel) : offset + span;
  if (operand->window > 0) return rte_up(offset + span, operand->window);
  return offset + rte_up(span, operand->width);
}
static int64_t rte_needed_a(const rte_kernel* kernel, const rte_call* call) {
  return rte_needed(&kernel->a, call->span_a, call->offset_a);
}
static int64_t rte_needed_b(const rte_kernel* kernel, const rte_call* call) {
  return rte_needed(&kernel->b, call->span_b, call->offset_b);
}
static int64_t rte_bytes_b(const rte_kernel* kernel, const rte_call* call) {
  if (call->type->b_elements == 1) return rte_needed_b(kernel, call) * call->type->b_bytes;
  return rte_blocks(rte_needed_b(kernel, call) * call->type->b_bytes, call->type->b_elements);
}

/* Elements and 32-bit words of one packed matrix. */
static int64_t rte_panel(const rte_kernel* kernel, const rte_operand* operand, int64_t rows,
                         int64_t k) {
  return rte_up(rows, operand->pad_rows) * rte_up(rte_depth(kernel, k), operand->pad_k);
}
static int64_t rte_panel_words(const rte_kernel* kernel, const rte_operand* operand, int64_t rows,
                               int64_t k) {
  return operand->packed ? rte_panel(kernel, operand, rows, k) / operand->word_steps : 0;
}
/* One where the whole batch reads the same matrix. */
static int64_t rte_packed_matrices(const rooftile_embed_problem* p, int64_t stride) {
  return p->batch > 1 && stride == 0 ? 1 : p->batch;
}

/* Whether partial sums become C by a kernel of their own. */
static int rte_reduces(const rte_kernel* kernel, const rte_call* call) {
  return rte_slices(kernel, call->p.k) > 1 || kernel->atomic ||
         (kernel->split_k > 1 && (call->type->epilogue || !call->type->sums_are_c));
}

/* 32-bit words of a workspace's sections. */
typedef struct rte_sizes {
  int64_t packed_a, packed_b, parts;
} rte_sizes;
static rte_sizes rte_sizes_of(const rte_kernel* kernel, const rte_call* call) {
  const rooftile_embed_problem* const p = &call->p;
  rte_sizes sizes = {0, 0, 0};
  if (p->m == 0 || p->n == 0 || p->batch == 0) return sizes;
  if (p->k > 0) {
    sizes.packed_a =
        rte_packed_matrices(p, p->stride_a) * rte_panel_words(kernel, &kernel->a, p->m, p->k);
    sizes.packed_b =
        rte_packed_matrices(p, p->stride_b) * rte_panel_words(kernel, &kernel->b, p->n, p->k);
  }
  if (rte_reduces(kernel, call))
    sizes.parts = rte_stored_parts(kernel, p->k) * p->batch * p->m * rte_up(p->n, 4);
  return sizes;
}
static uint64_t rte_workspace(const rte_kernel* kernel, const rte_call* call, uint32_t alignment) {
  const rte_sizes sizes = rte_sizes_of(kernel, call);
  return (uint64_t)(rte_up(4 * sizes.packed_a, alignment) + rte_up(4 * sizes.packed_b, alignment) +
                    rte_up(4 * sizes.parts, alignment));
}

static int rte_in_range(const rooftile_embed_limits* limits, int64_t bytes) {
  return (uint64_t)bytes <= limits->max_storage_range_bytes;
}
static int rte_in_texels(const rooftile_embed_limits* limits, int64_t texels) {
  return (uint64_t)texels <= limits->max_texel_elements;
}

/* Whether a shader, if there is one, has no more bindings than the device. */
static int rte_binds(int32_t shader, const rooftile_embed_limits* limits) {
  uint32_t texels = 0, all = shader < 0 ? 0 : (uint32_t)rte_shaders[shader].bindings;
  for (uint32_t i = 0; i < all; ++i) texels += rte_shaders[shader].kinds[i] != 0;
  return all - texels <= limits->max_storage_bindings && texels <= limits->max_texel_bindings;
}

/* Whether the device runs the kernel at all. */
static int rte_runs(const rte_kernel* kernel, const rooftile_embed_limits* limits) {
  const rte_shader* const gemm = &rte_shaders[kernel->gemm];
  const uint32_t local = (uint32_t)gemm->local_size, size = (uint32_t)gemm->subgroup_size;
  const uint32_t x = (uint32_t)kernel->local_x, y = (uint32_t)kernel->local_y;
  const uint32_t shared = kernel->workgroup_scope ? limits->reserved_shared_bytes : 0;
  if ((limits->features & (uint32_t)kernel->features) != (uint32_t)kernel->features) return 0;
  if (local > limits->max_workgroup_invocations || x > limits->max_workgroup_size[0] ||
      y > limits->max_workgroup_size[1])
    return 0;
  if ((uint32_t)kernel->shared_bytes + shared > limits->shared_memory_bytes) return 0;
  if (limits->max_push_constants_bytes < 104) return 0; /* of a kernel with an epilogue */
  if (!rte_binds(kernel->gemm, limits) || !rte_binds(kernel->pack_a, limits) ||
      !rte_binds(kernel->pack_b, limits) || !rte_binds(kernel->reduce, limits))
    return 0;
  if (size != 0 && size != limits->subgroup_size &&
      !((limits->features & ROOFTILE_EMBED_SUBGROUP_SIZE) != 0 &&
        size >= limits->min_subgroup_size && size <= limits->max_subgroup_size))
    return 0;
  if (size != 0 && (limits->features & ROOFTILE_EMBED_SUBGROUP_SIZE) != 0 &&
      limits->max_workgroup_subgroups != 0 && local / size > limits->max_workgroup_subgroups)
    return 0;
  const uint64_t shapes =
      limits->matrix_shapes |
      ((limits->features & ROOFTILE_EMBED_MATRIX_NV2) != 0 ? limits->multiple_shapes : 0);
  if (kernel->shape >= 0 && (shapes >> kernel->shape & 1) == 0) return 0;
  if (kernel->narrow_shape >= 0 && (shapes >> kernel->narrow_shape & 1) == 0) return 0;
  /* Sums of parts that are not finite are computed again in a loop, which the driver would leave.
   */
  return kernel->slowness == 1 || limits->max_loop_trips == 0;
}

/* Whether its vectors begin where the operands' rows do. */
static int rte_is_aligned(const rte_kernel* kernel, const rte_call* call) {
  const rooftile_embed_problem* const p = &call->p;
  const rte_operand *const a = &kernel->a, *const b = &kernel->b;
  const int64_t stride_a = p->batch > 1 ? p->stride_a : 0,
                stride_b = p->batch > 1 ? p->stride_b : 0;
  return (a->packed || call->span_a == 0 ||
          (rte_divides(a->line_width, call->unit_ld_a, p->lda) &&
           rte_divides(a->width, call->unit_at_a, call->offset_a) &&
           rte_divides(a->width, call->unit_at_a, stride_a))) &&
         (b->packed || call->span_b == 0 ||
          (rte_divides(b->line_width, call->unit_ld_b, p->ldb) &&
           rte_divides(b->width, call->unit_at_b, call->offset_b) &&
           rte_divides(b->width, call->unit_at_b, stride_b)));
}

/* OK where the kernel computes this product on this device. */
static rooftile_embed_status rte_fits(const rte_kernel* kernel, const rooftile_embed_limits* limits,
                                      const rte_call* call) {
  const rooftile_embed_problem* const p = &call->p;
  const rte_class* const type = call->type;
  const rte_operand *const a = &kernel->a, *const b = &kernel->b;
  const int packs = a->packed || b->packed;
  if (!rte_runs(kernel, limits)) return ROOFTILE_EMBED_UNSUPPORTED_DEVICE;
  if (!rte_is_aligned(kernel, call)) return ROOFTILE_EMBED_WRONG_CHOICE;
  if (kernel->dot > 1 && p->k % kernel->dot != 0 && !(a->packed && b->packed))
    return ROOFTILE_EMBED_WRONG_CHOICE;
  if (p->k < kernel->least_k) return ROOFTILE_EMBED_WRONG_CHOICE;
  /* C stands in for A and B that are not read, and has no texels. */
  if (p->k == 0 && (kernel->features & ROOFTILE_EMBED_TEXELS) != 0)
    return ROOFTILE_EMBED_WRONG_CHOICE;
  if (kernel->exact && (p->m % kernel->tile_m != 0 || p->n % kernel->tile_n != 0 ||
                        p->k % ((int64_t)kernel->k_step * kernel->dot) != 0))
    return ROOFTILE_EMBED_WRONG_CHOICE;
  if (kernel->split_k > 1 && p->k < (int64_t)kernel->split_k * kernel->k_step * kernel->dot)
    return ROOFTILE_EMBED_WRONG_CHOICE;
  if (kernel->tile_batch > 1 && p->batch <= 1) return ROOFTILE_EMBED_WRONG_CHOICE;

  if (limits->max_loop_trips != 0) {
    const int64_t longest = rte_longest_depth(kernel, limits);
    if (rte_split_depth(kernel, p->k) > longest && !(longest > 0 && kernel->divides_k))
      return ROOFTILE_EMBED_TOO_LARGE;
  }
  if ((kernel->split_k > 1 && rte_slices(kernel, p->k) > (int64_t)limits->max_workgroup_count[2]) ||
      (packs && p->batch > (int64_t)limits->max_workgroup_count[2]))
    return ROOFTILE_EMBED_TOO_LARGE;
  /* Products of sizes are compared as floating-point numbers before they can overflow. */
  const double parts = kernel->split_k == 1
                           ? 0.0
                           : (double)rte_stored_parts(kernel, p->k) * (double)p->batch *
                                 (double)p->m * (double)rte_up(p->n, 4);
  const double panel_a =
      ((double)p->m + a->pad_rows) * ((double)p->k + a->pad_k) * (double)p->batch;
  const double panel_b =
      ((double)p->n + b->pad_rows) * ((double)p->k + b->pad_k) * (double)p->batch;
  if (parts > (double)RTE_MOST_ELEMENTS ||
      (a->packed && panel_a > 64.0 * (double)RTE_MOST_ELEMENTS) ||
      (b->packed && panel_b > 64.0 * (double)RTE_MOST_ELEMENTS))
    return ROOFTILE_EMBED_TOO_LARGE;
  const int64_t needed_a = rte_needed_a(kernel, call), needed_b = rte_needed_b(kernel, call),
                end_c = call->offset_c + call->span_c,
                end_residual = type->residual ? call->offset_residual + call->span_residual : 0;
  if (needed_a > RTE_MOST_ELEMENTS || needed_b > RTE_MOST_ELEMENTS || end_c > RTE_MOST_ELEMENTS ||
      end_residual > RTE_MOST_ELEMENTS)
    return ROOFTILE_EMBED_TOO_LARGE;
  const int64_t bytes_b = rte_bytes_b(kernel, call); /* addresses of blocks count bytes */
  if (type->block > 0 && !type->separate_scales && bytes_b > RTE_MOST_ELEMENTS)
    return ROOFTILE_EMBED_TOO_LARGE;
  const int64_t words_a = a->packed ? rte_panel_words(kernel, a, p->m, p->k) * p->batch : 0,
                words_b = b->packed ? rte_panel_words(kernel, b, p->n, p->k) * p->batch : 0,
                words = rte_most(words_a, words_b);
  if (words > RTE_MOST_ELEMENTS || (uint64_t)words * 4 > limits->max_allocation_bytes)
    return ROOFTILE_EMBED_TOO_LARGE;
  if (needed_a > call->offset_a + call->readable_a || needed_b > call->offset_b + call->readable_b)
    return ROOFTILE_EMBED_BUFFER_TOO_SMALL;
  if (rte_up(needed_a * type->bytes_a, 4) > call->left_a || rte_up(bytes_b, 4) > call->left_b)
    return ROOFTILE_EMBED_BUFFER_TOO_SMALL;
  /* Bindings. */
  if (a->from_texels ? !rte_in_texels(limits, rte_blocks(needed_a, a->texel))
                     : !rte_in_range(limits, needed_a * type->bytes_a))
    return ROOFTILE_EMBED_TOO_LARGE;
  if (b->from_texels ? !rte_in_texels(limits, type->block > 0 && !type->separate_scales
                                                  ? rte_blocks(bytes_b, b->load_bytes)
                                                  : rte_blocks(needed_b, b->texel))
                     : !rte_in_range(limits, bytes_b))
    return ROOFTILE_EMBED_TOO_LARGE;
  if (type->separate_scales &&
      (b->scale_texels ? !rte_in_texels(limits, rte_scales(call))
                       : !rte_in_range(limits, rte_scales(call) * type->bytes_a)))
    return ROOFTILE_EMBED_TOO_LARGE;
  if ((a->packed_texels && !rte_in_texels(limits, rte_blocks(words_a, 4))) ||
      (b->packed_texels && !rte_in_texels(limits, rte_blocks(words_b, 4))))
    return ROOFTILE_EMBED_TOO_LARGE;
  if (!rte_in_range(limits, 4 * words) || !rte_in_range(limits, end_c * type->bytes_c) ||
      !rte_in_range(limits, 4 * (int64_t)parts) || !rte_in_range(limits, 4 * end_residual) ||
      !rte_in_range(limits, 4 * call->vectors))
    return ROOFTILE_EMBED_TOO_LARGE;
  return ROOFTILE_EMBED_OK;
}

/* Steps of a product: dispatches, and barriers between those that depend on each other. */
enum { RTE_CLEAR, RTE_PACK_A, RTE_PACK_B, RTE_GEMM, RTE_REDUCE, RTE_BARRIER };
typedef struct rte_step {
  int32_t kind;
  uint32_t groups[3];
  uint32_t push_words, push[26];
} rte_step;
typedef void (*rte_visit)(void* user, const rte_step* step);

static uint32_t rte_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static void rte_push(rte_step* step, int64_t word) {
  step->push[step->push_words++] = (uint32_t)word;
}

static void rte_barrier(void* user, rte_visit visit) {
  rte_step step;
  memset(&step, 0, sizeof step);
  step.kind = RTE_BARRIER;
  visit(user, &step);
}

static void rte_pack(const rte_kernel* kernel, const rooftile_embed_limits* limits,
                     const rte_call* call, int is_a, void* user, rte_visit visit) {
  const rte_operand* const operand = is_a ? &kernel->a : &kernel->b;
  const rooftile_embed_problem* const p = &call->p;
  const int64_t rows = is_a ? p->m : p->n, stride = is_a ? p->stride_a : p->stride_b;
  const int64_t panel = rte_panel_words(kernel, operand, rows, p->k);
  const int64_t padded_rows = rte_up(rows, operand->pad_rows), padded_depth = panel / padded_rows;
  const int64_t length = (operand->along_depth ? padded_depth : padded_rows) / operand->block;
  const int64_t count = (operand->along_depth ? padded_rows : padded_depth) / operand->block;
  rte_step step;
  memset(&step, 0, sizeof step);
  step.kind = is_a ? RTE_PACK_A : RTE_PACK_B;
  step.groups[0] = (uint32_t)rte_least(rte_blocks(length, 64), limits->max_workgroup_count[0]);
  step.groups[1] = (uint32_t)rte_least(count, limits->max_workgroup_count[1]);
  step.groups[2] = (uint32_t)rte_packed_matrices(p, stride);
  rte_push(&step, rows);
  rte_push(&step, p->k);
  rte_push(&step, is_a ? p->lda : p->ldb);
  rte_push(&step, is_a ? call->offset_a : call->offset_b);
  rte_push(&step, stride);
  rte_push(&step, panel);
  visit(user, &step);
}

static void rte_push_epilogue(rte_step* step, const rte_call* call, int64_t product, int64_t row,
                              int64_t column) {
  rte_push(step, call->row_scale + row);
  rte_push(step, call->column_scale + column);
  rte_push(step, call->bias + (call->type->bias == 1 ? row : column));
  rte_push(step, call->offset_residual + product * call->stride_residual + row * call->ld_residual +
                     column);
  rte_push(step, call->ld_residual);
  rte_push(step, call->stride_residual);
  rte_push(step, rte_float(call->p.clamp_low));
  rte_push(step, rte_float(call->p.clamp_high));
}

/* Where an operand begins, and its distances between matrices, rows of op(A) or columns of op(B),
   and steps of k; in the kernel's elements. */
typedef struct rte_walk {
  int64_t base, stride, line, step, ld;
} rte_walk;
static rte_walk rte_walk_of(const rte_kernel* kernel, const rte_call* call, int is_a) {
  const rte_operand* const operand = is_a ? &kernel->a : &kernel->b;
  const rooftile_embed_problem* const p = &call->p;
  const int64_t stride = is_a ? p->stride_a : p->stride_b;
  rte_walk walk;
  if (operand->packed) {
    const int64_t depth = rte_up(rte_depth(kernel, p->k), operand->pad_k);
    walk.base = 0;
    walk.stride = rte_packed_matrices(p, stride) == 1
                      ? 0
                      : rte_panel(kernel, operand, is_a ? p->m : p->n, p->k);
    walk.line = walk.ld = depth;
    walk.step = operand->panel_rows;
    return walk;
  }
  const int along_k = is_a ? !call->type->trans_a : call->type->trans_b;
  walk.ld = (is_a ? p->lda : p->ldb) / kernel->dot;
  walk.base = (is_a ? call->offset_a : call->offset_b) / kernel->dot;
  walk.stride = stride / kernel->dot;
  walk.line = along_k ? walk.ld : 1;
  walk.step = along_k ? 1 : walk.ld;
  return walk;
}

/* Length of the ranges into which [0, size) is cut: at most `longest`, but at least a tile. */
static int64_t rte_range(int64_t size, int64_t tile, int64_t longest) {
  return longest >= size ? rte_most(size, 1) : rte_most(tile, longest / tile * tile);
}
/* The most rows of so many operations each within a limit of operations and one of tiles. */
static int64_t rte_longest(double flops_per_row, double max_flops, int64_t size, int64_t tile,
                           int64_t max_tiles) {
  const double by_flops = flops_per_row > 0 ? max_flops / flops_per_row : (double)size;
  const int64_t by_grid = max_tiles * tile;
  return rte_least(rte_least(size, by_grid), by_flops < (double)size ? (int64_t)by_flops : size);
}

/* Visits the steps of a product that fits, each gemm step of at most max_flops operations as far as
   tiles allow (0: any number). */
static void rte_plan(const rte_kernel* kernel, const rooftile_embed_limits* limits,
                     const rte_call* call, double max_flops, void* user, rte_visit visit) {
  const rooftile_embed_problem* const p = &call->p;
  if (p->m == 0 || p->n == 0 || p->batch == 0) return;
  if (max_flops <= 0) max_flops = 1e300;
  const int packs_a = p->k > 0 && kernel->a.packed, packs_b = p->k > 0 && kernel->b.packed;
  const int reduces = rte_reduces(kernel, call);
  if (kernel->atomic) {
    rte_step step;
    memset(&step, 0, sizeof step);
    step.kind = RTE_CLEAR;
    visit(user, &step);
  }
  if (packs_a) rte_pack(kernel, limits, call, 1, user, visit);
  if (packs_b) rte_pack(kernel, limits, call, 0, user, visit);
  if (kernel->atomic || packs_a || packs_b) rte_barrier(user, visit);

  const rte_walk a = rte_walk_of(kernel, call, 1), b = rte_walk_of(kernel, call, 0);
  const int64_t slices = rte_slices(kernel, p->k), stored = rte_stored_parts(kernel, p->k);
  const int64_t ld_partial = rte_up(p->n, 4), depth = rte_depth(kernel, p->k);
  const int x = kernel->column ? 1 : 0, y = 1 - x; /* dimensions along n and m */
  const double flops = 2.0 * (double)p->k;
  const int64_t most_products =
      rte_most(1, (int64_t)limits->max_workgroup_count[2] * kernel->tile_batch / slices);
  const int64_t products =
      rte_range(p->batch, 1,
                rte_longest(flops * (double)p->m * (double)p->n, max_flops, p->batch, 1,
                            rte_least(most_products, RTE_MOST_ELEMENTS)));
  int64_t depths = rte_most(depth, 1);
  if (depth > 0 && kernel->divides_k) {
    const double tile = (double)rte_least(kernel->tile_m, p->m) *
                        (double)rte_least(kernel->tile_n, p->n) *
                        (double)rte_least(kernel->tile_batch, p->batch);
    double by_flops = max_flops / (2 * tile);
    if (by_flops < 4096) by_flops = 4096; /* shorter dispatches take longer to start than to run */
    by_flops /= kernel->dot;
    int64_t longest = rte_longest_depth(kernel, limits);
    if (by_flops < (double)longest) longest = (int64_t)by_flops;
    depths = rte_range(depth, kernel->k_step, longest);
  }
  /* A kernel without matrix units looks for panel i of a packed operand behind i panels of its
     dispatch's depth, where only the first one lies if that depth is a part of k. */
  const int one_panel = depths < depth && kernel->shape < 0;
  const int64_t row_tiles =
      one_panel && kernel->a.packed ? 1 : (int64_t)limits->max_workgroup_count[y];
  const int64_t column_tiles =
      one_panel && kernel->b.packed ? 1 : (int64_t)limits->max_workgroup_count[x];
  for (int64_t product = 0; product < p->batch; product += products) {
    const int64_t count = rte_least(products, p->batch - product);
    const double product_flops = flops * (double)count;
    const int64_t rows = rte_range(
        p->m, kernel->tile_m,
        rte_longest(product_flops * (double)p->n, max_flops, p->m, kernel->tile_m, row_tiles));
    for (int64_t k0 = 0; k0 == 0 || k0 < depth; k0 += depths) {
      const int64_t steps = rte_least(depths, depth - k0);
      for (int64_t row = 0; row < p->m; row += rows) {
        const int64_t m = rte_least(rows, p->m - row);
        const int64_t columns = rte_range(
            p->n, kernel->tile_n,
            rte_longest(product_flops * (double)m, max_flops, p->n, kernel->tile_n, column_tiles));
        for (int64_t column = 0; column < p->n; column += columns) {
          const int64_t n = rte_least(columns, p->n - column);
          const int64_t base = reduces ? product * stored * p->m * ld_partial
                                       : call->offset_c + product * p->stride_c;
          const int64_t ld = reduces ? ld_partial : p->ldc;
          rte_step step;
          if (k0 > 0 && row == 0 && column == 0) rte_barrier(user, visit); /* adds to C */
          memset(&step, 0, sizeof step);
          step.kind = RTE_GEMM;
          step.groups[x] = (uint32_t)rte_blocks(n, kernel->tile_n);
          step.groups[y] = (uint32_t)rte_blocks(m, kernel->tile_m);
          step.groups[2] = (uint32_t)(rte_blocks(count, kernel->tile_batch) * slices);
          rte_push(&step, m);
          rte_push(&step, n);
          rte_push(&step, steps);
          rte_push(&step, a.ld);
          rte_push(&step, b.ld);
          rte_push(&step, ld);
          rte_push(&step, rte_float(reduces ? 1.0f : p->alpha));
          rte_push(&step, rte_float(k0 > 0 ? 1.0f : reduces ? 0.0f : p->beta));
          rte_push(&step, a.base + product * a.stride + row * a.line + k0 * a.step);
          rte_push(&step, b.base + product * b.stride + column * b.line + k0 * b.step);
          rte_push(&step, base + row * ld + column);
          rte_push(&step, a.stride);
          rte_push(&step, b.stride);
          rte_push(&step, reduces ? p->m * ld_partial : p->stride_c);
          rte_push(&step, a.step);
          rte_push(&step, b.step);
          rte_push(&step, count);
          rte_push(&step, steps == depth ? rte_split_depth(kernel, p->k) : steps);
          if (call->type->epilogue && kernel->reduce < 0)
            rte_push_epilogue(&step, call, product, row, column);
          visit(user, &step);
        }
      }
    }
  }
  if (!reduces) return;
  rte_barrier(user, visit);
  for (int64_t product = 0; product < p->batch; product += products) {
    const int64_t count = rte_least(products, p->batch - product);
    rte_step step;
    memset(&step, 0, sizeof step);
    step.kind = RTE_REDUCE;
    step.groups[0] =
        (uint32_t)rte_least(rte_blocks(ld_partial / 4, 64), limits->max_workgroup_count[0]);
    step.groups[1] = (uint32_t)rte_least(p->m, limits->max_workgroup_count[1]);
    step.groups[2] = (uint32_t)count;
    rte_push(&step, p->m);
    rte_push(&step, p->n);
    rte_push(&step, p->ldc);
    rte_push(&step, ld_partial);
    rte_push(&step, rte_float(p->alpha));
    rte_push(&step, rte_float(p->beta));
    rte_push(&step, call->offset_c + product * p->stride_c);
    rte_push(&step, p->stride_c);
    rte_push(&step, product * stored * p->m * ld_partial);
    rte_push(&step, count);
    rte_push(&step, stored);
    if (call->type->epilogue) rte_push_epilogue(&step, call, product, 0, 0);
    visit(user, &step);
  }
}
