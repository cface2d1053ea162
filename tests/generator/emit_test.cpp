#include "generator/emit.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/error.h"
#include "generator/space.h"
#include "test_limits.h"
#include "tests/support/file_text.h"

namespace rooftile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Signature kPlain{};
const Signature kBothTransposed{{}, Transpose::kYes, Transpose::kYes};

/// Compares with tests/generator/golden/<name>.comp. With ROOFTILE_UPDATE_GOLDEN=1 in the
/// environment it writes the file instead; review the difference before committing it.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string file =
      std::string(ROOFTILE_SOURCE_DIR) + "/tests/generator/golden/" + name + ".comp";
  if (std::getenv("ROOFTILE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(file) << text;
    return;
  }
  EXPECT_EQ(text, bytes_of_file(file)) << "ROOFTILE_UPDATE_GOLDEN=1 rewrites " << file;
}

TEST(Emit, MatchesTheGoldenFiles) {
  expect_golden("naive", emit_gemm(naive_point(), kPlain).glsl);
  expect_golden("register", emit_gemm(register_point(), kPlain).glsl);
  expect_golden("tiled_tt", emit_gemm(tiled_point(), kBothTransposed).glsl);
  expect_golden("broadcast", emit_gemm(broadcast_point(), kPlain).glsl);
  expect_golden("vector", emit_gemm(vector_point(), kPlain).glsl);
  expect_golden("matrix", emit_gemm(matrix_point(), {parse_types("f16")}).glsl);
  expect_golden("matrix_workgroup",
                emit_gemm(workgroup_matrix_point(), {parse_types("f16"), Transpose::kYes}).glsl);
  expect_golden("pack_a", emit_pack(broadcast_point(), kPlain, Operand::kA).glsl);
}

TEST(Emit, NamesItsParameters) {
  for (const Variant& v : {naive_point(), register_point(), tiled_point(), broadcast_point()}) {
    EXPECT_THAT(emit_gemm(v, kPlain).glsl, HasSubstr("// " + to_string(v) + "\n"));
    EXPECT_THAT(emit_gemm(v, kPlain).glsl, HasSubstr(short_name(v)));
  }
}

TEST(Emit, DescribesTheBindings) {
  const Shader buffers = emit_gemm(register_point(), kPlain);
  EXPECT_THAT(buffers.interface.bindings,
              ElementsAre(BindingKind::kStorageBuffer, BindingKind::kStorageBuffer,
                          BindingKind::kStorageBuffer));
  EXPECT_EQ(buffers.interface.push_constants_bytes, 72u);
  EXPECT_EQ(buffers.interface.subgroup_size, 0u);

  Variant v = with(broadcast_point(), "load_path_b", "buffer");
  EXPECT_THAT(emit_gemm(v, kPlain).interface.bindings,
              ElementsAre(BindingKind::kTexelRgba32, BindingKind::kStorageBuffer,
                          BindingKind::kStorageBuffer));
  EXPECT_EQ(emit_gemm(v, kPlain).interface.subgroup_size, 8u);
  EXPECT_THAT(emit_pack(v, kPlain, Operand::kA).interface.bindings,
              ElementsAre(BindingKind::kTexelRgba32, BindingKind::kStorageBuffer));
  EXPECT_THAT(emit_pack(v, kPlain, Operand::kB).interface.bindings,
              ElementsAre(BindingKind::kStorageBuffer, BindingKind::kStorageBuffer));
  EXPECT_EQ(emit_pack(v, kPlain, Operand::kB).interface.push_constants_bytes, 24u);

  v = with(with(register_point(), "load_path_a", "texel"), "vector_width_a", "1");
  EXPECT_EQ(emit_gemm(v, kPlain).interface.bindings[0], BindingKind::kTexelR32);
}

TEST(Emit, RefusesToPackOperandsThatTheKernelReadsAsStored) {
  EXPECT_THROW(emit_pack(register_point(), kPlain, Operand::kA), Error);
}

TEST(Emit, GivesEveryVariantAndSignatureItsOwnHash) {
  std::set<std::string> hashes;
  std::size_t count = 0;
  const std::vector<Variant> variants = legal_variants(lavapipe_limits());
  for (std::size_t i = 0; i < variants.size(); i += 7)
    for (const Signature& s : all_signatures()) {
      hashes.insert(emit_gemm(variants[i], s).hash);
      ++count;
    }
  EXPECT_EQ(hashes.size(), count);
}

TEST(Emit, HashChangesWithKernelCodeAndOptimizationButNotWithComments) {
  const std::string code = "#version 450\nvoid main() {}\n";
  const std::string hash = shader_hash("naive", code, Optimization::kZero);
  EXPECT_EQ(shader_hash("naive", "#version 450\n// What it does.\n\nvoid main() {}  // nothing\n",
                        Optimization::kZero),
            hash);
  EXPECT_NE(shader_hash("tiled", code, Optimization::kZero), hash);
  EXPECT_NE(shader_hash("naive", code, Optimization::kPerformance), hash);
  EXPECT_NE(shader_hash("naive", "#version 450\nvoid main() { return; }\n", Optimization::kZero),
            hash);
}

TEST(Emit, HashesAreReproducible) {
  const Shader a = emit_gemm(tiled_point(), kPlain), b = emit_gemm(tiled_point(), kPlain);
  EXPECT_EQ(a.glsl, b.glsl);
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.hash.size(), 32u);
  EXPECT_NE(a.hash, emit_gemm(with(tiled_point(), "optimization", "performance"), kPlain).hash);
}

}  // namespace
}  // namespace rooftile
