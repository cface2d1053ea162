// Runs selected small kernels at every tile edge with all transposes, padded rows, offsets and NaN
// in the padding.
#include <gtest/gtest.h>

#include <algorithm>

#include "device_product.h"
#include "generator/layout.h"
#include "test_limits.h"

namespace rooftile {
namespace {

struct Point {
  std::string name, text;
};

// Every load path, vector width, layout and loop of the templates occurs at least once, in tiles
// small enough for a short test.
const std::vector<Point> kPoints = {
    {"naive", "family=naive tile_m=4 tile_n=8"},
    {"naive_column", "family=naive tile_m=8 tile_n=8 raster=column"},
    {"register_browser",
     "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
     "vector_width_b=4 raster=column"},
    {"register_scalar_texels",
     "family=register tile_m=6 tile_n=12 reg_m=3 reg_n=3 unroll_k=5 load_path_a=texel "
     "load_path_b=texel"},
    {"register_mixed_widths",
     "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=2 "
     "vector_width_b=4 load_path_b=texel"},
    {"register_packed_a",
     "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
     "vector_width_b=2 packed_a=yes"},
    {"register_packed_b",
     "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
     "vector_width_b=4 packed_b=yes "
     "load_path_b=texel"},
    {"tiled",
     "family=tiled tile_m=16 tile_n=32 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared "
     "vector_width_a=4 vector_width_b=4 "
     "shared_pad=4"},
    {"tiled_double",
     "family=tiled tile_m=32 tile_n=16 tile_k=4 reg_m=8 reg_n=4 unroll_k=4 stage=shared stages=2 "
     "vector_width_a=2 "
     "vector_width_b=1 load_path_b=texel raster=column"},
    {"tiled_blocked",
     "family=tiled tile_m=16 tile_n=32 tile_k=8 reg_m=4 reg_n=4 unroll_k=8 stage=shared stages=2 "
     "vector_width_a=1 "
     "vector_width_b=4 load_path_a=texel"},
    {"tiled_subgroups",
     "family=tiled tile_m=32 tile_n=32 tile_k=8 reg_m=4 reg_n=4 subgroup_m=16 subgroup_n=8 "
     "unroll_k=4 "
     "stage=shared stages=2 vector_width_a=4 vector_width_b=4"},
    {"vector_rows",
     "family=vector tile_m=3 tile_n=8 tile_k=32 reg_m=3 reg_n=2 unroll_k=8 stage=shared "
     "vector_width_a=4 vector_width_b=4"},
    {"vector_columns",
     "family=vector tile_m=8 tile_n=4 tile_k=16 reg_m=2 reg_n=4 unroll_k=4 stage=shared "
     "vector_width_a=4 vector_width_b=4 load_path_a=texel"},
    {"vector_one_lane",
     "family=vector tile_m=1 tile_n=32 tile_k=8 reg_m=1 reg_n=4 unroll_k=8 vector_width_a=4 "
     "vector_width_b=4 load_path_a=texel load_path_b=texel"},
    {"vector_elements",
     "family=vector tile_m=2 tile_n=1 tile_k=12 reg_m=1 reg_n=1 unroll_k=3 stage=shared"},
    {"register_split",
     "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
     "vector_width_b=2 split_k=3"},
    {"register_split_packed",
     "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
     "vector_width_b=4 packed_a=yes packed_b=yes split_k=2 raster=column"},
    {"tiled_split",
     "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared stages=2 "
     "vector_width_a=2 vector_width_b=2 split_k=3"},
    {"vector_split",
     "family=vector tile_m=2 tile_n=8 tile_k=16 reg_m=2 reg_n=4 unroll_k=4 stage=shared "
     "vector_width_a=4 vector_width_b=4 split_k=2"},
    {"vector_split_unevenly",  // 16 partial sums are requested; fewer are made
     "family=vector tile_m=1 tile_n=8 tile_k=32 reg_m=1 reg_n=2 unroll_k=8 stage=shared "
     "vector_width_a=4 vector_width_b=4 split_k=16"},
    {"batched_small",
     "family=batched_small tile_m=8 tile_n=8 reg_m=4 reg_n=4 unroll_k=4 tile_batch=3 "
     "vector_width_a=4 vector_width_b=4 load_path_b=texel"},
    {"tiled_grouped",
     "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared "
     "vector_width_a=1 vector_width_b=1 raster=grouped4"},
};

/// Sizes of two tiles in each dimension, and the sizes next to them, so that errors of single
/// tiles show. Paddings and scalars alternate.
void compute_edges(const ProductKernel& kernel) {
  const Variant& v = kernel.variant();
  const int depth = std::max(v.tile_k, v.unroll_k);
  // Number of tiles: one full group and a partial one.
  const int rows = v.raster >= Raster::kGrouped4 ? 6 : 2;
  int turn = 0;
  for (int dm : {-1, 0, 1})
    for (int dn : {-1, 0, 1})
      for (int k : v.split_k > 1 ? std::vector{depth, depth + 1, 3 * depth + 1}
                                 : std::vector{1, depth, 2 * depth - 1, 3 * depth + 1}) {
        Product product = padded_product(v, kernel.signature(), rows * v.tile_m + dm,
                                         2 * v.tile_n + dn, k * v.split_k, turn % 5);
        if (v.tile_batch > 1) product = batched(product, v.tile_batch + 1, SharedB::kNo);
        product.p.alpha = turn % 3 == 0 ? 1.0f : -1.25f;
        product.p.beta = turn % 2 == 0 ? 0.0f : 0.5f;
        if (turn % 7 == 6) product.last_step = LastStep::kInfinite;
        // Dispatches of one tile each, then dispatches of all tiles for a part of k, which is here
        // the longest.
        if (turn % 8 == 3) product.max_flops = 2.0 * v.tile_m * v.tile_n * k;
        if (turn % 8 == 7) product.max_loop_trips = static_cast<std::uint32_t>(loop_trips(v, 2));
        EXPECT_EQ(difference(kernel, product), "");
        ++turn;
      }
}

/// Batches with a B for each GEMM and with a shared B, in runs of several GEMMs and with ragged
/// sizes.
void compute_batches(const ProductKernel& kernel) {
  const Variant& v = kernel.variant();
  const int k = 3 * std::max(v.tile_k, v.unroll_k) * v.split_k + 1;
  for (SharedB shared : {SharedB::kNo, SharedB::kYes}) {
    Product product =
        batched(padded_product(v, kernel.signature(), v.tile_m + 3, v.tile_n - 1, k, 4), 5, shared);
    product.p.beta = shared == SharedB::kYes ? 0.5f : 0.0f;
    EXPECT_EQ(difference(kernel, product), "");
    product.max_flops = 4.0 * product.p.m * product.p.n * k;  // two GEMMs per step
    EXPECT_EQ(difference(kernel, product), "");
  }
}

/// Both, of kernels that are compiled once: drivers take most of the time for it.
void compute_edges_and_batches(const Variant& v) {
  for (const Signature& s : all_signatures()) {
    const ProductKernel kernel(v, s);
    compute_edges(kernel);
    compute_batches(kernel);
  }
}

class Edges : public testing::TestWithParam<Point> {};

TEST_P(Edges, ComputeEverySizeNextToATileAndBatches) {
  compute_edges_and_batches(parse_variant(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Edges, testing::ValuesIn(kPoints),
                         [](const auto& point) { return point.param.name; });

/// Broadcast kernels with the device's own subgroup sizes.
Variant broadcast(const std::string& rest) {
  const auto lanes = static_cast<int>(test_device().profile().limits.subgroup_size);
  Variant v = parse_variant("family=broadcast vector_width_a=4 vector_width_b=4 " + rest);
  v.subgroup_size = lanes;
  v.tile_m = v.reg_m;
  v.tile_n = lanes * v.reg_n;
  return v;
}

class BroadcastEdges : public testing::TestWithParam<Point> {};

TEST_P(BroadcastEdges, ComputeEverySizeNextToATileAndBatches) {
  compute_edges_and_batches(broadcast(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, BroadcastEdges,
    testing::Values(Point{"packed",
                          "reg_m=8 reg_n=4 unroll_k=8 packed_a=yes packed_b=yes load_path_a=texel "
                          "load_path_b=texel raster=column"},
                    Point{"packed_buffers", "reg_m=4 reg_n=4 unroll_k=4 packed_a=yes packed_b=yes"},
                    Point{"as_stored", "reg_m=4 reg_n=8 unroll_k=4 load_path_a=texel"},
                    Point{"subgroup",
                          "reg_m=16 reg_n=4 unroll_k=8 stage=subgroup packed_a=yes packed_b=yes "
                          "load_path_a=texel load_path_b=texel raster=column"},
                    Point{"subgroup_half_packed",
                          "reg_m=4 reg_n=4 unroll_k=8 stage=subgroup packed_a=yes"}),
    [](const auto& point) { return point.param.name; });

}  // namespace
}  // namespace rooftile
