// Generates the GLSL text of a variant from the templates. generator/compile.h compiles it to
// SPIR-V.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/shader_interface.h"
#include "core/variant.h"
#include "generator/signature.h"
#include "generator/web/dialect.h"

namespace rooftile {

struct Shader {
  std::string glsl;  // complete: defines first, includes expanded
  std::string hash;  // identity: shader_hash
  ShaderInterface interface;
  Optimization optimization = Optimization::kZero;
  // Matrix units need Vulkan 1.2 and tensor addressing 1.3; both are compiled without spirv-opt,
  // which does not know matrices.
  bool matrix_units = false, tensor_addressing = false;
};

/// Identity of a shader: changes with its code, with the optimisation level and with
/// kGeneratorVersion, but not with comments in the code. kernel distinguishes shaders of equal
/// code: variant and signature for GEMM kernels, of which each has certificates of its own, and
/// nothing for the others, which may be equal and differ in the texels of their interface.
std::string shader_hash(std::string_view kernel, std::string_view glsl, Optimization optimization);

/// Bindings: 0 is A or packed A, 1 is B or packed B, 2 is C or, with split-K, the partial sums. The
/// scales and, where there are any, the zero points of a quantised B that is not packed follow,
/// then, with an epilogue and without split-K, its vectors and the residual, and of a grouped
/// problem the GroupTiles (core/groups.h). Push constants: GemmPushConstants, then
/// EpiloguePushConstants; of a grouped problem with the meaning of GroupedPushConstants.
/// The variant must pass illegal_reason(v, limits) of the device that will run it, and for
/// Dialect::kWeb that with webgpu_limits() (generator/web/adapter.h). In that dialect all bindings
/// are storage buffers, and what are push constants here, byte for byte, is a uniform buffer whose
/// binding is the first one behind `interface.bindings`; spirv-opt is not used (optimization zero).
Shader emit_gemm(const Variant& v, const Signature& s, Dialect dialect = Dialect::kVulkan);

/// Bindings: 0 is the stored operand, 1 the packed one; scales and zero points follow as for
/// emit_gemm(), and the GroupTiles for A of a grouped problem. Push constants: PackPushConstants.
Shader emit_pack(const Variant& v, const Signature& s, Operand operand,
                 Dialect dialect = Dialect::kVulkan);

/// Makes the list of GroupTiles from group sizes that lie on the device. Bindings: 0 is the sizes,
/// 1 the experts of the groups, 2 the tiles, 3 the status word. Push constants:
/// GroupTilesPushConstants.
Shader emit_group_tiles();

/// Adds the partial sums of a split-K GEMM. Bindings: 0 is the partial sums, 1 is C, and with an
/// epilogue 2 is its vectors and 3 the residual. Push constants: ReducePushConstants, then
/// EpiloguePushConstants.
Shader emit_reduce(const Signature& s, Dialect dialect = Dialect::kVulkan);

/// Push-constant blocks, as in templates/common/problem.glsl and templates/pack.comp, where their
/// fields are explained: byte for byte, but that the two doubles of a block are float32 in the
/// kernels of all types but float64 (shader_block). Offsets are in elements.
struct GemmPushConstants {
  static constexpr std::size_t kWordsBefore = 6, kWordsBehind = 10;  // alpha and beta
  std::uint32_t m, n, depth, lda, ldb, ldc;
  double alpha, beta;
  std::uint32_t base_a, base_b, base_c;
  std::uint32_t stride_a, stride_b, stride_c;
  std::uint32_t step_a, step_b;
  std::uint32_t batch, split_depth;
};
/// The same block for a grouped problem, as templates/common/problem.glsl explains it.
struct GroupedPushConstants {
  std::uint32_t rows, n, depth, lda, ldb, ldc;
  double alpha, beta;
  std::uint32_t base_a, base_b, base_c;
  std::uint32_t line_a, expert_b;  // distance from a row of A to the next, and from a B to the next
  std::uint32_t unused[2];
  std::uint32_t batch;           // 1
  std::uint32_t expert_columns;  // distance of an epilogue's vectors of columns of two experts
  std::uint32_t first_tile;      // of the list of GroupTiles
};
/// Follows GemmPushConstants, or ReducePushConstants with split-K, where the signature has an
/// epilogue.
struct EpiloguePushConstants {
  static constexpr std::size_t kWordsBefore = 6, kWordsBehind = 0;  // the limits of clamp
  std::uint32_t offset_row_scale, offset_column_scale, offset_bias;
  std::uint32_t base_residual, ld_residual, stride_residual;
  double clamp_low, clamp_high;
};
struct PackPushConstants {
  std::uint32_t rows, depth;       // op(A): m, k; op(B): n, k
  std::uint32_t ld, base, stride;  // of the stored operand
  std::uint32_t panel_stride;      // multiple of 4
};
struct GroupTilesPushConstants {
  std::uint32_t groups, rows, experts;  // rows: all that there are
  std::uint32_t tile_m, tiles;          // tiles: length of the list
  std::uint32_t own_experts;            // 0: group i has expert i
};
struct ReducePushConstants {
  static constexpr std::size_t kWordsBefore = 4, kWordsBehind = 5;  // alpha and beta
  std::uint32_t m, n, ldc, ld_partial;                              // ld_partial: multiple of 4
  double alpha, beta;
  std::uint32_t offset_c, stride_c;
  std::uint32_t first_partial;  // offset of the first partial sum, multiple of 4
  std::uint32_t batch, partials;
};

static_assert(sizeof(GroupedPushConstants) == sizeof(GemmPushConstants));
static_assert(offsetof(GemmPushConstants, alpha) == 4 * GemmPushConstants::kWordsBefore);
static_assert(offsetof(ReducePushConstants, alpha) == 4 * ReducePushConstants::kWordsBefore);
static_assert(offsetof(EpiloguePushConstants, clamp_low) ==
              4 * EpiloguePushConstants::kWordsBefore);
static_assert(offsetof(GemmPushConstants, split_depth) - offsetof(GemmPushConstants, base_a) ==
              4 * (GemmPushConstants::kWordsBehind - 1));
static_assert(offsetof(ReducePushConstants, partials) - offsetof(ReducePushConstants, offset_c) ==
              4 * (ReducePushConstants::kWordsBehind - 1));

/// Bytes of such a block in the kernels of these types.
template <typename Block>
requires(Block::kWordsBefore > 0) constexpr std::uint32_t block_bytes(const Types& t) {
  return static_cast<std::uint32_t>((Block::kWordsBefore + Block::kWordsBehind) * 4 +
                                    2 * (is_float64(t) ? sizeof(double) : sizeof(float)));
}
/// The block as the kernels of these types read it.
template <typename Block>
requires(Block::kWordsBefore > 0) std::vector<std::byte> shader_block(const Block& block,
                                                                      const Types& t) {
  constexpr std::size_t kHead = 4 * Block::kWordsBefore, kTail = 4 * Block::kWordsBehind;
  const auto* const from = reinterpret_cast<const std::byte*>(&block);
  std::array<double, 2> scalars = {};
  std::memcpy(scalars.data(), from + kHead, sizeof scalars);
  const std::array<float, 2> narrow = {static_cast<float>(scalars[0]),
                                       static_cast<float>(scalars[1])};
  std::vector<std::byte> bytes(block_bytes<Block>(t));
  std::memcpy(bytes.data(), from, kHead);
  if (is_float64(t))
    std::memcpy(bytes.data() + kHead, scalars.data(), sizeof scalars);
  else
    std::memcpy(bytes.data() + kHead, narrow.data(), sizeof narrow);
  std::memcpy(bytes.data() + bytes.size() - kTail, from + kHead + sizeof scalars, kTail);
  return bytes;
}
inline std::vector<std::byte> shader_block(const PackPushConstants& block, const Types&) {
  std::vector<std::byte> bytes(sizeof block);
  std::memcpy(bytes.data(), &block, sizeof block);
  return bytes;
}

}  // namespace rooftile
