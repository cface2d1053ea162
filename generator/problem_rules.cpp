#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/groups.h"
#include "generator/layout.h"
#include "generator/packed_format.h"
#include "generator/rules.h"

namespace rooftile {
namespace {

/// One operand of a real problem, as the kernel or its pack kernel reads it.
struct StoredOperand {
  std::int64_t span, ld, stride, offset, readable;
  int width;           // elements that vectors must be aligned to
  int line_width;      // and the rows that they lie in: what ld must be a multiple of
  std::int64_t texel;  // elements a texel
  Storage storage;
  LoadPath path;
  bool packed;
  std::int64_t window_vectors;  // elements of whole vectors, if it is read by windows; else 0

  /// Elements from the start of the binding that are read: to the end of the last vector. The pack
  /// kernel cuts misaligned rows out of whole texels of four.
  std::int64_t needed() const {
    if (span == 0) return 0;
    if (packed) return path == LoadPath::kTexel ? round_up(offset + span, texel) : offset + span;
    if (window_vectors > 0) return round_up(offset + span, window_vectors);
    return offset + round_up(span, width);
  }
  std::int64_t needed_bytes() const {
    return divide_up(needed() * storage.bytes, storage.elements);
  }
};

StoredOperand stored_operand(const Variant& v, const Problem& p, const Placement& at,
                             Operand operand) {
  const bool is_a = operand == Operand::kA;
  const Signature s = signature_of(p);
  const bool packed = (is_a ? v.packed_a : v.packed_b) == Packed::kYes;
  StoredOperand x = {
      .span = is_a ? span_a(p) : span_b(p),
      .ld = is_a ? p.lda : p.ldb,
      .stride = p.batch > 1 || is_grouped(p) ? (is_a ? p.stride_a : p.stride_b) : 0,
      .offset = is_a ? at.offset_a : at.offset_b,
      .readable = is_a ? at.readable_a : at.readable_b,
      .width = is_a ? load_elements(v, s).a : load_elements(v, s).b,
      .line_width = 1,
      .texel = 0,
      .storage = is_a ? Storage{1, bytes_of(p.types.a)} : storage_of_b(p.types),
      .path = is_a ? v.load_path_a : v.load_path_b,
      .packed = packed,
      .window_vectors = !is_a && reads_windows(v, p.types) ? whole_vectors(p.types.b.format) : 0};
  if (x.path == LoadPath::kDirect) x.path = LoadPath::kBuffer;
  // A pack kernel reads a quantised B by words as well.
  if (!is_a && quantized(p.types)) x.width = aligned_values(v, p.types);
  if (packed) x.path = pack_layout(v, s, operand).path;
  x.line_width = std::min(x.width, is_a ? line_elements(v, s).a : line_elements(v, s).b);
  const bool words = !is_a && quantized(p.types);
  x.texel = is_float64(p.types) ? 2 : packed && !words ? kTexelElements : x.width;
  return x;
}

bool both(const Variant& v, const Problem& p, const Placement& at,
          bool (*holds)(const StoredOperand&)) {
  return holds(stored_operand(v, p, at, Operand::kA)) &&
         holds(stored_operand(v, p, at, Operand::kB));
}

/// Words of 32 bits of the packed operand of all matrices.
std::int64_t packed_words(const Variant& v, const Problem& p, Operand operand) {
  const Packed packed = operand == Operand::kA ? v.packed_a : v.packed_b;
  if (packed == Packed::kNo) return 0;
  if (!is_grouped(p)) return panel_words(v, p, operand) * p.batch;
  if (operand == Operand::kB) return panel_words(v, p, operand) * matrices_b(p);
  Problem by_tiles = p;
  by_tiles.m = most_group_tiles(p.m, p.grouping.groups, v.tile_m) * v.tile_m;
  return panel_words(v, by_tiles, operand);
}

struct Case {
  const Variant& v;
  const DeviceLimits& limits;
  const Problem& p;
  const Placement& at;
  SumsIn sums;

