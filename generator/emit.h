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
};

/// Bindings: 0 A (or packed A), 1 B (or packed B), 2 C. Push constants: GemmPushConstants.
/// The variant must pass illegal_reason(v, limits) of the device that will run it.
Shader emit_gemm(const Variant& v, const Signature& s);

enum class Operand : std::uint8_t { kA, kB };
/// Bindings: 0 the stored operand, 1 its panels. Push constants: PackPushConstants.
Shader emit_pack(const Variant& v, const Signature& s, Operand operand);

/// Push-constant blocks, byte for byte as in templates/problem.glsl and templates/pack.comp.
/// Offsets in elements.
struct GemmPushConstants {
  std::uint32_t m, n, k, lda, ldb, ldc;
  float alpha, beta;
  std::uint32_t offset_a, offset_b, offset_c;
};
struct PackPushConstants {
  std::uint32_t rows, depth;  // op(A): m, k; op(B): n, k
  std::uint32_t ld, offset;   // of the stored operand
};

/// Text of a kernel template by file name ("tiled.comp"), embedded at build time from templates/.
std::string_view template_text(std::string_view file);

}  // namespace rooftile
