#include "generator/plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "generator/layout.h"

namespace rooftile {
namespace {

/// A range of rows, of columns or of matrices of the batch.
struct Range {
  std::int64_t begin, size;
};

/// Cuts [0, size) into ranges of at most `longest`, but never of less than a tile; each but the
/// last is a multiple of tile.
std::vector<Range> ranges(std::int64_t size, std::int64_t tile, std::int64_t longest) {
  const std::int64_t step = longest >= size ? size : std::max(tile, longest / tile * tile);
  std::vector<Range> result;
  for (std::int64_t begin = 0; begin < size; begin += step)
    result.push_back({begin, std::min(step, size - begin)});
  return result;
}

/// Largest number of rows, or columns, at flops_per_row each that stays within max_flops and the
/// grid's limit on tiles.
std::int64_t longest_range(double flops_per_row, double max_flops, std::int64_t size,
                           std::int64_t tile, std::uint32_t max_tiles) {
  const std::int64_t by_grid = static_cast<std::int64_t>(max_tiles) * tile;
  const double by_flops =
      flops_per_row > 0 ? max_flops / flops_per_row : std::numeric_limits<double>::infinity();
  return std::min(
      {size, by_grid,
       by_flops < static_cast<double>(size) ? static_cast<std::int64_t>(by_flops) : size});
}

/// The ranges of k that one dispatch each may compute, in steps of kernel_depth(): as long as the
/// driver's loops run, and as max_flops allows for a tile of tile_elements sums.
std::vector<Range> depth_ranges(const Variant& v, const DeviceLimits& limits, const Problem& p,
                                SumsIn sums, double tile_elements, double max_flops) {
  // Shorter dispatches take longer to start than to run.
  constexpr std::int64_t kLeastElements = 4096;
  const std::int64_t depth = kernel_depth(v, p.k);
  if (depth == 0 || !may_divide_k(v, compiled_signature(signature_of(p), sums)))
    return {{0, depth}};
  const double by_flops = std::max<double>(kLeastElements, max_flops / (2 * tile_elements)) / v.dot;
  std::int64_t longest = longest_depth(v, limits);
  if (by_flops < static_cast<double>(longest)) longest = static_cast<std::int64_t>(by_flops);
  return ranges(depth, k_step(v), longest);
}

std::uint32_t word(std::int64_t value) { return static_cast<std::uint32_t>(value); }

/// Number of matrices to pack: one where the whole batch reads the same matrix.
std::int64_t packed_matrices(const Problem& p, Operand operand) {
  if (is_grouped(p)) return operand == Operand::kA || p.stride_b == 0 ? 1 : p.grouping.experts;
  return p.batch > 1 && (operand == Operand::kA ? p.stride_a : p.stride_b) == 0 ? 1 : p.batch;
}

void add_pack_steps(GemmPlan& plan, const Variant& v, const DeviceLimits& limits, const Problem& p,
                    const Placement& placement, Operand operand) {
  const PackLayout layout = pack_layout(v, signature_of(p), operand);
  const bool is_a = operand == Operand::kA;
  const std::int64_t rows = is_a ? p.m : p.n;
  // An invocation moves blocks of 4 x 4, or single words. The kernel's grid-stride loop covers what
  // a grid within the device's limits leaves.
  const std::int64_t panel = panel_stride(v, p, operand);
  const std::int64_t block = packs_words(v) ? 1 : 4;
  const std::int64_t padded_rows = round_up(rows, layout.pad_rows),
                     padded_depth = panel / padded_rows;
  const std::int64_t length = (layout.contiguous_along_depth ? padded_depth : padded_rows) / block;
  const std::int64_t count = (layout.contiguous_along_depth ? padded_rows : padded_depth) / block;
  const std::int64_t matrices = packed_matrices(p, operand);
  (is_a ? plan.packed_a_words : plan.packed_b_words) = matrices * panel_words(v, p, operand);
  plan.packs.push_back(
      {.operand = operand,
       .groups = {word(std::min<std::int64_t>(divide_up(length, kPackLocalSize),
                                              limits.max_workgroup_count[0])),
                  word(std::min<std::int64_t>(count, limits.max_workgroup_count[1])),
                  word(matrices)},
       .push_constants = {.rows = word(rows),
                          .depth = word(p.k),
                          .ld = word(is_a ? p.lda : p.ldb),
                          .base = word(is_a ? placement.offset_a : placement.offset_b),
                          .stride = word(is_a ? p.stride_a : p.stride_b),
                          .panel_stride = word(panel)}});
}

/// Divides the last step, which packs the B of all experts, where a binding cannot hold them all.
void divide_pack_step(GemmPlan& plan, const DeviceLimits& limits) {
  const PackStep all = plan.packs.back();
  const std::int64_t experts = all.groups[2], panel = plan.packed_b_words / experts;
  const auto most =
      static_cast<std::int64_t>(limits.max_storage_buffer_range_bytes) / kElementBytes;
  if (experts * panel <= most) return;
  plan.packs.pop_back();
  const std::int64_t together = std::max<std::int64_t>(1, most / panel);
  for (const Range& range : ranges(experts, 1, together)) {
    PackStep step = all;
    step.groups[2] = word(range.size);
    step.push_constants.base =
        word(all.push_constants.base + range.begin * all.push_constants.stride);
    step.first_word = range.begin * panel;
    step.words = range.size * panel;
    plan.packs.push_back(step);
  }
}

/// Addresses of an operand as a kernel sees it: its offset, the distance to the next matrix of the
/// batch (stride), to the next row of op(A) or column of op(B) (line), to the next step of k
/// (step), and the leading dimension, which is the padded depth for a packed operand. In elements,
/// or in words for packed dot products. A packed operand is only addressed at the first row of a
/// tile.
struct Walk {
  std::int64_t base, stride, line, step, ld;
};
Walk walk_panels(const Variant& v, const Problem& p, Operand operand) {
  const PackLayout layout = pack_layout(v, signature_of(p), operand);
  const std::int64_t depth = round_up(kernel_depth(v, p.k), layout.pad_k);
  return {0, packed_matrices(p, operand) == 1 ? 0 : panel_elements(v, p, operand), depth,
          layout.panel_rows, depth};
}
Walk walk_a(const Variant& v, const Problem& p, const Placement& placement) {
  if (v.packed_a == Packed::kYes) return walk_panels(v, p, Operand::kA);
  const bool t = p.trans_a == Transpose::kYes;
  const std::int64_t ld = p.lda / v.dot;
  return {placement.offset_a / v.dot, p.stride_a / v.dot, t ? 1 : ld, t ? ld : 1, ld};
}
Walk walk_b(const Variant& v, const Problem& p, const Placement& placement) {
  if (v.packed_b == Packed::kYes) return walk_panels(v, p, Operand::kB);
  const bool t = p.trans_b == Transpose::kYes;
  const std::int64_t ld = p.ldb / v.dot;
  return {placement.offset_b / v.dot, p.stride_b / v.dot, t ? ld : 1, t ? 1 : ld, ld};
}

/// The epilogue's operands for the block of C that begins at this matrix of the batch, row and
/// column.
EpiloguePushConstants epilogue_of(const Problem& p, const Placement& at, std::int64_t product,
                                  std::int64_t row, std::int64_t column) {
  return {.offset_row_scale = word(at.offset_row_scale + row),
          .offset_column_scale = word(at.offset_column_scale + column),
          .offset_bias = word(at.offset_bias + (p.epilogue.bias == Bias::kRow ? row : column)),
          .base_residual = word(at.offset_residual + product * at.stride_residual +
                                row * at.ld_residual + column),
          .ld_residual = word(at.ld_residual),
          .stride_residual = word(at.stride_residual),
          .clamp_low = p.epilogue.low,
          .clamp_high = p.epilogue.high};
}

/// The grid's dimensions along n and along m.
struct GridDimensions {
  std::size_t x, y;
};
GridDimensions grid_dimensions(const Variant& v) {
  return v.raster == Raster::kColumn ? GridDimensions{1, 0} : GridDimensions{0, 1};
}

/// What gemm steps write: C, or the partial sums of a split-K GEMM.
struct Target {
  std::int64_t base, stride, ld;
  double alpha, beta;
};

/// The part of the products that one dispatch computes.
struct Block {
  Range products, rows, columns, depth;  ///< Depth: in steps of kernel_depth().
};

GemmStep gemm_step(const Variant& v, const Problem& p, const Placement& placement, const Walk& a,
                   const Walk& b, const Target& target, const Block& block) {
  const auto& [products, rows, columns, depth] = block;
  const bool whole_depth = depth.size == kernel_depth(v, p.k);
  GemmStep step{
      .groups = {1, 1, word(divide_up(products.size, v.tile_batch) * k_slices_of(v, p.k))},
      .push_constants = {.m = word(rows.size),
                         .n = word(columns.size),
                         .depth = word(depth.size),
                         .lda = word(a.ld),
                         .ldb = word(b.ld),
                         .ldc = word(target.ld),
                         .alpha = target.alpha,
                         .beta = depth.begin > 0 ? 1.0 : target.beta,
                         .base_a = word(a.base + products.begin * a.stride + rows.begin * a.line +
                                        depth.begin * a.step),
                         .base_b = word(b.base + products.begin * b.stride +
                                        columns.begin * b.line + depth.begin * b.step),
                         .base_c = word(target.base + rows.begin * target.ld + columns.begin),
                         .stride_a = word(a.stride),
                         .stride_b = word(b.stride),
                         .stride_c = word(target.stride),
                         .step_a = word(a.step),
                         .step_b = word(b.step),
                         .batch = word(products.size),
                         .split_depth = word(whole_depth ? split_depth(v, p.k) : depth.size)},
      .epilogue = epilogue_of(p, placement, products.begin, rows.begin, columns.begin),
      .adds = depth.begin > 0 && rows.begin == 0 && columns.begin == 0};
  const auto [x, y] = grid_dimensions(v);
  step.groups[x] = word(divide_up(columns.size, v.tile_n));
  step.groups[y] = word(divide_up(rows.size, v.tile_m));
  return step;
}

void add_reduce_step(GemmPlan& plan, const DeviceLimits& limits, const Problem& p,
                     const Placement& placement, Range products, std::int64_t parts,
                     std::int64_t ld_partial) {
  plan.reduces.push_back(
      {.groups = {word(std::min<std::int64_t>(divide_up(ld_partial / 4, kReduceLocalSize),
                                              limits.max_workgroup_count[0])),
                  word(std::min<std::int64_t>(p.m, limits.max_workgroup_count[1])),
                  word(products.size)},
       .push_constants = {.m = word(p.m),
                          .n = word(p.n),
                          .ldc = word(p.ldc),
                          .ld_partial = word(ld_partial),
                          .alpha = p.alpha,
                          .beta = p.beta,
                          .offset_c = word(placement.offset_c + products.begin * p.stride_c),
                          .stride_c = word(p.stride_c),
                          .first_partial = word(products.begin * parts * p.m * ld_partial),
                          .batch = word(products.size),
                          .partials = word(parts)},
       .epilogue = epilogue_of(p, placement, products.begin, 0, 0)});
}

}  // namespace

GemmPlan plan_gemm(const Variant& v, const DeviceLimits& limits, const Problem& p,
                   const Placement& placement, double max_flops, SumsIn sums) {
  GemmPlan plan;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return plan;
  // As in BLAS, alpha == 0 reads neither A nor B: NaN and Inf in them must not reach C.
  Problem q = p;
  if (q.alpha == 0.0f) q.k = 0;
  if (q.k == 0) q.alpha = 0.0f;
  if (q.k > 0 && v.packed_a == Packed::kYes)
    add_pack_steps(plan, v, limits, q, placement, Operand::kA);
  if (q.k > 0 && v.packed_b == Packed::kYes)
    add_pack_steps(plan, v, limits, q, placement, Operand::kB);

  const Walk a = walk_a(v, q, placement), b = walk_b(v, q, placement);
  const std::int64_t parts = k_slices_of(v, q.k), stored = stored_parts(v, q.k);
  const std::int64_t ld_partial = round_up(q.n, kTexelElements);
  // The kernel of a split-K variant writes partial sums without the epilogue and in their own type,
  // even where there is only one.
  const bool atomic = v.reduction == Reduction::kAtomic;
  const bool own_type_is_c = q.types.c == part_type(q.types) && !is_8_bit(q.types.a);
  const bool reduced = parts > 1 || atomic || sums == SumsIn::kWorkspace ||
                       (v.split_k > 1 && (any(q.epilogue) || !own_type_is_c));
  if (reduced) plan.part_words = stored * q.batch * q.m * ld_partial * words_of_element(q.types);
  plan.clear_parts = atomic;

  const auto [x, y] = grid_dimensions(v);
  const double flops_per_element = 2.0 * static_cast<double>(q.k);
  const double flops_per_product =
      flops_per_element * static_cast<double>(q.m) * static_cast<double>(q.n);
  const std::int64_t most_products = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(limits.max_workgroup_count[2]) * v.tile_batch / parts);
  const std::int64_t run =
      longest_range(flops_per_product, max_flops, q.batch, 1, word(most_products));
  const auto tile_elements = static_cast<double>(std::min<std::int64_t>(v.tile_m, q.m) *
                                                 std::min<std::int64_t>(v.tile_n, q.n) *
                                                 std::min<std::int64_t>(v.tile_batch, q.batch));
  const std::vector<Range> depths = depth_ranges(v, limits, q, sums, tile_elements, max_flops);
  const auto most_tiles = [&](Packed packed, std::size_t dimension) {
    const bool only_first = packed == Packed::kYes && v.family != Family::kMatrix;
    return only_first && depths.size() > 1 ? 1 : limits.max_workgroup_count[dimension];
  };
  for (const Range& products : ranges(q.batch, 1, run)) {
    const double product_flops = flops_per_element * static_cast<double>(products.size);
    const Target target = reduced ? Target{products.begin * stored * q.m * ld_partial,
                                           q.m * ld_partial, ld_partial, 1, 0}
                                  : Target{placement.offset_c + products.begin * q.stride_c,
                                           q.stride_c, q.ldc, q.alpha, q.beta};
    const std::int64_t rows = longest_range(product_flops * static_cast<double>(q.n), max_flops,
                                            q.m, v.tile_m, most_tiles(v.packed_a, y));
    for (const Range& depth : depths) {
      for (const Range& m_range : ranges(q.m, v.tile_m, rows)) {
        const std::int64_t columns =
            longest_range(product_flops * static_cast<double>(m_range.size), max_flops, q.n,
                          v.tile_n, most_tiles(v.packed_b, x));
        for (const Range& n_range : ranges(q.n, v.tile_n, columns)) {
          plan.gemms.push_back(
              gemm_step(v, q, placement, a, b, target, {products, m_range, n_range, depth}));
        }
      }
    }
    if (reduced) add_reduce_step(plan, limits, q, placement, products, stored, ld_partial);
  }
  return plan;
}

