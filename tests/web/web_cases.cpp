#include "web_cases.h"

#include <fmt/format.h>

#include <optional>

#include "core/error.h"
#include "generator/family_defaults.h"
#include "generator/layout.h"
#include "generator/space.h"

namespace rooftile {
namespace {

struct Sample {
  std::string_view settings;  // of the kernel; the rest is completed
  std::string_view signature;
  std::int64_t batch = 1;
};

// Every family with types of each kind, and what else changes the text of a kernel.
constexpr Sample kSamples[] = {
    {"family=naive", "f32.nn"},
    {"family=naive", "f32.tt", 3},
    {"family=naive", "f16_f16.nn"},
    {"family=naive", "bf16_bf16.nt"},
    {"family=naive", "i8_i32.nn"},
    {"family=naive", "u8.tn"},
    {"family=naive", "f32xq4b32z.nt"},
    {"family=tiled", "f32.nn"},
    {"family=tiled", "f32.tn.bias_column+relu", 2},
    {"family=tiled stages=2", "f32.nt"},
    {"family=tiled split_k=3", "f32.nn.bias_row+silu+residual"},
    {"family=tiled stages=2 split_k=2", "f32.tt"},
    {"family=tiled raster=grouped4", "f32.nn"},
    {"family=tiled", "f16.nn"},
    {"family=tiled", "f16_f16.tn"},
    {"family=tiled", "f16_f16_sum_f16.nn"},
    {"family=tiled", "bf16_bf16.nn"},
    {"family=tiled", "i8_i32.nt"},
    {"family=tiled dot=4", "i8_i32.nt"},
    {"family=tiled dot=4", "u8.nt.row_scale+column_scale"},
    {"family=tiled", "f32xq4b32.nt"},
    {"family=tiled", "f16xq4b32zf_f16.nt"},
    {"family=register load_path_a=buffer load_path_b=buffer", "f32.nn"},
    {"family=register load_path_a=buffer load_path_b=buffer", "f32.tt", 2},
    {"family=register load_path_a=buffer load_path_b=buffer split_k=4", "f16_f16.nn"},
    {"family=register load_path_a=buffer load_path_b=buffer packed_a=yes packed_b=yes", "f32.tn"},
    {"family=register load_path_a=buffer load_path_b=buffer packed_b=yes", "f32xq4b32.nt"},
    {"family=register load_path_a=buffer load_path_b=buffer dot=4", "i8.nt"},
    {"family=register load_path_a=buffer load_path_b=buffer dot=4 packed_b=yes", "i8_i32.nn"},
    {"family=broadcast stage=none load_path_a=buffer load_path_b=buffer", "f32.nn"},
    {"family=broadcast stage=subgroup packed_a=yes load_path_a=buffer load_path_b=buffer",
     "f32.nn"},
    {"family=broadcast stage=subgroup packed_a=yes packed_b=yes load_path_a=buffer "
     "load_path_b=buffer",
     "f16.tt"},
    {"family=vector load_path_a=buffer load_path_b=buffer tile_m=1", "f32.nn"},
    {"family=vector load_path_a=buffer load_path_b=buffer", "f32.nt.bias_column+gelu_erf"},
    {"family=vector load_path_a=buffer load_path_b=buffer split_k=2", "f32.tn"},
    {"family=vector load_path_a=buffer load_path_b=buffer", "f16xq4b32z_f16.nt"},
    {"family=vector load_path_a=buffer load_path_b=buffer", "f32xq8b32.nt"},
    {"family=vector load_path_a=buffer load_path_b=buffer dot=4", "u8_i32.nt"},
    {"family=vector load_path_a=buffer load_path_b=buffer stage=stored", "f32.nn"},
    {"family=vector load_path_a=buffer load_path_b=buffer stage=stored split_k=2", "f16.nt"},
    {"family=batched_small load_path_a=buffer load_path_b=buffer", "f32.nn", 9},
    {"family=batched_small load_path_a=buffer load_path_b=buffer", "bf16.nt", 9},
};

/// What the samples do not set, where it is legal. The blocks are small, because SwiftShader
/// compiles for a second for each thousand statements, but each invocation still loads a vector of
/// either operand.
std::string_view small(Family family) {
  switch (family) {
    case Family::kTiled:
      return "tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4";
    case Family::kRegister:
      return "tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4";
    case Family::kBroadcast:
      return "tile_m=4 tile_n=16 reg_m=4 reg_n=4 unroll_k=4";
    case Family::kBatchedSmall:
      return "tile_m=8 tile_n=8 reg_m=4 reg_n=4 unroll_k=4 tile_batch=4";
    default:
      return "";
  }
}

struct Mutation {
  std::string_view settings, from, to;
};

// A loop over k that ends early, masks and edges that are not checked.
constexpr Mutation kMutations[] = {
    {"family=naive", "p < k; ++p", "p + 1 < k; ++p"},
    {"family=naive", "row >= m || column >= n", "row >= m"},
    {"family=tiled", "if (k0 == last) break;", "if (k0 + TILE_K >= last) break;"},
    {"family=tiled stages=2", "k0 < last; k0", "k0 + TILE_K < last; k0"},
    {"family=tiled", "return mix(ELEMENT_4(0), x, lessThan(uvec4(0, 1, 2, 3), uvec4(count)));",
     "return x;"},
    {"family=tiled", "if (w < columns) {", "{"},
    {"family=tiled split_k=2", "- gl_WorkGroupID.z / batch * split_depth", ""},
    {"family=register load_path_a=buffer load_path_b=buffer", "for (; k0 < k; k0 += TAIL_K)",
     "for (; k0 + TAIL_K < k; k0 += TAIL_K)"},
    {"family=vector load_path_a=buffer load_path_b=buffer", "first_step + k0 + u < k;",
     "first_step + k0 + u < k - 1;"},
    {"family=vector load_path_a=buffer load_path_b=buffer", "return k - min(k0, k);", "return 4u;"},
    {"family=batched_small load_path_a=buffer load_path_b=buffer",
     "if (TILE_BATCH > 1 && z >= batch)", "if (TILE_BATCH > 1 && z + 1 >= batch)"},
};

/// Rows with additional elements and matrices that begin a few elements into their buffers, as far
/// as the kernel's loads allow.
void pad(WebCase& c) {
  constexpr std::int64_t kPad = 3;
  const LoadElements line = line_elements(c.variant, signature_of(c.p));
  const std::int64_t a = c.variant.packed_a == Packed::kYes && c.variant.dot == 1 ? 1 : line.a;
  const std::int64_t b = c.variant.packed_b == Packed::kYes && c.variant.dot == 1 ? 1 : line.b;
  Problem& p = c.p;
  p.lda = round_up(p.lda + kPad, a);
  if (!quantized(p.types)) p.ldb = round_up(p.ldb + kPad, b);
  p.ldc += kPad;
  if (p.batch > 1) {
    p.stride_a = round_up(stored_a(p).rows * p.lda + kPad, a);
    if (!quantized(p.types)) p.stride_b = round_up(stored_b(p).rows * p.ldb + kPad, b);
    p.stride_c = p.m * p.ldc + kPad;
  }
  c.at = own_buffers(p);
  c.at.offset_a = round_up(kPad, a);
  if (!quantized(p.types)) c.at.offset_b = round_up(kPad, b);
  c.at.offset_c = kPad;
}

WebCase make_case(const Variant& v, const Signature& s, std::int64_t batch) {
  const std::int64_t step = std::max<std::int64_t>(v.tile_k, v.unroll_k) * v.dot;
  const std::int64_t m = v.tile_m + 3, n = v.tile_n + 5, k = (2 * step + v.dot) * v.split_k;
  WebCase c{
      .variant = v, .p = packed_problem(m, n, k, s.trans_a, s.trans_b, batch, s.types), .at = {}};
  c.p.epilogue = s.epilogue;
  if (s.types.c != DataType::kI32) {
    c.p.alpha = -0.75f;
    c.p.beta = batch == 1 ? 0.5f : 0.0f;
  }
  pad(c);
  return c;
}

/// A case of the kernel with these settings, or nothing where it is not legal.
std::optional<WebCase> completed(std::string_view settings, std::string_view signature,
                                 std::int64_t batch, const DeviceLimits& limits,
                                 const std::vector<Variant>& space) {
  const Signature s = parse_signature(std::string(signature));
  const Family family = parse_variant(settings).family;
  const auto with = [&](std::string_view more) {
    return complete(family, parse_settings(fmt::format("{} {}", settings, more)), limits, space,
                    [&](const Variant& variant) { return illegal_reason(variant, limits, s); });
  };
  CompletedVariant found = with(small(family));
  if (found.reason) found = with("");
  const auto& [v, reason] = found;
  if (reason) {
    fmt::print(stderr, "left out: {} {}: {}\n", settings, signature, *reason);
    return std::nullopt;
  }
  WebCase c = make_case(v, s, batch);
  if (const auto why = illegal_reason(v, limits, c.p, c.at))
    fail(ErrorCode::kInternal, "{} {}: {}", to_string(v), to_string(c.p), *why);
  return c;
}

}  // namespace

std::vector<WebCase> web_cases(const DeviceLimits& limits) {
  std::vector<WebCase> cases;
  const std::vector<Variant> space = legal_variants(limits);
  for (const Sample& sample : kSamples)
    if (const auto c = completed(sample.settings, sample.signature, sample.batch, limits, space))
      cases.push_back(*c);
  for (const Mutation& mutation : kMutations) {
    const std::int64_t batch = mutation.settings.starts_with("family=batched") ? 9 : 1;
    if (auto c = completed(mutation.settings, "f32.nn", batch, limits, space)) {
      c->mutation = {std::string(mutation.from), std::string(mutation.to)};
      cases.push_back(*c);
    }
  }
  return cases;
}

}  // namespace rooftile
