#include "generator/compiler_work.h"

#include <gtest/gtest.h>

#include <string>

#include "generator/space.h"
#include "test_limits.h"

namespace rooftile {
namespace {

Signature signature(char a, char b) {
  const auto transpose = [](char c) { return c == 't' ? Transpose::kYes : Transpose::kNo; };
  return {.trans_a = transpose(a), .trans_b = transpose(b)};
}

TEST(CompilerWork, GrowsWithUnrolling) {
  const Signature nn = signature('n', 'n');
  const Variant v = broadcast_point();
  const double work = compiler_work(v, nn);
  EXPECT_GT(compiler_work(with(v, "reg_m", std::to_string(2 * v.reg_m)), nn), work);
  EXPECT_GT(compiler_work(with(v, "reg_n", std::to_string(2 * v.reg_n)), nn), work);
  EXPECT_GT(compiler_work(with(v, "unroll_k", std::to_string(2 * v.unroll_k)), nn), work);
}

TEST(CompilerWork, CountsTheTailTheStoredOrderAndTheOtherShaders) {
  const Signature nn = signature('n', 'n');
  const Variant masked = register_point(), exact = with(masked, "edge", "exact");
  EXPECT_GT(compiler_work(masked, nn), compiler_work(exact, nn));
  // Vectors of B along k are multiplied element by element.
  EXPECT_GT(compiler_work(exact, signature('n', 't')), compiler_work(exact, nn));
  EXPECT_GT(compiler_work(with(exact, "packed_a", "yes"), nn), compiler_work(exact, nn));
  EXPECT_GT(compiler_work(with(exact, "split_k", "2"), nn), compiler_work(exact, nn));
}

TEST(CompilerWork, IsLeastForTheFallbackKernel) {
  const Signature nn = signature('n', 'n');
  for (const Variant& v : {register_point(), tiled_point(), broadcast_point(), vector_point()})
    EXPECT_GT(compiler_work(v, nn), 2 * compiler_work(fallback_variant(), nn)) << to_string(v);
  EXPECT_GT(compiler_work(matrix_point(), {parse_types("f16")}),
            compiler_work(fallback_variant(), {parse_types("f16")}));
}

// Processor time in ms of preparing a kernel with warm caches on lavapipe 22.3 (AMD EPYC,
// 2026-11-22, the lower of two processes).
TEST(CompilerWork, OrdersKernelsAsLavapipeDoes) {
  struct Measured {
    double ms;
    const char* signature;
    const char* variant;
  };
  const std::string
      broadcast =
          "family=broadcast tile_k=1 vector_width_a=4 vector_width_b=4 load_path_a=texel "
          "load_path_b=texel subgroup_size=8 ",
      lanes =
          "family=register tile_k=1 vector_width_a=4 vector_width_b=4 "
          "load_path_a=texel load_path_b=texel ";
  const std::string texts[] = {
      "family=naive tile_m=8 tile_n=8",
      "family=vector tile_m=1 tile_n=32 tile_k=16 reg_m=1 reg_n=4 vector_width_a=4 "
      "vector_width_b=4 load_path_a=texel load_path_b=texel unroll_k=16",
      lanes + "tile_m=32 tile_n=64 reg_m=4 reg_n=8 unroll_k=4",
      broadcast + "tile_m=8 tile_n=64 reg_m=8 reg_n=8 unroll_k=8",
      lanes + "tile_m=32 tile_n=64 reg_m=16 reg_n=8 unroll_k=4",
      broadcast + "tile_m=16 tile_n=64 reg_m=16 reg_n=8 unroll_k=8 packed_a=yes packed_b=yes",
      broadcast + "tile_m=16 tile_n=128 reg_m=16 reg_n=16 unroll_k=4",
      broadcast + "tile_m=32 tile_n=64 reg_m=32 reg_n=8 unroll_k=8",
      broadcast + "tile_m=32 tile_n=128 reg_m=32 reg_n=16 unroll_k=4",
  };
  const Measured kernels[] = {
      {1.8, "nn", texts[0].c_str()},   {10.9, "nn", texts[1].c_str()},
      {12.9, "nn", texts[2].c_str()},  {18.7, "nn", texts[3].c_str()},
      {34.9, "nt", texts[3].c_str()},  {20.3, "nn", texts[4].c_str()},
      {57.6, "nt", texts[4].c_str()},  {23.5, "nn", texts[5].c_str()},
      {22.3, "nt", texts[5].c_str()},  {40.0, "nn", texts[6].c_str()},
      {137.4, "nt", texts[6].c_str()}, {53.7, "nn", texts[7].c_str()},
      {81.0, "nn", texts[8].c_str()},  {375.0, "nt", texts[8].c_str()},
  };
  const auto work = [](const Measured& kernel) {
    return compiler_work(parse_variant(kernel.variant),
                         signature(kernel.signature[0], kernel.signature[1]));
  };
  int pairs = 0, as_predicted = 0;
  for (const Measured& x : kernels)
    for (const Measured& y : kernels) {
      if (work(x) < 2 * work(y)) continue;
      ++pairs;
      if (x.ms >= 1.5 * y.ms) ++as_predicted;
      EXPECT_GT(x.ms, y.ms) << x.variant << ' ' << x.signature << "\n"
                            << y.variant << ' ' << y.signature;
    }
  EXPECT_GT(pairs, 30);
  EXPECT_GE(as_predicted, 0.95 * pairs);  // measured: 98 % of all pairs
}

}  // namespace
}  // namespace rooftile
