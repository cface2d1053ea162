#include <gtest/gtest.h>

#include <set>

#include "bench/limiter/changes.h"
#include "generator/compile.h"

namespace rooftile {
namespace {

const std::set<Change> kAlways = {Change::kNone,  Change::kArithmetic, Change::kLoads,
                                  Change::kLines, Change::kStores,     Change::kLaunches,
                                  Change::kSums,  Change::kIdle};

std::set<Change> with(std::set<Change> changes, std::set<Change> more) {
  changes.merge(more);
  return changes;
}

/// Changes that a kernel has, each of which must compile and, but for the control and kSums, have a
/// text of its own.
std::set<Change> changes_of(const std::string& variant, const std::string& types,
                            Transpose trans_b) {
  const Shader gemm =
      emit_gemm(parse_variant(variant), {.types = parse_types(types), .trans_b = trans_b});
  const std::string control = changed(gemm, Change::kNone)->glsl;
  std::set<Change> found;
  for (const Change change : kChanges)
    if (const auto shader = changed(gemm, change)) {
      found.insert(change);
      EXPECT_FALSE(compile(*shader).empty()) << name_of(change);
      EXPECT_EQ(shader->glsl == control, change == Change::kNone || change == Change::kSums)
          << name_of(change);
    }
  return found;
}

TEST(LimiterChanges, EachFamilyHasWhatItsTextHas) {
  const std::set<Change> shared = with(kAlways, {Change::kShared, Change::kBarriers});
  struct Expected {
    std::string variant;
    std::set<Change> changes;
  };
  for (const Expected& e : std::vector<Expected>{
           {"family=naive tile_m=8 tile_n=16", kAlways},
           {"family=register tile_m=16 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
            "vector_width_b=4 load_path_b=texel",
            kAlways},
           {"family=tiled tile_m=32 tile_n=32 tile_k=16 reg_m=4 reg_n=4 unroll_k=8 stage=shared "
            "vector_width_a=4 vector_width_b=4",
            shared},
           {"family=vector tile_m=1 tile_n=16 tile_k=32 reg_m=1 reg_n=4 unroll_k=8 stage=shared",
            shared},
           {"family=vector tile_m=1 tile_n=16 tile_k=32 reg_m=1 reg_n=4 unroll_k=8 stage=stored",
            shared},
           {"family=broadcast tile_m=16 tile_n=32 reg_m=16 reg_n=4 unroll_k=4 vector_width_a=4 "
            "vector_width_b=4 load_path_a=texel load_path_b=texel stage=subgroup packed_a=yes "
            "packed_b=yes subgroup_size=8",
            with(kAlways, {Change::kBroadcasts})}})
    EXPECT_EQ(changes_of(e.variant, "f32", Transpose::kNo), e.changes) << e.variant;
}

TEST(LimiterChanges, EachTypeHasLoadsAndProducts) {
  const std::string kernel =
      "family=register tile_m=16 tile_n=32 reg_m=4 reg_n=4 unroll_k=32 vector_width_a=4 "
      "vector_width_b=4";
  for (const std::string types : {"f16", "bf16", "i8", "f32xq4b32", "f32xq8b16"})
    for (const std::string path : {"", " load_path_a=texel load_path_b=texel"})
      EXPECT_EQ(changes_of(kernel + path, types, Transpose::kYes), kAlways) << types << path;
  EXPECT_EQ(changes_of(kernel + " dot=4", "i8", Transpose::kYes), kAlways);
}

TEST(LimiterChanges, UnknownTextIsNoticed) {
  Shader gemm = emit_gemm(parse_variant("family=naive"), {});
  const std::size_t product = gemm.glsl.find("+= product(");
  gemm.glsl.replace(product, 11, "+= quotient(");
  EXPECT_THROW(changed(gemm, Change::kArithmetic), std::exception);
}

}  // namespace
}  // namespace rooftile
