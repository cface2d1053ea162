#include "generator/plan.h"

#include <algorithm>

#include "generator/layout.h"

namespace rooftile {
namespace {

struct Panel {
  std::int64_t begin, size;
};

/// Cuts [0, size) into panels of at most longest (but never less than a tile), each but the last a
/// multiple of tile.
std::vector<Panel> panels(std::int64_t size, std::int64_t tile, std::int64_t longest) {
  const std::int64_t step = longest >= size ? size : std::max(tile, longest / tile * tile);
  std::vector<Panel> result;
  for (std::int64_t begin = 0; begin < size; begin += step)
    result.push_back({begin, std::min(step, size - begin)});
  return result;
}

/// Rows (or columns) of which each costs flops_per_row that stay below max_flops and a grid's limit
/// of tiles.
std::int64_t longest_panel(double flops_per_row, double max_flops, std::int64_t size,
                           std::int64_t tile, std::uint32_t max_tiles) {
  const std::int64_t by_grid = static_cast<std::int64_t>(max_tiles) * tile;
  const double by_flops =
      flops_per_row > 0 ? max_flops / flops_per_row : std::numeric_limits<double>::infinity();
  return std::min(
      {size, by_grid,
       by_flops < static_cast<double>(size) ? static_cast<std::int64_t>(by_flops) : size});
}

std::uint32_t word(std::int64_t value) { return static_cast<std::uint32_t>(value); }

PackStep pack_step(const Variant& v, const DeviceLimits& limits, const Problem& p,
                   const Placement& placement, Operand operand) {
  const PackLayout layout = pack_layout(v, signature_of(p), operand);
  const bool is_a = operand == Operand::kA;
  const std::int64_t rows = is_a ? p.m : p.n;
  const std::int64_t padded_rows = round_up(rows, layout.panel_rows),
                     padded_depth = round_up(p.k, layout.pad_k);
  // An invocation moves blocks of 4 x 4; the kernel strides over whatever a cut grid leaves.
  constexpr std::int64_t kBlock = 4;
  const std::int64_t length = (layout.contiguous_along_depth ? padded_depth : padded_rows) / kBlock;
  const std::int64_t count = (layout.contiguous_along_depth ? padded_rows : padded_depth) / kBlock;
  return {.operand = operand,
          .groups = {word(std::min<std::int64_t>(divide_up(length, kPackLocalSize),
                                                 limits.max_workgroup_count[0])),
                     word(std::min<std::int64_t>(count, limits.max_workgroup_count[1])), 1},
          .push_constants = {.rows = word(rows),
                             .depth = word(p.k),
                             .ld = word(is_a ? p.lda : p.ldb),
                             .offset = word(is_a ? placement.offset_a : placement.offset_b)}};
}

/// Where op(A) begins at this row, or op(B) at this column: a panel's start is a tile's start.
std::int64_t offset_a(const Variant& v, const Problem& p, const Placement& placement,
                      std::int64_t row) {
  if (v.packed_a == Packed::kYes) return row * round_up(p.k, v.unroll_k);
  return placement.offset_a + row * (p.trans_a == Transpose::kYes ? 1 : p.lda);
}
std::int64_t offset_b(const Variant& v, const Problem& p, const Placement& placement,
                      std::int64_t column) {
  if (v.packed_b == Packed::kYes) return column * round_up(p.k, v.unroll_k);
  return placement.offset_b + column * (p.trans_b == Transpose::kYes ? p.ldb : 1);
}

}  // namespace

GemmPlan plan_gemm(const Variant& v, const DeviceLimits& limits, const Problem& p,
                   const Placement& placement, double max_flops) {
  GemmPlan plan;
  if (p.m == 0 || p.n == 0) return plan;
  // As in BLAS, alpha == 0 reads neither A nor B: NaN and Inf in them must not reach C.
  Problem q = p;
  if (q.alpha == 0.0f) q.k = 0;
  if (q.k == 0) q.alpha = 0.0f;

  if (q.k > 0 && v.packed_a == Packed::kYes) {
    plan.packed_a_elements = round_up(q.m, v.tile_m) * round_up(q.k, v.unroll_k);
    plan.packs.push_back(pack_step(v, limits, q, placement, Operand::kA));
  }
  if (q.k > 0 && v.packed_b == Packed::kYes) {
    plan.packed_b_elements = round_up(q.n, v.tile_n) * round_up(q.k, v.unroll_k);
    plan.packs.push_back(pack_step(v, limits, q, placement, Operand::kB));
  }

  const int x = v.raster == Raster::kRow ? 0 : 1, y = 1 - x;  // grid dimensions along n and m
  const double flops_per_element = 2.0 * static_cast<double>(q.k);
  const std::int64_t rows = longest_panel(flops_per_element * static_cast<double>(q.n), max_flops,
                                          q.m, v.tile_m, limits.max_workgroup_count[y]);
  for (const Panel& m_panel : panels(q.m, v.tile_m, rows)) {
    const std::int64_t columns =
        longest_panel(flops_per_element * static_cast<double>(m_panel.size), max_flops, q.n,
                      v.tile_n, limits.max_workgroup_count[x]);
    for (const Panel& n_panel : panels(q.n, v.tile_n, columns)) {
      GemmStep step{.groups = {1, 1, 1},
                    .push_constants = {.m = word(m_panel.size),
                                       .n = word(n_panel.size),
                                       .k = word(q.k),
                                       .lda = word(q.lda),
                                       .ldb = word(q.ldb),
                                       .ldc = word(q.ldc),
                                       .alpha = q.alpha,
                                       .beta = q.beta,
                                       .offset_a = word(offset_a(v, q, placement, m_panel.begin)),
                                       .offset_b = word(offset_b(v, q, placement, n_panel.begin)),
                                       .offset_c = word(placement.offset_c + m_panel.begin * q.ldc +
                                                        n_panel.begin)}};
      step.groups[x] = word(divide_up(n_panel.size, v.tile_n));
      step.groups[y] = word(divide_up(m_panel.size, v.tile_m));
      plan.gemms.push_back(step);
    }
  }
  return plan;
}

}  // namespace rooftile
