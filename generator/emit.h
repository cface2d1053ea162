// Variant + template -> GLSL. Text only; generator/compile.h turns it into SPIR-V.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/shader_interface.h"
#include "core/variant.h"
#include "generator/signature.h"

namespace rooftile {

struct Shader {
  std::string glsl;  // complete: defines first, includes expanded
  std::string hash;  // identity: hash_hex of glsl, compile options and kGeneratorVersion
  ShaderInterface interface;
  Optimization optimization = Optimization::kZero;
  // Compiled for Vulkan 1.2, with tensor addressing for 1.3, and without spirv-opt, which does not
  // know matrices.
  bool matrix_units = false, tensor_addressing = false;
};

/// Bindings: 0 A (or packed A), 1 B (or packed B), 2 C (or the parts of a split product); then of a
/// quantised B that is not packed its scales and, if there are any, its zero points; then, with an
/// epilogue and unless the product is split, its vectors and the residual. Push constants:
/// GemmPushConstants, EpiloguePushConstants.
/// The variant must pass illegal_reason(v, limits) of the device that will run it.
Shader emit_gemm(const Variant& v, const Signature& s);

enum class Operand : std::uint8_t { kA, kB };
/// Bindings: 0 the stored operand, 1 its panels, then as above scales and zero points. Push
/// constants: PackPushConstants.
Shader emit_pack(const Variant& v, const Signature& s, Operand operand);

/// Adds the parts of a product that was split along k. Bindings: 0 the parts, 1 C, and with an
/// epilogue 2 its vectors and 3 the residual. Push constants: ReducePushConstants,
/// EpiloguePushConstants.
Shader emit_reduce(const Signature& s);

/// Push-constant blocks, byte for byte as in templates/problem.glsl and templates/pack.comp.
/// Offsets in elements.
struct GemmPushConstants {
  std::uint32_t m, n, depth, lda, ldb, ldc;
  float alpha, beta;
  std::uint32_t base_a, base_b, base_c;
  std::uint32_t stride_a, stride_b, stride_c;
  std::uint32_t step_a, step_b;
  std::uint32_t batch, split_depth;
};
/// Behind GemmPushConstants, or behind ReducePushConstants for a split product, when the signature
/// has an epilogue.
struct EpiloguePushConstants {
  std::uint32_t offset_row_scale, offset_column_scale, offset_bias;
  std::uint32_t base_residual, ld_residual, stride_residual;
  float clamp_low, clamp_high;
};
struct PackPushConstants {
  std::uint32_t rows, depth;       // op(A): m, k; op(B): n, k
  std::uint32_t ld, base, stride;  // of the stored operand
  std::uint32_t panel_stride;      // multiple of 4
};
struct ReducePushConstants {
  std::uint32_t m, n, ldc, ld_part;  // ld_part: multiple of 4
  float alpha, beta;
  std::uint32_t offset_c, stride_c;
  std::uint32_t first_part;  // offset of the first part, multiple of 4
  std::uint32_t batch, parts;
};

/// Text of a kernel template by file name ("tiled.comp"), embedded at build time from templates/.
std::string_view template_text(std::string_view file);

}  // namespace rooftile
