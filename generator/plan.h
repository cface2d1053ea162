// From variant and real problem to dispatches: sizes, grids, push constants, workspace. Pure
// arithmetic.
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
};
struct GemmStep {
  std::array<std::uint32_t, 3> groups;
  GemmPushConstants push_constants;
  EpiloguePushConstants epilogue;  // used when the signature has one and the product is not split
};

struct ReduceStep {
  std::array<std::uint32_t, 3> groups;
  ReducePushConstants push_constants;
  EpiloguePushConstants epilogue;  // used when the signature has one
};

/// Parts are cleared and pack steps run before gemm steps, reduce steps after them, with a barrier
/// before each kind; steps of one kind write disjoint parts. A product that is split along k writes
/// its parts into a workspace, from which reduce steps make C. When alpha or k is 0 nothing is
/// packed and nothing is read from bindings 0 and 1: any buffer may stand there. No steps at all
/// when C is empty.
struct GemmPlan {
  std::int64_t packed_a_elements = 0, packed_b_elements = 0;  // 0: operand is read as stored
  std::int64_t part_elements = 0;                             // 0: not split
  bool clear_parts = false;  // kernels add to the parts: they must be zero before
  std::vector<PackStep> packs;
  std::vector<GemmStep> gemms;
  std::vector<ReduceStep> reduces;
};

/// max_flops bounds one gemm step (long problems run as runs of products, then panels of rows, then
/// of columns, so that no dispatch comes near the OS watchdog); a step is never less than one tile.
/// The variant must be legal for the problem and placement.
GemmPlan plan_gemm(const Variant& v, const DeviceLimits& limits, const Problem& p,
                   const Placement& placement,
                   double max_flops = std::numeric_limits<double>::infinity());

/// The same without the steps that pack this operand: its panels are there already.
GemmPlan without_packing(GemmPlan plan, Operand operand);

}  // namespace rooftile
