/* ---- Whether C lies over another operand ---- */

/* Where a matrix lies in a buffer, or one for each product of a batch. All but rows in bytes. */
typedef struct rte_extent {
  VkBuffer buffer;
  int64_t begin, rows, row, pitch, stride;
} rte_extent;

static rte_extent rte_extent_of(const rooftile_embed_place* place, int64_t rows, int64_t columns,
                                int64_t ld, int64_t stride, int64_t element_bytes) {
  rte_extent x;
  x.buffer = place->buffer;
  x.begin = (int64_t)place->offset;
  x.rows = rows;
  x.row = columns * element_bytes;
  x.pitch = ld * element_bytes;
  x.stride = stride * element_bytes;
  return x;
}
/* A matrix of a single row. */
static rte_extent rte_line_of(const rooftile_embed_place* place, int64_t offset, int64_t bytes) {
  rte_extent x = rte_extent_of(place, 1, bytes, bytes, 0, 1);
  x.begin += offset;
  return x;
}

/* Whether two operands share bytes, as runtime/call/call_checks.cpp of Rooftile has it: blocks side
   by side in the rows of one matrix share none. Where the rows of one lie closer together than
   those of the other, gaps between rows count as the matrix's. */
static int rte_share(const rte_extent* x, const rte_extent* y, int64_t batch) {
  const int64_t bytes_x = rte_span(x->rows, x->row, x->pitch, 1, 0);
  const int64_t bytes_y = rte_span(y->rows, y->row, y->pitch, 1, 0);
  const int64_t last_x = x->begin + (batch - 1) * x->stride;
  const int64_t last_y = y->begin + (batch - 1) * y->stride;
  if (x->buffer == VK_NULL_HANDLE || x->buffer != y->buffer || bytes_x == 0 || bytes_y == 0 ||
      x->begin >= last_y + bytes_y || y->begin >= last_x + bytes_x)
    return 0;
  const int64_t pitch = x->rows > 1 ? x->pitch : y->pitch; /* which a single row does not have */
  const int has_blocks =
      (x->rows <= 1 || y->rows <= 1 || x->pitch == y->pitch) && x->row <= pitch && y->row <= pitch;
  /* With equal strides only the difference of the products' numbers counts. */
  const int64_t first = x->stride == y->stride ? 1 - batch : 0;
  for (int64_t i = first; i < batch; ++i) {
    const int64_t at = x->begin + i * x->stride;
    const int64_t before = y->stride == 0 ? 0 : (at - y->begin - bytes_y) / y->stride;
    const int64_t end = first < 0 || y->stride == 0 ? 1 : batch;
    for (int64_t j = first < 0 ? 0 : rte_most(before, 0); j < end; ++j) {
      const int64_t from_x = y->begin + j * y->stride - at;
      if (from_x >= bytes_x) break;
      if (from_x + bytes_y <= 0) continue;
      if (!has_blocks) return 1;
      const int64_t column = (from_x % pitch + pitch) % pitch;
      if (column < x->row || column + y->row > pitch) return 1;
    }
  }
  return 0;
}

/* Whether C shares bytes with another operand. The residual may be C itself. */
static int rte_c_overlaps(const rte_call* call, const rooftile_embed_operands* at) {
  const rte_class* const type = call->type;
  const rooftile_embed_problem* const p = &call->p;
  const int64_t several = p->batch > 1; /* strides count then */
  const rte_extent c =
      rte_extent_of(&at->c, p->m, p->n, p->ldc, several * p->stride_c, type->bytes_c);
  rte_extent others[8];
  int count = 0;
  if (p->k > 0) {
    others[count++] =
        rte_extent_of(&at->a, type->trans_a ? p->k : p->m, type->trans_a ? p->m : p->k, p->lda,
                      several * p->stride_a, type->bytes_a);
    if (type->block == 0)
      others[count++] =
          rte_extent_of(&at->b, type->trans_b ? p->n : p->k, type->trans_b ? p->k : p->n, p->ldb,
                        several * p->stride_b, type->bytes_a);
    else
      others[count++] = rte_line_of(
          &at->b, 0, rte_blocks(p->n * rte_stored_k(type, p->k), type->b_elements) * type->b_bytes);
    if (type->separate_scales)
      others[count++] = rte_line_of(&at->scales, 0, rte_scales(call) * type->bytes_a);
    if (type->zero_points != 0)
      others[count++] = rte_line_of(&at->zero_points, 0, rte_zero_point_bytes(call));
  }
  if (type->row_scale) others[count++] = rte_line_of(&at->vectors, 4 * at->row_scale, 4 * p->m);
  if (type->column_scale)
    others[count++] = rte_line_of(&at->vectors, 4 * at->column_scale, 4 * p->n);
  if (type->bias)
    others[count++] = rte_line_of(&at->vectors, 4 * at->bias, 4 * (type->bias == 1 ? p->m : p->n));
  if (type->residual) {
    const rte_extent residual =
        rte_extent_of(&at->residual, p->m, p->n, at->ld_residual, several * at->stride_residual, 4);
    if (residual.begin != c.begin || residual.row != c.row || residual.stride != c.stride ||
        (residual.pitch != c.pitch && p->m > 1))
      others[count++] = residual;
  }
  for (int i = 0; i < count; ++i)
    if (rte_share(&c, &others[i], p->batch)) return 1;
  return 0;
}
