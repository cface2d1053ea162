#include "generator/kernel_defines.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/layout.h"
#include "generator/matrix_types.h"

namespace rooftile {
namespace {

void set_flag(Defines& defines, std::string_view name, bool value) {
  set_define(defines, name, value ? 1 : 0);
}

/// Vectors of 32-bit words: their length and GLSL's name.
void set_words(Defines& defines, std::string_view width_name, std::string_view type_name,
               int width) {
  set_define(defines, width_name, width);
  set_define(defines, type_name, width == 1 ? "uint" : fmt::format("uvec{}", width));
}

/// An operand: how it lies in memory, and the vectors in which it is read.
void define_operand(Defines& defines, const Variant& v, const Signature& s, Operand operand) {
  const bool is_a = operand == Operand::kA;
  const std::string_view letter = is_a ? "A" : "B";
  const auto set = [&](std::string_view name, auto value) {
    set_define(defines, fmt::format("{}_{}", name, letter), value);
  };
  const Packed packed = is_a ? v.packed_a : v.packed_b;
  const DataType read = type_read(v, s, packed), sums = sum_type(s.types);
  set("READ", in_capitals(name(read)));
  set("ALONG_K", is_a == ((is_a ? s.trans_a : s.trans_b) == Transpose::kNo) ? 1 : 0);
  if (v.family == Family::kMatrix) {
    // A word of quantised values becomes one vector of pairs.
    const int width = is_a ? v.vector_width_a : store_width_b(v, s);
    set_words(defines, fmt::format("VECTOR_WIDTH_{}", letter), fmt::format("VECTOR_{}", letter),
              width);
    if (splits(v, s.types, operand)) set("VECTOR", vector_type(DataType::kF32, width));
    set("ELEMENTS", width * elements_per_word(v, s.types));
    return;
  }
  const int width = is_a ? load_width_a(v, s) : load_width_b(v, s);
  set("VECTOR_WIDTH", width);
  set("VECTOR", vector_type(sums, width));
  set("STORED", vector_type(read == DataType::kF32 ? read : sums, width));
}

/// The type that is stored to a C of this type, or narrowed to it.
DataType result_type(DataType c) { return bytes_of(c) < 4 ? DataType::kF32 : c; }

void define_vectors_of_c(Defines& defines, const Variant& v, const Signature& s) {
  const int width = vector_width_c(v, s);
  set_define(defines, "VECTOR_WIDTH_C", width);
  set_define(defines, "VECTOR_C", vector_type(sum_type(s.types), width));
  set_define(defines, "RESULT_C", vector_type(result_type(s.types.c), width));
}

/// Those of matrix kernels alone.
void define_units(Defines& defines, const Variant& v, const Signature& s) {
  define_matrix(defines,
                {v.matrix_m, v.matrix_n, v.matrix_k, unit_type(s.types), sum_type(s.types)});
  set_define(defines, "PARTS", parts_of(s.types, Operand::kA));
  set_flag(defines, "SCALES_SUMS", scales_sums(v, s.types));
  set_flag(defines, "RECOMPUTES_SUMS", recomputes_sums(v, s.types));
  if (scales_sums(v, s.types)) {
    set_define(defines, "SCALE_K", scale_steps(s.types));
    set_flag(defines, "HAS_ADDENDS", has_addends(s.types));
  }
  set_define(defines, "FRAGMENT_STORES",
             narrows_fragments(v, s)  ? "NARROWED"
             : stores_fragments(v, s) ? "WHOLE"
                                      : "NONE");
  set_define(defines, "LOCAL_SIZE", local_size(v));
  if (has_workgroup_scope(v)) {
    set_define(defines, "MATRIX_SCOPE", "gl_ScopeWorkgroup");
    set_define(defines, "PIECE_M", piece_rows(v, s.types));
    return;
  }
  set_flag(defines, "PEELS_LAST_TILE", peels_last_tile(v));
  set_words(defines, "SHARED_WORDS", "SHARED_VECTOR", shared_words(v, s.types));
  const StoreRows a = store_rows_a(v, s), b = store_rows_b(v, s);
  set_define(defines, "STORE_ROWS_A", a.together);
  set_define(defines, "STORE_STEP_A", a.step);
  set_define(defines, "STORE_ROWS_B", b.together);
  set_define(defines, "STORE_STEP_B", b.step);
  const FragmentPlace place = fragment_place(v, s);
  if (place != FragmentPlace::kOwn)
    set_define(defines, "C_TILE", place == FragmentPlace::kTileOfA ? "a_tile" : "b_tile");
}

}  // namespace

void set_define(Defines& defines, std::string_view name, std::string_view value) {
  const auto found = std::ranges::find(defines, name, [](const auto& d) { return d.first; });
  if (found == defines.end())
    defines.emplace_back(name, value);
  else
    found->second = value;
}

void set_define(Defines& defines, std::string_view name, int value) {
  set_define(defines, name, std::to_string(value));
}

std::string vector_type(DataType type, int width) {
  struct Names {
    std::string_view element, vector;
  };
  const Names names = type == DataType::kI32   ? Names{"int", "ivec"}
                      : type == DataType::kF16 ? Names{"float16_t", "f16vec"}
                      : type == DataType::kF64 ? Names{"double", "dvec"}
                                               : Names{"float", "vec"};
  return width == 1 ? std::string(names.element) : fmt::format("{}{}", names.vector, width);
}

void define_elements(Defines& defines, DataType sums) {
  set_define(defines, "SUM_TYPE", in_capitals(name(sums)));
  set_define(defines, "ELEMENT", vector_type(sums, 1));
  set_define(defines, "ELEMENT_2", vector_type(sums, 2));
  set_define(defines, "ELEMENT_4", vector_type(sums, 4));
}

void define_result(Defines& defines, DataType c, const Epilogue& e, Dialect dialect) {
  set_flag(defines, "WEB", dialect == Dialect::kWeb);
  set_define(defines, "TYPE_C", in_capitals(name(c)));
  set_define(defines, "RESULT", vector_type(result_type(c), 1));
  set_flag(defines, "EPILOGUE", any(e));
  set_flag(defines, "ROW_SCALE", e.row_scale);
  set_flag(defines, "COLUMN_SCALE", e.column_scale);
  set_flag(defines, "BIAS_ROW", e.bias == Bias::kRow);
  set_flag(defines, "BIAS_COLUMN", e.bias == Bias::kColumn);
  set_define(defines, "ACTIVATION", static_cast<int>(e.activation));
  set_flag(defines, "RESIDUAL", e.residual);
  set_flag(defines, "CLAMP", e.clamp);
}

/// Describes a format to templates/load/blocks.glsl. window: elements of a window, or 0.
void define_blocks(Defines& defines, const BlockLayout& layout, int window) {
  struct Code {
    std::string_view word;
    int zero;  // the byte that stands for 0
  };
  const Code codes[] = {{"INTEGER", layout.zero_point}, {"INT8", 128}, {"E2M1", 12}, {"IQ4", 128}};
  const auto [word, zero] = codes[static_cast<std::size_t>(layout.code)];
  set_define(defines, "BLOCK_FORMAT", in_capitals(layout.name));
  set_define(defines, "BLOCK", layout.elements);
  set_define(defines, "BLOCK_BYTES", layout.bytes);
  set_define(defines, "BLOCK_WINDOW", window);
  set_define(defines, "GROUPS_PER_SCALE", layout.scaled / kGroup);
  set_flag(defines, "HAS_MINIMUM", layout.minimum);
  set_define(defines, "BLOCK_CODE", word);
  set_define(defines, "ZERO_POINT", zero);
  set_define(defines, "LOW_FIRST", layout.low.first);
  set_define(defines, "LOW_BITS", layout.low.bits);
  set_define(defines, "LOW_WIDTH", layout.low.width);
  set_define(defines, "HIGH_FIRST", layout.high.first);
  set_define(defines, "HIGH_BITS", layout.high.bits);
  set_define(defines, "HIGH_WIDTH", layout.high.width);
}

void define_weights(Defines& defines, const Types& t, bool reads, int width, int window,
                    int b_binding, std::size_t scale_binding) {
  set_define(defines, "B_FORMAT", !reads ? "PLAIN" : has_block_format(t) ? "BLOCKS" : "QUANTIZED");
  if (!reads) return;
  set_words(defines, "WORD_VECTOR_WIDTH", "WORD_VECTOR", width);
  set_define(defines, "B_BINDING", b_binding);
  if (has_block_format(t)) return define_blocks(defines, layout_of(t.b.format), window);
  set_define(defines, "QUANT_BITS", t.b.bits);
  set_define(defines, "QUANT_BLOCK", t.b.block);
  set_define(defines, "ZERO_POINT",
             t.b.zero_point == ZeroPoint::kPacked  ? "PACKED"
             : t.b.zero_point == ZeroPoint::kFloat ? "FLOAT"
                                                   : "MIDDLE");
  set_define(defines, "SCALE_BYTES", static_cast<int>(bytes_of(t.a)));
  set_define(defines, "SCALE_WORD", t.a == DataType::kF32 ? "float" : "uint");
  set_define(defines, "SCALE_BINDING", static_cast<int>(scale_binding));
}

void define_matrix(Defines& defines, const MatrixShape& shape) {
  set_define(defines, "TYPE", in_capitals(name(shape.operand)));
  set_define(defines, "MATRIX_M", shape.m);
  set_define(defines, "MATRIX_N", shape.n);
  set_define(defines, "MATRIX_K", shape.k);
  set_define(defines, "OPERAND_BITS", static_cast<int>(8 * bytes_of(shape.operand)));
  set_define(defines, "OPERAND_TAG", matrix_tag(shape.operand));
  set_define(defines, "ELEMENTS_PER_WORD", static_cast<int>(4 / bytes_of(shape.operand)));
  set_define(defines, "MATRIX_SCOPE", "gl_ScopeSubgroup");
  // The bits of MatrixOperands that mark A, B, C and the result as signed.
  set_define(defines, "SIGNED_OPERANDS", shape.operand == DataType::kI8 ? 15 : 0);
  define_elements(defines, shape.sum);
  set_define(defines, "SUM_TAG", matrix_tag(shape.sum));
  if (shape.operand != DataType::kU8) return;
  // Drivers offer unsigned sums for unsigned operands.
  set_define(defines, "SUM_TAG", unsigned_sum_tag());
  set_define(defines, "SUM_TYPE", "U32");
  set_define(defines, "ELEMENT", "uint");
  set_define(defines, "ELEMENT_2", "uvec2");
  set_define(defines, "ELEMENT_4", "uvec4");
}

Defines gemm_defines(const Variant& v, const Signature& s, Dialect dialect) {
  Defines defines;
  for (const auto& [parameter, value] : parameters(v))
    defines.emplace_back(in_capitals(parameter), in_capitals(value));
  set_define(defines, "TYPE", in_capitals(name(s.types.a)));
  define_elements(defines, sum_type(s.types));
  define_operand(defines, v, s, Operand::kA);
  define_operand(defines, v, s, Operand::kB);
  define_vectors_of_c(defines, v, s);
  define_result(defines, s.types.c, s.epilogue, dialect);
  define_weights(defines, s.types, reads_quantized(v, s), words_width(v, s.types),
                 reads_windows(v, s.types) ? window_of(v, s.types.b.format) : 0, 1, 3);
  set_flag(defines, "GROUPED", s.grouped);
  set_flag(defines, "ATOMIC_SPLIT_K", v.reduction == Reduction::kAtomic);
  if (raster_group(v) > 0) set_define(defines, "RASTER_GROUP", raster_group(v));
  set_define(defines, "TAIL_K", tail_k(v, s));
  set_flag(defines, "WHOLE_TRIPS", has_whole_trips(v));
  set_flag(defines, "K_FASTEST", k_fastest(v, s));
  set_flag(defines, "LOOP_OVER_COLUMNS", loops_over_columns(v, s));
  set_flag(defines, "SHARES_A", shares_a(v));
  set_flag(defines, "MULTIPLIES_INT8", multiplies_int8(v, s.types));
  if (multiplies_int8(v, s.types)) {
    set_define(defines, "DOT", 4);
    set_define(defines, "ROUNDED_STEPS", rounded_steps(v, s.types));
    set_flag(defines, "SUMS_A", sums_int8(s.types));
  }
  set_flag(defines, "BLOCKS_AHEAD",
           shares_a(v) && v.prefetch == Prefetch::kAhead && reads_quantized(v, s) &&
               has_block_format(s.types));
  if (v.family == Family::kTiled)
    set_define(defines, "LANES",
               has_subgroup_tiles(v) ? "SUBGROUPS"
               : lanes_in_blocks(v)  ? "BLOCKS"
                                     : "PLAIN");
  if (v.family == Family::kMatrix) define_units(defines, v, s);
  return defines;
}

Defines pack_defines(const Variant& v, const Signature& s, Operand operand) {
  const PackLayout layout = pack_layout(v, s, operand);
  const int steps = steps_per_panel_word(v, s.types);
  Defines defines;
  define_elements(defines, is_float64(s.types) ? DataType::kF64 : DataType::kF32);
  set_define(defines, "LOCAL_SIZE", kPackLocalSize);
  set_define(defines, "OPERAND", operand == Operand::kA ? "A" : "B");
  set_define(defines, "TYPE", in_capitals(name(s.types.a)));
  set_define(defines, "LOAD_PATH_B", layout.path == LoadPath::kTexel ? "TEXEL" : "BUFFER");
  set_flag(defines, "ALONG_DEPTH", layout.contiguous_along_depth);
  set_flag(defines, "BLOCKS_AHEAD", false);
  set_flag(defines, "MULTIPLIES_INT8", false);
  set_define(defines, "ELEMENT_BITS", static_cast<int>(8 * bytes_of(s.types.a)));
  set_define(defines, "PANEL_ROWS", layout.panel_rows);
  set_define(defines, "GROUP_K", layout.group_k / steps);
  set_define(defines, "PAD_ROWS", layout.pad_rows);
  set_define(defines, "PAD_K", layout.pad_k / steps);
  return defines;
}

Defines reduce_defines(const Signature& s, Dialect dialect) {
  Defines defines;
  set_define(defines, "LOCAL_SIZE", kReduceLocalSize);
  set_define(defines, "PARTIAL_SUM_4", vector_type(part_type(s.types), 4));
  set_define(defines, "RESULT_C", vector_type(result_type(s.types.c), 4));
  set_define(defines, "REDUCTION", "ORDERED");
  set_flag(defines, "GROUPED", false);
  define_result(defines, s.types.c, s.epilogue, dialect);
  return defines;
}

}  // namespace rooftile
