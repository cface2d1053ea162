#include "generator/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/hash.h"
#include "generator/kernel_defines.h"
#include "generator/layout.h"
#include "generator/templates.h"
#include "generator/version.h"
#include "generator/web/dialect.h"

namespace rooftile {
namespace {

std::string stored(std::string_view operand, Transpose transpose, Packed packed) {
  return fmt::format("{} {}{}", operand,
                     transpose == Transpose::kYes ? "transposed" : "not transposed",
                     packed == Packed::kYes ? " and packed" : "");
}

std::vector<std::string> gemm_comment(const Variant& v, const Signature& s) {
  std::vector<std::string> lines = {
      fmt::format("Rooftile {}: {}; {}, {}.", short_name(v), to_string(s.types),
                  stored("A", s.trans_a, v.packed_a), stored("B", s.trans_b, v.packed_b)),
      has_workgroup_scope(v)
          ? fmt::format(
                "A workgroup of {} invocations computes {} x {} elements of C as one matrix.",
                local_size(v), v.tile_m, v.tile_n)
      : v.family == Family::kMatrix
          ? fmt::format(
                "A workgroup of {} invocations computes {} x {} elements of C, a subgroup {} x {}.",
                local_size(v), v.tile_m, v.tile_n, v.subgroup_m, v.subgroup_n)
          : fmt::format("A workgroup of {} invocations computes {} x {} elements of C, an "
                        "invocation {} x {}.",
                        local_size(v), v.tile_m, v.tile_n, v.reg_m, v.reg_n)};
  if (v.subgroups_k > 1)
    lines.push_back(fmt::format(
        "{} subgroups share a block of C and divide the steps of each tile.", v.subgroups_k));
  if (lanes_k(v) > 1)
    lines.push_back(fmt::format("{} invocations share a block of C and divide k.", lanes_k(v)));
  if (any(s.epilogue)) lines.push_back(fmt::format("Epilogue: {}.", to_string(s.epilogue)));
  lines.push_back(to_string(v));
  return lines;
}

/// Without a type: the binding of words that hold several values. Float64 is read as such words.
BindingKind binding(LoadPath path, int width, std::optional<DataType> type) {
  if (path != LoadPath::kTexel) return BindingKind::kStorageBuffer;
  if (type == DataType::kF64) type = std::nullopt;
  const int channels = width == 1 ? 1 : 4;
  const auto fits = [&](const Texel& t) { return t.type == type && t.channels == channels; };
  return std::ranges::find_if(kTexels, fits)->kind;
}

/// Appends the bindings of a quantised B's scales and zero points.
void append_quantization(std::vector<BindingKind>& bindings, LoadPath path, const Types& t) {
  if (!has_separate_scales(t)) return;
  bindings.push_back(binding(path, 1, t.a));
  if (t.b.zero_point == ZeroPoint::kPacked) bindings.push_back(binding(path, 1, DataType::kU8));
  if (t.b.zero_point == ZeroPoint::kFloat) bindings.push_back(binding(path, 1, t.a));
}

Shader finish(std::string_view kernel, std::string glsl, ShaderInterface interface,
              Optimization optimization) {
  std::string hash = shader_hash(kernel, glsl, optimization);
  return {.glsl = std::move(glsl),
          .hash = std::move(hash),
          .interface = std::move(interface),
          .optimization = optimization};
}

/// Binds an epilogue's vectors and residual behind the others, and its push constants.
void fuse(const Signature& s, Defines& defines, ShaderInterface& interface) {
  if (!any(s.epilogue)) return;
  set_define(defines, "EPILOGUE_BINDING", static_cast<int>(interface.bindings.size()));
  interface.bindings.insert(interface.bindings.end(), 2, BindingKind::kStorageBuffer);
  interface.push_constants_bytes += block_bytes<EpiloguePushConstants>(s.types);
}

/// Binds the list of tiles in which the workgroups of a grouped problem find their rows.
void bind_groups(Defines& defines, ShaderInterface& interface) {
  set_define(defines, "GROUP_BINDING", static_cast<int>(interface.bindings.size()));
  interface.bindings.push_back(BindingKind::kStorageBuffer);
}

/// Expands a template, for WebGPU with the changes of its dialect.
std::string expand_for(Dialect dialect, std::string_view file,
                       const std::vector<std::string>& comment, const Defines& defines,
                       std::size_t parameters_binding, WebSteps steps = WebSteps::kOwn) {
  std::string text = expand(file, comment, defines);
  return dialect == Dialect::kVulkan ? text : web_text(std::move(text), parameters_binding, steps);
}

/// How a kernel for WebGPU knows the steps of k of its workgroup.
WebSteps steps_of_workgroup(const Variant& v) {
  return v.split_k == 1                              ? WebSteps::kAll
         : v.family == Family::kTiled || shares_a(v) ? WebSteps::kOfSplit
                                                     : WebSteps::kOwn;
}

std::string gemm_template(const Variant& v) {
  if (has_workgroup_scope(v)) return "matrix_workgroup.comp";
  // batched_small is the register kernel with several matrices of the batch in a workgroup.
  return fmt::format("{}.comp",
                     name(v.family == Family::kBatchedSmall ? Family::kRegister : v.family));
}

}  // namespace

std::string shader_hash(std::string_view kernel, std::string_view glsl, Optimization optimization) {
  return hash_hex(fmt::format("{}\n{}\n{} {}", kernel, without_comments(glsl), kGeneratorVersion,
                              static_cast<int>(optimization)));
}

Shader emit_gemm(const Variant& v, const Signature& signature, Dialect dialect) {
  const Signature s = gemm_signature(v, signature);
  Defines defines = gemm_defines(v, s, dialect);
  ShaderInterface interface {
    .bindings = {binding(v.load_path_a, load_width_a(v, s), type_read(v, s, v.packed_a)),
                 binding(v.load_path_b, load_width_b(v, s), type_read(v, s, v.packed_b)),
                 BindingKind::kStorageBuffer},
    .push_constants_bytes = block_bytes<GemmPushConstants>(s.types),
    .subgroup_size = static_cast<std::uint32_t>(v.subgroup_size)
  };
  if (reads_quantized(v, s)) {
    interface.bindings[1] = binding(v.load_path_b, words_width(v, s.types), std::nullopt);
    append_quantization(interface.bindings, v.load_path_b, s.types);
  }
  fuse(s, defines, interface);
  if (s.grouped) bind_groups(defines, interface);
  std::string glsl = expand_for(dialect, gemm_template(v), gemm_comment(v, signature), defines,
                                interface.bindings.size(), steps_of_workgroup(v));
  Shader shader =
      finish(fmt::format("{} {}", to_string(v), to_string(signature)), std::move(glsl),
             std::move(interface), dialect == Dialect::kWeb ? Optimization::kZero : v.optimization);
  shader.matrix_units = v.family == Family::kMatrix;
  shader.tensor_addressing = has_workgroup_scope(v);
  return shader;
}

Shader emit_pack(const Variant& v, const Signature& s, Operand operand, Dialect dialect) {
  const PackLayout layout = pack_layout(v, s, operand);
  if (!layout.packed)
    fail(ErrorCode::kInvalidArgument, "operand {} of '{}' is not packed",
         operand == Operand::kA ? "A" : "B", short_name(v));
  const bool words = packs_words(v),
             weights = !words && operand == Operand::kB && quantized(s.types),
             groups = !words && operand == Operand::kA && s.grouped;
  ShaderInterface interface {
    .bindings = {words     ? BindingKind::kStorageBuffer
                 : weights ? binding(layout.path, 1, std::nullopt)
                           : binding(layout.path, kTexelElements, s.types.a),
                 BindingKind::kStorageBuffer},
    .push_constants_bytes = sizeof(PackPushConstants)
  };
  Defines defines = pack_defines(v, s, operand);
  define_weights(defines, s.types, weights, 1, 0, 0, interface.bindings.size());
  if (weights) append_quantization(interface.bindings, layout.path, s.types);
  set_define(defines, "GROUPED", groups ? 1 : 0);
  if (groups) bind_groups(defines, interface);
  const std::vector<std::string> comment = {fmt::format(
      "Rooftile pack {}: panels of {} x {} for the kernel '{}'.",
      operand == Operand::kA ? "A" : "B", layout.panel_rows, layout.pad_k, short_name(v))};
  std::string glsl = expand_for(dialect, words ? "pack_words.comp" : "pack.comp", comment, defines,
                                interface.bindings.size());
  return finish("", std::move(glsl), std::move(interface), Optimization::kZero);
}

Shader emit_group_tiles() {
  Defines defines;
  set_define(defines, "LOCAL_SIZE", kGroupTilesLocalSize);
  ShaderInterface interface {
    .bindings = std::vector<BindingKind>(4, BindingKind::kStorageBuffer),
    .push_constants_bytes = sizeof(GroupTilesPushConstants)
  };
  std::string glsl =
      expand("group_tiles.comp", {"Rooftile group tiles: which rows each row of tiles computes."},
             defines);
  return finish("", std::move(glsl), std::move(interface), Optimization::kZero);
}

Shader emit_reduce(const Signature& s, Dialect dialect) {
  Defines defines = reduce_defines(s, dialect);
  ShaderInterface interface {
    .bindings = {BindingKind::kStorageBuffer, BindingKind::kStorageBuffer},
    .push_constants_bytes = block_bytes<ReducePushConstants>(s.types)
  };
  fuse(s, defines, interface);
  std::string glsl = expand_for(dialect, "reduce.comp",
                                {"Rooftile reduce: adds the partial sums of a split-K GEMM."},
                                defines, interface.bindings.size());
  return finish("", std::move(glsl), std::move(interface), Optimization::kZero);
}

}  // namespace rooftile