  std::int64_t c_end() const { return at.offset_c + span_c(p); }
  std::int64_t residual_end() const {
    return p.epilogue.residual ? at.offset_residual + (p.batch - 1) * at.stride_residual +
                                     span_elements({p.m, p.n}, at.ld_residual)
                               : 0;
  }
  std::int64_t part_elements() const {
    if (v.split_k == 1 && sums == SumsIn::kC) return 0;
    return stored_parts(v, p.k) * p.batch * p.m * round_up(p.n, kTexelElements);
  }
  std::int64_t c_bytes() const { return c_end() * bytes_of(p.types.c); }
};
struct ProblemRule {
  std::string_view reason;
  bool (*holds)(const Case&);
  std::string (*figures)(const Case&) = nullptr;  // text of the required and the allowed value
};

constexpr std::int64_t kMostElements =
    std::numeric_limits<std::uint32_t>::max();  // addresses in shaders are 32-bit
constexpr std::int64_t kLargestSize = std::numeric_limits<std::int32_t>::max() - kLargestTile;

bool fits(const Case& c, LoadPath path, std::int64_t texel_elements, std::int64_t elements,
          std::int64_t element_bits) {
  if (path == LoadPath::kTexel)
    return static_cast<std::uint64_t>(divide_up(elements, texel_elements)) <=
           c.limits.max_texel_buffer_elements;
  return static_cast<std::uint64_t>(divide_up(elements * element_bits, 8)) <=
         c.limits.max_storage_buffer_range_bytes;
}

bool stored_fits(const Case& c, Operand operand, LoadPath path) {
  const StoredOperand x = stored_operand(c.v, c.p, c.at, operand);
  if (x.path != path) return true;
  const bool blocks = operand == Operand::kB && has_block_format(c.p.types);
  const std::int64_t load_bytes = kElementBytes * words_width(c.v, c.p.types);
  return blocks ? fits(c, path, load_bytes, x.needed_bytes(), 8)
                : fits(c, path, x.texel, x.needed(), 8 * x.storage.bytes / x.storage.elements);
}

/// Checks the scales and zero points of a quantised B, which take at most one texel for each block.
bool scales_fit(const Case& c, LoadPath path) {
  return c.v.load_path_b != path || !has_separate_scales(c.p.types) ||
         fits(c, path, 1, quantized_blocks(c.p), 8 * bytes_of(c.p.types.a));
}

bool panels_fit(const Case& c, Operand operand, LoadPath path) {
  const std::int64_t words = packed_words(c.v, c.p, operand);
  const LoadPath read = operand == Operand::kA ? c.v.load_path_a : c.v.load_path_b;
  constexpr std::int64_t kWordBits = 8 * kElementBytes;
  if (path == LoadPath::kTexel)
    return read != path || fits(c, path, kTexelElements, words, kWordBits);
  // Written as a storage buffer whichever way they are read; the panels of experts in several
  // steps, if each expert's begin where a binding may.
  constexpr std::int64_t kAlignedWords = 64;
  const bool by_expert = operand == Operand::kB && is_grouped(c.p) && read == LoadPath::kTexel &&
                         words / matrices_b(c.p) % kAlignedWords == 0;
  return fits(c, path, kTexelElements, by_expert ? words / matrices_b(c.p) : words, kWordBits);
}

/// Loop trips of one invocation, over all its loops.
std::int64_t loop_trips(const Case& c) {
  return loop_trips(c.v, divide_up(split_depth(c.v, c.p.k), k_step(c.v)));
}

constexpr std::array kProblemRules = {
    ProblemRule{
        "packed dot products read words of four: k must be a multiple of 4 unless A and B are "
        "packed",
        [](const Case& c) {
          const bool packed = c.v.packed_a == Packed::kYes && c.v.packed_b == Packed::kYes;
          return packed || c.p.k % c.v.dot == 0;
        }},
    ProblemRule{"m, n, k and ld must stay below 2^31 - 1024",
                [](const Case& c) {
                  return std::max({c.p.m, c.p.n, c.p.k, c.p.lda, c.p.ldb, c.p.ldc}) <= kLargestSize;
                }},
    ProblemRule{
        "matrix kernels keep the bound of float32 sums with float32 operands from 24 products on, "
        "with a quantised B beside f32 or bf16 from 48, with _half or _int8 from 1: k must be at "
        "least that",
        [](const Case& c) {
          return !recomputes_sums(c.v, c.p.types) || c.p.k >= least_depth_of_parts(c.p.types);
        },
        [](const Case& c) { return fmt::format("k is {}", c.p.k); }},
    ProblemRule{"edge exact needs m, n and k in multiples of tile_m, tile_n and unroll_k (tile_k "
                "for tiled and matrix)",
                [](const Case& c) {
                  return c.v.edge != Edge::kExact ||
                         (c.p.m % c.v.tile_m == 0 && c.p.n % c.v.tile_n == 0 &&
                          c.p.k % (k_step(c.v) * c.v.dot) == 0);
                }},
    ProblemRule{"k takes more loop trips than the driver runs",
                [](const Case& c) {
                  const std::int64_t longest = longest_depth(c.v, c.limits);
                  return split_depth(c.v, c.p.k) <= longest ||
                         (longest > 0 &&
                          may_divide_k(c.v, compiled_signature(signature_of(c.p), c.sums)));
                },
                [](const Case& c) {
                  return fmt::format("{} of {}", loop_trips(c), c.limits.max_loop_trips);
                }},
    ProblemRule{
        "split_k needs a trip of the k loop for each slice of k",
        [](const Case& c) {
          return c.v.split_k == 1 || c.p.k >= std::int64_t{c.v.split_k} * k_step(c.v) * c.v.dot;
        },
        [](const Case& c) {
          return fmt::format("k {} for {} slices of {}", c.p.k, c.v.split_k, k_step(c.v) * c.v.dot);
        }},
    ProblemRule{"batched_small runs batches",
                [](const Case& c) { return c.v.tile_batch == 1 || c.p.batch > 1; }},
    ProblemRule{"packed operands, or the slices of split-K, need more workgroups than the device "
                "starts in z",
                [](const Case& c) {
                  return k_slices_of(c.v, c.p.k) <= c.limits.max_workgroup_count[2] &&
                         (!packs(c.v) ||
                          c.p.batch * matrices_b(c.p) <= c.limits.max_workgroup_count[2]);
                }},
    ProblemRule{"an operand reaches beyond 32-bit element addresses",
                [](const Case& c) {
                  return stored_operand(c.v, c.p, c.at, Operand::kA).needed() <= kMostElements &&
                         stored_operand(c.v, c.p, c.at, Operand::kB).needed() <= kMostElements &&
                         (!has_block_format(c.p.types) ||  // their addresses count bytes
                          stored_operand(c.v, c.p, c.at, Operand::kB).needed_bytes() <=
                              kMostElements) &&
                         c.c_end() <= kMostElements && c.part_elements() <= kMostElements &&
                         c.residual_end() <= kMostElements;
                }},
    ProblemRule{"packed operands reach beyond 32-bit element addresses or the largest allocation",
                [](const Case& c) {
                  const std::int64_t words = std::max(packed_words(c.v, c.p, Operand::kA),
                                                      packed_words(c.v, c.p, Operand::kB));
                  return words <= kMostElements &&
                         static_cast<std::uint64_t>(words) * kElementBytes <=
                             c.limits.max_memory_allocation_bytes;
                }},
    ProblemRule{"vector loads need lda and ldb in multiples of the vector width",
                [](const Case& c) {
                  return both(c.v, c.p, c.at, [](const StoredOperand& x) {
                    return x.packed || x.span == 0 || x.ld % x.line_width == 0;
                  });
                }},
    ProblemRule{"vector loads need offsets and strides of A and B in multiples of the vector width",
                [](const Case& c) {
                  return both(c.v, c.p, c.at, [](const StoredOperand& x) {
                    return x.packed || x.span == 0 ||
                           (x.offset % x.width == 0 && x.stride % x.width == 0);
                  });
                }},
    ProblemRule{"the last vector of A or B lies beyond what may be read",
                [](const Case& c) {
                  return both(c.v, c.p, c.at, [](const StoredOperand& x) {
                    return x.needed() <= x.offset + x.readable;
                  });
                }},
    ProblemRule{"A or B holds more texels than the device's texel buffers",
                [](const Case& c) {
                  return stored_fits(c, Operand::kA, LoadPath::kTexel) &&
                         stored_fits(c, Operand::kB, LoadPath::kTexel) &&
                         scales_fit(c, LoadPath::kTexel);
                }},
    ProblemRule{"packed operands hold more texels than the device's texel buffers",
                [](const Case& c) {
                  return panels_fit(c, Operand::kA, LoadPath::kTexel) &&
                         panels_fit(c, Operand::kB, LoadPath::kTexel);
                }},
    ProblemRule{
        "an operand exceeds the device's storage buffer range",
        [](const Case& c) {
          return stored_fits(c, Operand::kA, LoadPath::kBuffer) &&
                 stored_fits(c, Operand::kB, LoadPath::kBuffer) &&
                 scales_fit(c, LoadPath::kBuffer) &&
                 panels_fit(c, Operand::kA, LoadPath::kBuffer) &&
                 panels_fit(c, Operand::kB, LoadPath::kBuffer) &&
                 fits(c, LoadPath::kBuffer, 1, c.c_end(), 8 * bytes_of(c.p.types.c)) &&
                 fits(c, LoadPath::kBuffer, 1, c.part_elements(), 8 * element_bytes(c.p.types)) &&
                 fits(c, LoadPath::kBuffer, 1, c.residual_end(),
                      8 * bytes_of(epilogue_type(c.p.types)));
        },
        [](const Case& c) {
          const StoredOperand a = stored_operand(c.v, c.p, c.at, Operand::kA),
                              b = stored_operand(c.v, c.p, c.at, Operand::kB);
          const std::int64_t panels =
              std::max(packed_words(c.v, c.p, Operand::kA), packed_words(c.v, c.p, Operand::kB));
          const std::int64_t most =
              std::max({a.needed_bytes(), b.needed_bytes(), c.c_bytes(), panels * kElementBytes,
                        c.part_elements() * element_bytes(c.p.types),
                        c.residual_end() * bytes_of(epilogue_type(c.p.types))});
          return fmt::format("{} of {} bytes", most, c.limits.max_storage_buffer_range_bytes);
        }},
};

}  // namespace

Placement own_buffers(const Problem& p) {
  const std::int64_t column_scale = p.epilogue.row_scale ? p.m : 0;
  const std::int64_t columns = matrices_b(p) * p.n;
  const std::int64_t ld_residual = round_up(p.n, kTexelElements);
  // What the widest load takes: words of a quantised B in vectors, words of four integers too.
  const std::int64_t widest = std::max<std::int64_t>(kTexelElements, 16 / bytes_of(p.types.a));
  const std::int64_t widest_b =
      quantized(p.types) ? kTexelElements * least_values(p.types) : widest;
  return {.readable_a = round_up(span_a(p), widest),
          .readable_b = has_block_format(p.types) ? span_b(p) : round_up(span_b(p), widest_b),
          .offset_row_scale = 0,
          .offset_column_scale = column_scale,
          .offset_bias = column_scale + (p.epilogue.column_scale ? columns : 0),
          .offset_residual = 0,
          .ld_residual = ld_residual,
          .stride_residual = p.m * ld_residual,
          .expert_columns = is_grouped(p) ? p.n : 0};
}

EpilogueElements epilogue_elements(const Problem& p) {
  const Epilogue& e = p.epilogue;
  const std::int64_t columns = matrices_b(p) * p.n;
  const std::int64_t bias = e.bias == Bias::kNone ? 0 : e.bias == Bias::kRow ? p.m : columns;
  return {.vectors = (e.row_scale ? p.m : 0) + (e.column_scale ? columns : 0) + bias,
          .residual = e.residual ? p.batch * p.m * round_up(p.n, kTexelElements) : 0};
}

BoundElements bound_elements(const Variant& v, const Problem& p, const Placement& placement) {
  return {.a = stored_operand(v, p, placement, Operand::kA).needed(),
          .b = stored_operand(v, p, placement, Operand::kB).needed(),
          .c = placement.offset_c + span_c(p)};
}

std::optional<std::string> illegal_reason(const Variant& v, const DeviceLimits& limits,
                                          const Problem& p, const Placement& placement,
                                          SumsIn sums) {
  const Signature compiled = compiled_signature(signature_of(p), sums);
  if (std::optional<std::string> reason = illegal_reason(v, limits, compiled)) return reason;
  const Case c{v, limits, p, placement, sums};
  for (const ProblemRule& rule : kProblemRules) {
    if (rule.holds(c)) continue;
    if (rule.figures == nullptr) return std::string(rule.reason);
    return fmt::format("{} ({})", rule.reason, rule.figures(c));
  }
  return std::nullopt;
}

}  // namespace rooftile