GemmPlan plan_grouped(const Variant& v, const DeviceLimits& limits, const Problem& p,
                      const Placement& placement, std::int64_t tiles, double max_flops) {
  GemmPlan plan;
  if (p.m == 0 || p.n == 0 || tiles == 0) return plan;
  Problem q = p;
  if (q.alpha == 0.0f) q.k = 0;
  if (q.k == 0) q.alpha = 0.0f;
  if (q.k > 0 && v.packed_a == Packed::kYes) {
    Problem by_tiles = q;  // of which each has a whole panel
    by_tiles.m = tiles * v.tile_m;
    add_pack_steps(plan, v, limits, by_tiles, placement, Operand::kA);
  }
  if (q.k > 0 && v.packed_b == Packed::kYes) {
    add_pack_steps(plan, v, limits, q, placement, Operand::kB);
    divide_pack_step(plan, limits);
  }
  const Walk a = walk_a(v, q, placement), b = walk_b(v, q, placement);
  // Elements from the panel of a tile to the next; where A is read as stored, tiles know their
  // rows.
  const std::int64_t panel = v.packed_a == Packed::kYes ? v.tile_m * a.line : 0;
  const std::int64_t line = v.packed_a == Packed::kYes ? 0 : a.line;
  const auto [x, y] = grid_dimensions(v);
  const double flops_per_row = 2.0 * static_cast<double>(q.k) * static_cast<double>(q.n);
  const std::int64_t rows = longest_range(flops_per_row, max_flops, tiles * v.tile_m, v.tile_m,
                                          limits.max_workgroup_count[y]);
  for (const Range& range : ranges(tiles * v.tile_m, v.tile_m, rows)) {
    const double flops_per_column =
        2.0 * static_cast<double>(q.k) * static_cast<double>(range.size);
    const std::int64_t columns =
        longest_range(flops_per_column, max_flops, q.n, v.tile_n, limits.max_workgroup_count[x]);
    const std::int64_t first_tile = range.begin / v.tile_m;
    for (const Range& n_range : ranges(q.n, v.tile_n, columns)) {
      EpiloguePushConstants epilogue = epilogue_of(q, placement, 0, 0, n_range.begin);
      epilogue.stride_residual = epilogue.ld_residual;  // from a row of the residual to the next
      GemmStep step{.groups = {1, 1, 1},
                    .push_constants = std::bit_cast<GemmPushConstants>(
                        GroupedPushConstants{.rows = word(q.m),
                                             .n = word(n_range.size),
                                             .depth = word(kernel_depth(v, q.k)),
                                             .lda = word(a.ld),
                                             .ldb = word(b.ld),
                                             .ldc = word(q.ldc),
                                             .alpha = q.alpha,
                                             .beta = q.beta,
                                             .base_a = word(a.base + first_tile * panel),
                                             .base_b = word(b.base + n_range.begin * b.line),
                                             .base_c = word(placement.offset_c + n_range.begin),
                                             .line_a = word(line),
                                             .expert_b = word(b.stride),
                                             .unused = {},
                                             .batch = 1,
                                             .expert_columns = word(placement.expert_columns),
                                             .first_tile = word(first_tile)}),
                    .epilogue = epilogue};
      step.groups[x] = word(divide_up(n_range.size, v.tile_n));
      step.groups[y] = word(range.size / v.tile_m);
      plan.gemms.push_back(step);
    }
  }
  return plan;
}

GroupTilesStep plan_group_tiles(const Variant& v, const DeviceLimits& limits, const Problem& p,
                                std::int64_t tiles, bool own_experts) {
  return {.groups = {word(std::min<std::int64_t>(divide_up(tiles, kGroupTilesLocalSize),
                                                 limits.max_workgroup_count[0])),
                     1, 1},
          .push_constants = {.groups = word(p.grouping.groups),
                             .rows = word(p.m),
                             .experts = word(p.grouping.experts),
                             .tile_m = word(v.tile_m),
                             .tiles = word(tiles),
                             .own_experts = own_experts ? 1u : 0u}};
}

GemmPlan without_packing(GemmPlan plan, Operand operand) {
  std::erase_if(plan.packs, [&](const PackStep& pack) { return pack.operand == operand; });
  (operand == Operand::kA ? plan.packed_a_words : plan.packed_b_words) = 0;
  return plan;
}

}  // namespace rooftile
