#include "generator/emit.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "generator/layout.h"
#include "generator/matrix_types.h"
#include "generator/templates.h"
#include "generator/version.h"
#include "generator/web/dialect.h"

namespace rooftile {
namespace {

/// GLSL's name of a vector of float32, float16 or int32.
std::string vector_type(DataType type, int width) {
  const bool ints = type == DataType::kI32, half = type == DataType::kF16;
  if (width == 1) return ints ? "int" : half ? "float16_t" : "float";
  return fmt::format("{}vec{}", ints ? "i" : half ? "f16" : "", width);
}

void add(Defines& defines, std::string_view name, int value) {
  defines.emplace_back(name, std::to_string(value));
}

void add_vector(Defines& defines, std::string_view operand, DataType type, int width) {
  add(defines, fmt::format("VECTOR_WIDTH_{}", operand), width);
  defines.emplace_back(fmt::format("VECTOR_{}", operand), vector_type(type, width));
}

void add_vectors_c(Defines& defines, const Variant& v, const Signature& s) {
  add_vector(defines, "C", sum_type(s.types), vector_width_c(v, s));
  const DataType result = s.types.c == DataType::kI32 ? DataType::kI32 : DataType::kF32;
  defines.emplace_back("RESULT_C", vector_type(result, vector_width_c(v, s)));
}

/// Vector types of A, B and C in registers, and of A and B in memory where that type differs.
void add_vectors(Defines& defines, const Variant& v, const Signature& s) {
  const DataType sums = sum_type(s.types);
  add_vector(defines, "A", sums, load_width_a(v, s));
  if (type_read(v, s, v.packed_a) == DataType::kF32 && sums != DataType::kF32)
    defines.emplace_back("STORED_A", vector_type(DataType::kF32, load_width_a(v, s)));
  add_vector(defines, "B", sums, load_width_b(v, s));
  if (type_read(v, s, v.packed_b) == DataType::kF32 && sums != DataType::kF32)
    defines.emplace_back("STORED_B", vector_type(DataType::kF32, load_width_b(v, s)));
  add_vectors_c(defines, v, s);
}

/// The defines of templates/load/quantized.glsl, or load/blocks.glsl.
void add_quantization(Defines& defines, const Types& t, int width, int b_binding,
                      std::size_t scale_binding) {
  const auto add_words_of_b = [&] {
    defines.emplace_back("WORD_VECTOR", width == 4 ? "uvec4" : "uint");
    add(defines, "WORD_VECTOR_WIDTH", width);
    add(defines, "B_BINDING", b_binding);
  };
  if (has_block_format(t)) {
    add(defines, "BLOCK_FORMAT", static_cast<int>(t.b.format));
    return add_words_of_b();
  }
  add(defines, "QUANT_BITS", t.b.bits);
  add(defines, "QUANT_BLOCK", t.b.block);
  add(defines, "ZERO_POINT", static_cast<int>(t.b.zero_point));
  add(defines, "SCALE_BYTES", static_cast<int>(bytes_of(t.a)));
  defines.emplace_back("SCALE_WORD", t.a == DataType::kF32 ? "float" : "uint");
  add_words_of_b();
  add(defines, "SCALE_BINDING", static_cast<int>(scale_binding));
}

/// Vectors of 32-bit words: their length and GLSL's name.
void add_words(Defines& defines, std::string_view width_name, std::string_view type_name,
               int width) {
  add(defines, width_name, width);
  defines.emplace_back(type_name, width == 1 ? "uint" : fmt::format("uvec{}", width));
}

MatrixShape matrix_shape(const Variant& v, const Signature& s) {
  return {v.matrix_m, v.matrix_n, v.matrix_k, s.types.a, sum_type(s.types)};
}

/// The defines of templates/matrix.comp and matrix_workgroup.comp, besides TILE_M, TILE_N and those
/// of describe_matrix().
void add_matrix(Defines& defines, const Variant& v, const Signature& s) {
  add(defines, "TILE_K", v.tile_k);
  if (has_workgroup_scope(v)) {
    add(defines, "LOCAL_SIZE", local_size(v));
    add(defines, "PIECE_M", piece_rows(v, s.types));
    add(defines, "MATRIX_SCOPE", 2);
  } else {
    add(defines, "SUBGROUP_M", v.subgroup_m);
    add(defines, "SUBGROUP_N", v.subgroup_n);
    add(defines, "SUBGROUP_SIZE", v.subgroup_size);
    add(defines, "STAGES", v.stages);
    add(defines, "SHARED_PAD", v.shared_pad);
    add(defines, "UNROLL_K", v.unroll_k);
    add_words(defines, "SHARED_WORDS", "SHARED_VECTOR", shared_words(v, s.types));
    const StoreRows a = store_rows_a(v, s), b = store_rows_b(v, s);
    add(defines, "STORE_ROWS_A", a.together);
    add(defines, "STORE_STEP_A", a.step);
    add(defines, "STORE_ROWS_B", b.together);
    add(defines, "STORE_STEP_B", b.step);
    const FragmentPlace place = fragment_place(v, s.types);
    if (place != FragmentPlace::kOwn)
      defines.emplace_back("C_TILE", place == FragmentPlace::kTileOfA ? "a_tile" : "b_tile");
  }
  add_words(defines, "VECTOR_WIDTH_A", "VECTOR_A", v.vector_width_a);
  // A word of quantised values becomes one vector of float16 pairs.
  add_words(defines, "VECTOR_WIDTH_B", "VECTOR_B", store_width_b(v, s));
  add_vectors_c(defines, v, s);
}

/// Only the defines that the family's template reads, so that equal kernels have equal code.
Defines gemm_defines(const Variant& v, const Signature& s) {
  Defines defines;
  add(defines, "TILE_M", v.tile_m);
  add(defines, "TILE_N", v.tile_n);
  if (raster_group(v) > 0) add(defines, "RASTER_GROUP", raster_group(v));
  if (v.family == Family::kNaive) {
    add_vectors(defines, v, s);
    return defines;
  }
  if (v.family == Family::kBatchedSmall) add(defines, "TILE_BATCH", v.tile_batch);
  if (v.family == Family::kMatrix) {
    add_matrix(defines, v, s);
    return defines;
  }
  if (v.family == Family::kVector) {
    add(defines, "TILE_K", v.tile_k);
    add(defines, "K_FASTEST", k_fastest(v, s) ? 1 : 0);
    if (loops_over_columns(v, s)) add(defines, "LOOP_OVER_COLUMNS", 1);
  }
  if (v.family == Family::kTiled) {
    add(defines, "TILE_K", v.tile_k);
    add(defines, "STAGES", v.stages);
    add(defines, "SHARED_PAD", v.shared_pad);
    if (has_subgroup_tiles(v)) {
      add(defines, "SUBGROUP_M", v.subgroup_m);
      add(defines, "SUBGROUP_N", v.subgroup_n);
    }
  }
  add(defines, "REG_M", v.reg_m);
  add(defines, "REG_N", v.reg_n);
  add(defines, "UNROLL_K", v.unroll_k);
  if (v.family != Family::kTiled) add(defines, "TAIL_K", tail_k(v, s));
  if (v.family == Family::kBroadcast) add(defines, "SUBGROUP_SIZE", v.subgroup_size);
  add_vectors(defines, v, s);
  return defines;
}

std::string layout_suffix(Packed packed, Transpose transpose) {
  return packed == Packed::kYes ? "packed" : std::string(1, letter(transpose));
}

void choose(Includes& includes, std::initializer_list<std::string_view> alternatives,
            std::string_view chosen) {
  for (std::string_view file : alternatives) includes[std::string(file)] = chosen;
}

/// The end of the name of a file of templates/load. Float16 texels need no file of their own, since
/// the device converts them to float32.
std::string_view load_file(LoadPath path, DataType type) {
  const bool texel = path == LoadPath::kTexel;
  switch (type) {
    case DataType::kF16:
      return texel ? "texel" : "buffer_16";
    case DataType::kBf16:
      return texel ? "texel_bf16" : "buffer_16";
    case DataType::kI8:
      return texel ? "texel_int" : "buffer_8";
    case DataType::kU8:
      return texel ? "texel_uint" : "buffer_8";
    case DataType::kI32:
      return texel ? "texel_int" : "buffer";
    case DataType::kF32:
      break;
  }
  return texel ? "texel" : "buffer";
}

void choose_half(Includes& includes, DataType type) {
  if (type == DataType::kF16 || type == DataType::kBf16)
    includes["load/widen_none.glsl"] = fmt::format("load/widen_{}.glsl", name(type));
}

void choose_bytes(Includes& includes, DataType type) {
  if (type == DataType::kU8) includes["load/bytes_i8.glsl"] = "load/bytes_u8.glsl";
}

void choose_elements(Includes& includes, DataType sums) {
  includes["common/elements_f32.glsl"] = fmt::format("common/elements_{}.glsl", name(sums));
}

/// Files that load and store C.
void choose_c(Includes& includes, DataType c) {
  if (c == DataType::kI32) {
    includes["epilogue/c_f32.glsl"] = "epilogue/c_i32.glsl";
    includes["epilogue/none.glsl"] = "epilogue/int.glsl";
  }
  if (c == DataType::kF16 || c == DataType::kBf16) {
    includes["epilogue/c_f32.glsl"] = "epilogue/c_16.glsl";
    includes["epilogue/narrow_f16.glsl"] = fmt::format("epilogue/narrow_{}.glsl", name(c));
  }
}

std::string quantized_suffix(const Types& t) {
  return has_block_format(t) ? "blocks" : "quantized";
}

void choose_quantized(Includes& includes, LoadPath path) {
  for (const std::string_view kind : {"quantized", "blocks"})
    includes[fmt::format("load/{}_texel.glsl", kind)] =
        fmt::format("load/{}_{}.glsl", kind, path == LoadPath::kTexel ? "texel" : "buffer");
}

/// Files of a vector kernel that loads the next trip's words of B ahead.
void load_blocks_ahead(Includes& includes) {
  includes["load/blocks_buffer.glsl"] = includes["load/blocks_texel.glsl"];
  includes["load/blocks_texel.glsl"] = "load/blocks_ahead.glsl";
  includes["load/block_bits.glsl"] = "load/block_bits_held.glsl";
  includes["fragment/b_n.glsl"] = "fragment/b_blocks_ahead.glsl";
  includes["fragment/put_scale.glsl"] = "fragment/put_scale_apart.glsl";
  includes["fragment/k_loop_lanes.glsl"] = "fragment/k_loop_ahead.glsl";
}

std::string_view raster_file(Raster raster) {
  return raster == Raster::kRow      ? "common/raster_row.glsl"
         : raster == Raster::kColumn ? "common/raster_column.glsl"
                                     : "common/raster_grouped.glsl";
}

std::string matrix_operand_file(std::string_view operand, Transpose transpose, LoadPath path,
                                Packed packed, Stage stage) {
  const bool along_k = transpose == (operand == "a" ? Transpose::kNo : Transpose::kYes);
  if (stage == Stage::kStored && path != LoadPath::kDirect && !along_k)
    return fmt::format("matrix/{}_stored.glsl", operand);
  return fmt::format("matrix/{}_{}{}.glsl", operand, path == LoadPath::kDirect ? "direct_" : "",
                     layout_suffix(packed, transpose));
}

/// Files that load matrices of workgroup scope.
void choose_tensors(Includes& includes, const Variant& v, const Signature& s) {
  if (v.edge == Edge::kExact) includes["matrix/tensor_masked.glsl"] = "matrix/tensor_exact.glsl";
  includes["matrix/tensor_a_n.glsl"] = fmt::format("matrix/tensor_a_{}.glsl", letter(s.trans_a));
  includes["matrix/tensor_b_n.glsl"] = fmt::format("matrix/tensor_b_{}.glsl", letter(s.trans_b));
}

std::string_view matrix_loop_file(const Variant& v) {
  if (!uses_shared_memory(v)) return "matrix/loop_0.glsl";
  if (v.stages == 2) return "matrix/loop_2.glsl";
  if (v.prefetch == Prefetch::kAhead) return "matrix/loop_1_ahead.glsl";
  if (v.prefetch == Prefetch::kPeeled) return "matrix/loop_1_ahead_peeled.glsl";
  return peels_last_tile(v) ? "matrix/loop_1_peeled.glsl" : "matrix/loop_1.glsl";
}

/// The file with which fragments of sums are stored to C.
std::string_view fragment_store_file(const Variant& v, const Signature& s) {
  if (narrows_fragments(v, s)) return "matrix/store_direct_narrow.glsl";
  return stores_fragments(v, s) ? "matrix/store_direct.glsl" : "matrix/store_direct_none.glsl";
}

Includes matrix_includes(const Variant& v, const Signature& s) {
  Includes includes;
  choose(includes, {"common/raster_row.glsl"}, raster_file(v.raster));
  choose(includes, {"common/edge_masked.glsl"},
         v.edge == Edge::kExact ? "common/edge_exact.glsl" : "common/edge_masked.glsl");
  choose_half(includes, s.types.a);
  choose_c(includes, s.types.c);
  if (has_workgroup_scope(v)) {
    choose_tensors(includes, v, s);
    return includes;
  }
  includes["matrix/a_n.glsl"] =
      matrix_operand_file("a", s.trans_a, v.load_path_a, v.packed_a, v.stage);
  includes["matrix/b_n.glsl"] =
      reads_quantized(v, s)
          ? fmt::format("matrix/b_{}.glsl", quantized_suffix(s.types))
          : matrix_operand_file("b", s.trans_b, v.load_path_b, v.packed_b, v.stage);
  if (reads_quantized(v, s)) choose_quantized(includes, v.load_path_b);
  if (is_8_bit(s.types.a)) includes["matrix/transpose_16.glsl"] = "matrix/transpose_8.glsl";
  choose(includes, {"matrix/store_direct.glsl"}, fragment_store_file(v, s));
  choose(includes, {"matrix/loop_1.glsl"}, matrix_loop_file(v));
  return includes;
}

Includes gemm_includes(const Variant& v, const Signature& s) {
  if (v.family == Family::kMatrix) return matrix_includes(v, s);
  const bool quantized = reads_quantized(v, s);
  const std::string a = layout_suffix(v.packed_a, s.trans_a),
                    b = quantized ? quantized_suffix(s.types)
                                  : layout_suffix(v.packed_b, s.trans_b);
  const bool subgroup = v.stage == Stage::kSubgroup;
  Includes includes;
  choose(includes, {"common/raster_row.glsl", "common/raster_column.glsl"}, raster_file(v.raster));
  choose(includes, {"common/edge_masked.glsl"},
         v.edge == Edge::kExact ? "common/edge_exact.glsl" : "common/edge_masked.glsl");
  choose(includes, {"load/element_a_n.glsl"}, fmt::format("load/element_a_{}.glsl", a));
  choose(includes, {"load/element_b_n.glsl"}, fmt::format("load/element_b_{}.glsl", b));
  choose(includes, {"load/a_buffer.glsl", "load/a_texel.glsl"},
         fmt::format("load/a_{}.glsl", load_file(v.load_path_a, type_read(v, s, v.packed_a))));
  choose(includes, {"load/b_buffer.glsl", "load/b_texel.glsl"},
         quantized ? "load/b_quantized.glsl"  // load/quantized.glsl reads it
                   : fmt::format("load/b_{}.glsl",
                                 load_file(v.load_path_b, type_read(v, s, v.packed_b))));
  if (quantized) choose_quantized(includes, v.load_path_b);
  choose_half(includes, s.types.a);
  choose_bytes(includes, s.types.a);
  choose_elements(includes, sum_type(s.types));
  choose_c(includes, s.types.c);
  if (v.dot > 1)
    includes["common/product.glsl"] =
        s.types.a == DataType::kU8 ? "common/product_dot_unsigned.glsl" : "common/product_dot.glsl";
  choose(includes, {"fragment/a_n.glsl", "fragment/a_packed.glsl"},
         subgroup      ? "fragment/a_subgroup.glsl"
         : shares_a(v) ? "fragment/a_shared.glsl"
                       : fmt::format("fragment/a_{}.glsl", a));
  if (shares_a(v)) includes["fragment/k_loop_lanes.glsl"] = "fragment/k_loop_shared.glsl";
  choose(includes, {"fragment/b_n.glsl", "fragment/b_packed.glsl"},
         fmt::format("fragment/b_{}.glsl", b));
  if (shares_a(v) && v.prefetch == Prefetch::kAhead && quantized && has_block_format(s.types))
    load_blocks_ahead(includes);
  choose(includes, {"fragment/multiply_lane.glsl"},
         subgroup    ? "fragment/multiply_subgroup.glsl"
         : quantized ? "fragment/multiply_quantized.glsl"
                     : "fragment/multiply_lane.glsl");
  choose(includes, {"fragment/from_lanes_8.glsl"},
         fmt::format("fragment/from_lanes_{}.glsl", v.subgroup_size));
  choose(includes, {"fragment/k_loop_masked.glsl", "fragment/k_loop_whole.glsl"},
         has_whole_trips(v) ? "fragment/k_loop_whole.glsl" : "fragment/k_loop_masked.glsl");
  choose(includes, {"fragment/add_lanes_shared.glsl"},
         uses_shared_memory(v) ? "fragment/add_lanes_shared.glsl" : "fragment/add_lanes_none.glsl");
  choose(includes, {"tile/a_n.glsl"}, fmt::format("tile/a_{}.glsl", a));
  choose(includes, {"tile/b_n.glsl"}, fmt::format("tile/b_{}.glsl", b));
  choose(includes, {"tile/lanes_blocked.glsl"},
         has_subgroup_tiles(v) ? "tile/lanes_subgroup.glsl"
         : lanes_in_blocks(v)  ? "tile/lanes_blocked.glsl"
                               : "tile/lanes_plain.glsl");
  choose(includes, {"tile/loop_1.glsl"},
         v.prefetch == Prefetch::kAhead ? "tile/loop_1_ahead.glsl"
                                        : fmt::format("tile/loop_{}.glsl", v.stages));
  return includes;
}

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
  if (lanes_k(v) > 1)
    lines.push_back(fmt::format("{} invocations share a block of C and divide k.", lanes_k(v)));
  if (any(s.epilogue)) lines.push_back(fmt::format("Epilogue: {}.", to_string(s.epilogue)));
  lines.push_back(to_string(v));
  return lines;
}

BindingKind binding(LoadPath path, int width, DataType type) {
  if (path != LoadPath::kTexel) return BindingKind::kStorageBuffer;
  const bool one = width == 1;
  switch (type) {
    case DataType::kF16:
      return one ? BindingKind::kTexelR16 : BindingKind::kTexelRgba16;
    case DataType::kBf16:
      return one ? BindingKind::kTexelR16Uint : BindingKind::kTexelRgba16Uint;
    case DataType::kI8:
      return one ? BindingKind::kTexelR8Sint : BindingKind::kTexelRgba8Sint;
    case DataType::kU8:
      return one ? BindingKind::kTexelR8Uint : BindingKind::kTexelRgba8Uint;
    case DataType::kI32:
      return one ? BindingKind::kTexelR32Sint : BindingKind::kTexelRgba32Sint;
    case DataType::kF32:
      break;
  }
  return one ? BindingKind::kTexelR32 : BindingKind::kTexelRgba32;
}

BindingKind words_binding(LoadPath path, int width) {
  if (path != LoadPath::kTexel) return BindingKind::kStorageBuffer;
  return width == 1 ? BindingKind::kTexelR32Uint : BindingKind::kTexelRgba32Uint;
}

/// Appends the bindings of a quantised B's scales and zero points.
void append_quantization(std::vector<BindingKind>& bindings, LoadPath path, const Types& t) {
  if (!has_separate_scales(t)) return;
  bindings.push_back(binding(path, 1, t.a));
  if (t.b.zero_point == ZeroPoint::kPacked)
    bindings.push_back(path == LoadPath::kTexel ? BindingKind::kTexelR8Uint
                                                : BindingKind::kStorageBuffer);
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

/// Fuses an epilogue: adds its defines and files, and its bindings and push constants behind the
/// others.
void fuse(const Epilogue& e, Defines& defines, Includes& includes, ShaderInterface& interface) {
  if (!any(e)) return;
  add(defines, "EPILOGUE_BINDING", static_cast<int>(interface.bindings.size()));
  add(defines, "ROW_SCALE", e.row_scale ? 1 : 0);
  add(defines, "COLUMN_SCALE", e.column_scale ? 1 : 0);
  add(defines, "BIAS_ROW", e.bias == Bias::kRow ? 1 : 0);
  add(defines, "BIAS_COLUMN", e.bias == Bias::kColumn ? 1 : 0);
  add(defines, "ACTIVATION", static_cast<int>(e.activation));
  add(defines, "RESIDUAL", e.residual ? 1 : 0);
  add(defines, "CLAMP", e.clamp ? 1 : 0);
  includes["epilogue/none.glsl"] = "epilogue/fused.glsl";
  includes["epilogue/push_none.glsl"] = "epilogue/push_fused.glsl";
  interface.bindings.insert(interface.bindings.end(), 2, BindingKind::kStorageBuffer);
  interface.push_constants_bytes += sizeof(EpiloguePushConstants);
}

/// Makes the kernel that of a grouped problem: its workgroups find their rows in a list of tiles,
/// which is the last binding.
void group(const Epilogue& e, Defines& defines, Includes& includes, ShaderInterface& interface) {
  add(defines, "GROUP_BINDING", static_cast<int>(interface.bindings.size()));
  includes["common/problem.glsl"] = "common/problem_grouped.glsl";
  if (any(e)) includes["epilogue/push_none.glsl"] = "epilogue/push_fused_grouped.glsl";
  interface.bindings.push_back(BindingKind::kStorageBuffer);
}

/// Expands a template, for WebGPU with the replacements of its dialect.
std::string expand_for(Dialect dialect, std::string_view file,
                       const std::vector<std::string>& comment, const Defines& defines,
                       Includes includes, std::size_t parameters_binding,
                       WebSteps steps = WebSteps::kOwn) {
  if (dialect == Dialect::kVulkan) return expand(file, comment, defines, includes);
  use_web_files(includes);
  return web_text(expand(file, comment, defines, includes), parameters_binding, steps);
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
  Defines defines = gemm_defines(v, s);
  Includes includes = gemm_includes(v, s);
  if (v.family == Family::kMatrix) describe_matrix(defines, includes, matrix_shape(v, s));
  if (v.reduction == Reduction::kAtomic) {
    add(defines, "ATOMIC_SPLIT_K", 1);
    defines.emplace_back("RESULT", s.types.c == DataType::kI32 ? "int" : "float");
    includes["epilogue/c_f32.glsl"] = "epilogue/c_atomic.glsl";
  }
  ShaderInterface interface {
    .bindings = {binding(v.load_path_a, load_width_a(v, s), type_read(v, s, v.packed_a)),
                 binding(v.load_path_b, load_width_b(v, s), type_read(v, s, v.packed_b)),
                 BindingKind::kStorageBuffer},
    .push_constants_bytes = sizeof(GemmPushConstants),
    .subgroup_size = static_cast<std::uint32_t>(v.subgroup_size)
  };
  if (reads_quantized(v, s)) {
    const int width = words_width(v, s.types);
    add_quantization(defines, s.types, width, 1, interface.bindings.size());
    interface.bindings[1] = words_binding(v.load_path_b, width);
    append_quantization(interface.bindings, v.load_path_b, s.types);
  }
  fuse(s.epilogue, defines, includes, interface);
  if (s.grouped) group(s.epilogue, defines, includes, interface);
  std::string glsl =
      expand_for(dialect, gemm_template(v), gemm_comment(v, signature), defines,
                 std::move(includes), interface.bindings.size(), steps_of_workgroup(v));
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
  Defines defines;
  add(defines, "PANEL_ROWS", layout.panel_rows);
  const int steps = steps_per_panel_word(v, s.types);
  add(defines, "GROUP_K", layout.group_k / steps);
  add(defines, "PAD_K", layout.pad_k / steps);
  add(defines, "LOCAL_SIZE", kPackLocalSize);
  const std::vector<std::string> comment = {fmt::format(
      "Rooftile pack {}: panels of {} x {} for the kernel '{}'.",
      operand == Operand::kA ? "A" : "B", layout.panel_rows, layout.pad_k, short_name(v))};
  ShaderInterface interface {
    .bindings = {BindingKind::kStorageBuffer, BindingKind::kStorageBuffer},
    .push_constants_bytes = sizeof(PackPushConstants)
  };
  if (packs_words(v)) {
    add(defines, "PAD_ROWS", layout.pad_rows);
    add(defines, "ELEMENT_BITS", static_cast<int>(8 * bytes_of(s.types.a)));
    add(defines, "ALONG_DEPTH", layout.contiguous_along_depth ? 1 : 0);
    std::string glsl =
        expand_for(dialect, "pack_words.comp", comment, defines, {}, interface.bindings.size());
    return finish("", std::move(glsl), std::move(interface), Optimization::kZero);
  }
  const bool texel = layout.path == LoadPath::kTexel;
  Includes includes;
  choose(includes, {"pack/read_buffer.glsl"},
         texel ? "pack/read_texel.glsl" : "pack/read_buffer.glsl");
  const DataType type = s.types.a;
  includes["pack/texel_float.glsl"] = type == DataType::kBf16 ? "pack/texel_bf16.glsl"
                                      : type == DataType::kI8 ? "pack/texel_int.glsl"
                                      : type == DataType::kU8 ? "pack/texel_uint.glsl"
                                                              : "pack/texel_float.glsl";
  includes["pack/element_32.glsl"] = type == DataType::kF32 ? "pack/element_32.glsl"
                                     : is_8_bit(type)       ? "pack/element_8.glsl"
                                                            : "pack/element_16.glsl";
  choose_half(includes, type);
  choose_bytes(includes, type);
  choose(includes, {"pack/along_depth.glsl"},
         layout.contiguous_along_depth ? "pack/along_depth.glsl" : "pack/along_rows.glsl");
  choose(includes, {"pack/write_a.glsl"},
         operand == Operand::kA ? "pack/write_a.glsl" : "pack/write_b.glsl");
  interface.bindings[0] = binding(layout.path, kTexelElements, type);
  if (operand == Operand::kB && quantized(s.types)) {
    choose(includes, {"pack/read_buffer.glsl"},
           has_block_format(s.types) ? "pack/blocks.glsl" : "pack/quantized.glsl");
    choose_quantized(includes, layout.path);
    add_quantization(defines, s.types, 1, 0, interface.bindings.size());
    interface.bindings[0] = words_binding(layout.path, 1);
    append_quantization(interface.bindings, layout.path, s.types);
  }
  if (operand == Operand::kA && s.grouped) {
    includes["pack/along_depth.glsl"] = "pack/along_depth_grouped.glsl";
    add(defines, "GROUP_BINDING", static_cast<int>(interface.bindings.size()));
    interface.bindings.push_back(BindingKind::kStorageBuffer);
  }
  std::string glsl = expand_for(dialect, "pack.comp", comment, defines, std::move(includes),
                                interface.bindings.size());
  return finish("", std::move(glsl), std::move(interface), Optimization::kZero);
}

Shader emit_group_tiles() {
  Defines defines;
  add(defines, "LOCAL_SIZE", kGroupTilesLocalSize);
  ShaderInterface interface {
    .bindings = std::vector<BindingKind>(4, BindingKind::kStorageBuffer),
    .push_constants_bytes = sizeof(GroupTilesPushConstants)
  };
  std::string glsl =
      expand("group_tiles.comp", {"Rooftile group tiles: which rows each row of tiles computes."},
             defines, {});
  return finish("", std::move(glsl), std::move(interface), Optimization::kZero);
}

Shader emit_reduce(const Signature& s, Dialect dialect) {
  Defines defines;
  Includes includes;
  add(defines, "LOCAL_SIZE", kReduceLocalSize);
  defines.emplace_back("PARTIAL_SUM_4", vector_type(part_type(s.types), 4));
  defines.emplace_back(
      "RESULT_C", vector_type(s.types.c == DataType::kI32 ? DataType::kI32 : DataType::kF32, 4));
  choose_c(includes, s.types.c);
  ShaderInterface interface {
    .bindings = {BindingKind::kStorageBuffer, BindingKind::kStorageBuffer},
    .push_constants_bytes = sizeof(ReducePushConstants)
  };
  fuse(s.epilogue, defines, includes, interface);
  std::string glsl = expand_for(dialect, "reduce.comp",
                                {"Rooftile reduce: adds the partial sums of a split-K GEMM."},
                                defines, std::move(includes), interface.bindings.size());
  return finish("", std::move(glsl), std::move(interface), Optimization::kZero);
}

}  // namespace rooftile
