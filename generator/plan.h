// Computes the dispatches of a variant for a problem: grids, push constants, sizes of the
// workspace. Pure arithmetic.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "generator/emit.h"
#include "generator/rules.h"

namespace rooftile {

struct PackStep {
  Operand operand;
  std::array<std::uint32_t, 3> groups;
  PackPushConstants push_constants;
  std::int64_t first_word = 0, words = 0;  // of the packed operand that it writes; 0 words: all
};
struct GemmStep {
  std::array<std::uint32_t, 3> groups;
  GemmPushConstants push_constants;
  EpiloguePushConstants epilogue;  // used where the signature has an epilogue, without split-K
  bool adds = false;  // the first that adds to what earlier gemm steps stored: after a barrier
};

struct ReduceStep {
  std::array<std::uint32_t, 3> groups;
  ReducePushConstants push_constants;
  EpiloguePushConstants epilogue;  // used where the signature has an epilogue
};

/// Order of execution, with a barrier between the kinds: clearing of partial sums and pack steps,
/// then gemm steps, then reduce steps. Steps of one kind write disjoint memory, but for gemm steps
/// that add a further range of k (GemmStep::adds). A split-K GEMM
/// writes partial sums into a workspace, from which reduce steps compute C. Where alpha or k is 0,
/// nothing is packed and nothing is read from bindings 0 and 1, to which any buffer may be bound.
/// Where C is empty, there are no steps.
struct GemmPlan {
  // 32-bit words of the workspace: of the packed operands (0: the operand is read as stored) and of
  // all partial sums (0: there are none).
  std::int64_t packed_a_words = 0, packed_b_words = 0;
  std::int64_t part_words = 0;
  bool clear_parts = false;  // kernels add to the partial sums, which must be zero before
  std::vector<PackStep> packs;
  std::vector<GemmStep> gemms;
  std::vector<ReduceStep> reduces;
};

/// max_flops bounds one gemm step, so that no dispatch approaches the operating system's GPU
/// timeout: large problems are cut by the batch, then by rows, then by columns, and a tile along k
/// where later steps may add to it (may_divide_k). k is also cut where it takes more loop trips
/// than the driver runs. A kernel without matrix units looks for panel i of a packed operand behind
/// i panels of its dispatch's depth, where only the first one lies if that depth is a part of k:
/// such a dispatch takes one panel. The variant must be legal for the problem, the placement and
/// the sums. With SumsIn::kWorkspace there are partial sums and reduce steps even where k is not
/// split.
GemmPlan plan_gemm(const Variant& v, const DeviceLimits& limits, const Problem& p,
                   const Placement& placement,
                   double max_flops = std::numeric_limits<double>::infinity(),
                   SumsIn sums = SumsIn::kC);

/// The plan of a grouped problem of at most so many GroupTiles. Each gemm step has the push
/// constants of GroupedPushConstants and computes whole rows of tiles; a packed A consists of the
/// rows of each tile. Otherwise as plan_gemm().
GemmPlan plan_grouped(const Variant& v, const DeviceLimits& limits, const Problem& p,
                      const Placement& placement, std::int64_t tiles,
                      double max_flops = std::numeric_limits<double>::infinity());

/// The dispatch that makes the list of so many tiles from group sizes on the device.
struct GroupTilesStep {
  std::array<std::uint32_t, 3> groups;
  GroupTilesPushConstants push_constants;
};
GroupTilesStep plan_group_tiles(const Variant& v, const DeviceLimits& limits, const Problem& p,
                                std::int64_t tiles, bool own_experts);

/// The plan without the steps that pack this operand, for a caller that has it packed already.
GemmPlan without_packing(GemmPlan plan, Operand operand);

}  // namespace rooftile
