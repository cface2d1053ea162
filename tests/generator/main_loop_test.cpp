// The loop over k of a kernel does nothing but load, multiply and step its addresses: masks,
// clamped rows and products of strides lie outside of it. What they cost is known from GPUs' own
// compilers (bench/results/gpu-compilers.md); this test needs none of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "generator/compile.h"
#include "in_registers.h"
#include "test_limits.h"

namespace rooftile {
namespace {

using Words = std::vector<std::string>;

struct Block {
  std::vector<Words> instructions;
  std::vector<std::string> successors;
  std::string merge;  // of the loop that begins here, else empty
};

struct Module {
  std::map<std::string, Block> blocks;
  std::map<std::string, std::string> constants;  // by id, as text
};

/// Position of the opcode in an instruction's words: "%x = OpIAdd %uint %y %z" or "OpBranch %x".
std::size_t opcode_at(const Words& words) { return words.size() > 2 && words[1] == "=" ? 2 : 0; }

Module parse(const std::string& assembly) {
  Module module;
  std::istringstream lines(assembly);
  Block* block = nullptr;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream text(line);
    Words words{std::istream_iterator<std::string>(text), {}};
    if (words.empty()) continue;
    const std::size_t at = opcode_at(words);
    const std::string& opcode = words[at];
    if (opcode == "OpConstant") module.constants[words[0]] = words.back();
    if (opcode == "OpLabel") block = &module.blocks[words[0]];
    if (block == nullptr) continue;
    if (opcode == "OpLoopMerge") block->merge = words[at + 1];
    if (opcode == "OpBranch") block->successors = {words[at + 1]};
    if (opcode == "OpBranchConditional") block->successors = {words[at + 2], words[at + 3]};
    block->instructions.push_back(std::move(words));
  }
  return module;
}

/// The instructions between a loop's header and its merge block.
std::vector<Words> loop_at(const Module& module, const std::string& header) {
  std::vector<Words> found;
  std::set<std::string> seen = {module.blocks.at(header).merge};
  std::vector<std::string> open = {header};
  while (!open.empty()) {
    const std::string label = open.back();
    open.pop_back();
    if (!seen.insert(label).second) continue;
    const Block& block = module.blocks.at(label);
    found.insert(found.end(), block.instructions.begin(), block.instructions.end());
    open.insert(open.end(), block.successors.begin(), block.successors.end());
  }
  return found;
}

/// The opcode; of an extended instruction, its name.
const std::string& operation(const Words& words) {
  const std::size_t at = opcode_at(words);
  return words[at] == "OpExtInst" && words.size() > at + 3 ? words[at + 3] : words[at];
}

std::ptrdiff_t count(const std::vector<Words>& loop, std::string_view wanted) {
  return std::ranges::count_if(loop,
                               [&](const Words& words) { return operation(words) == wanted; });
}

std::ptrdiff_t multiplications(const std::vector<Words>& loop) {
  return count(loop, "Fma") + count(loop, "OpFMul") + count(loop, "OpVectorTimesScalar");
}

/// The loop with the most multiplications; of nested ones with equally many, the outer one.
std::vector<Words> main_loop(const Module& module) {
  std::vector<Words> best;
  for (const auto& [label, block] : module.blocks) {
    if (block.merge.empty()) continue;
    const std::vector<Words> loop = loop_at(module, label);
    if (std::pair(multiplications(loop), loop.size()) >
        std::pair(multiplications(best), best.size()))
      best = loop;
  }
  return best;
}

/// Whether an operand is a constant power of two, by which multiplications are shifts.
bool shifts(const Module& module, const std::string& id) {
  const auto found = module.constants.find(id);
  return found != module.constants.end() &&
         std::has_single_bit(static_cast<unsigned>(std::stoul(found->second)));
}

/// The first instruction that must not be in the loop.
std::string first_unwanted(const Module& module, const std::vector<Words>& loop) {
  constexpr std::array kMultiplying = {"OpIMul", "OpUDiv", "OpUMod"};
  constexpr std::array kMasking = {"OpSelect", "UMin", "UMax"};
  for (const Words& words : loop)
    if (std::ranges::count(kMasking, operation(words)) > 0 ||
        (std::ranges::count(kMultiplying, operation(words)) > 0 && !shifts(module, words.back())))
      return fmt::format("{}", fmt::join(words, " "));
  return "";
}

/// The kernel's assembly. Drivers unroll a loop of one trip, spirv-opt only what is marked.
std::string assembly(const Variant& v, const Signature& signature) {
  Shader shader = emit_gemm(v, signature);
  constexpr std::string_view kSteps = "for (uint step = 0;";
  if (const std::size_t at = shader.glsl.find(kSteps); at != std::string::npos)
    shader.glsl.insert(at, "[[unroll]] ");
  return in_registers(compile(shader), 6);
}

struct Case {
  const char* variant;
  const char* types;
  int branches;  // conditional ones: the loop's own end
};

class MainLoop : public testing::TestWithParam<std::tuple<Case, const char*>> {};

TEST_P(MainLoop, HasNoMasksAndNoMultiplicationsOfAddresses) {
  const auto& [c, transposes] = GetParam();
  const Signature signature{.types = parse_types(c.types),
                            .trans_a = transposes[0] == 't' ? Transpose::kYes : Transpose::kNo,
                            .trans_b = transposes[1] == 't' ? Transpose::kYes : Transpose::kNo};
  if (quantized(signature.types) && signature.trans_b == Transpose::kNo) return;
  const Variant v = parse_variant(c.variant);
  const Module module = parse(assembly(v, signature));
  const std::vector<Words> loop = main_loop(module);
  ASSERT_GE(multiplications(loop), v.reg_m * v.reg_n * v.unroll_k / 4) << to_string(v);
  EXPECT_EQ(first_unwanted(module, loop), "") << to_string(v);
  EXPECT_EQ(count(loop, "OpBranchConditional"), c.branches) << to_string(v);
}

constexpr const char* kTiledKernel =
    "family=tiled tile_m=64 tile_n=64 tile_k=16 reg_m=4 reg_n=4 unroll_k=16 vector_width_a=4 "
    "vector_width_b=4 stage=shared shared_pad=4";
constexpr const char* kFetchedAhead =
    "family=tiled tile_m=64 tile_n=64 tile_k=16 reg_m=4 reg_n=4 unroll_k=16 vector_width_a=4 "
    "vector_width_b=4 stage=shared shared_pad=4 prefetch=ahead";
constexpr const char* kTwoStages =
    "family=tiled tile_m=64 tile_n=32 tile_k=16 reg_m=4 reg_n=4 unroll_k=16 vector_width_a=4 "
    "vector_width_b=4 stage=shared stages=2 shared_pad=4";
constexpr const char* kTiledWords =
    "family=tiled tile_m=64 tile_n=64 tile_k=32 reg_m=4 reg_n=4 unroll_k=32 vector_width_a=4 "
    "vector_width_b=1 stage=shared shared_pad=4";
constexpr const char* kRegisterKernel =
    "family=register tile_m=16 tile_n=32 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
    "vector_width_b=4";
constexpr const char* kVectorKernel =
    "family=vector tile_m=1 tile_n=8 tile_k=256 reg_m=1 reg_n=2 unroll_k=8 vector_width_a=4 "
    "vector_width_b=4 stage=shared";
constexpr const char* kVectorWords =
    "family=vector tile_m=1 tile_n=8 tile_k=1024 reg_m=1 reg_n=2 unroll_k=32 vector_width_a=4 "
    "vector_width_b=4 stage=shared";

INSTANTIATE_TEST_SUITE_P(
    Kernels, MainLoop,
    testing::Combine(
        testing::Values(Case{kTiledKernel, "f32", 1}, Case{kTiledKernel, "f16_f16", 1},
                        Case{kFetchedAhead, "f32", 1}, Case{kFetchedAhead, "f16_f16", 1},
                        Case{kTwoStages, "f32", 1}, Case{kTwoStages, "bf16_f32", 1},
                        Case{kTiledWords, "f16xq4b32_f16", 1}, Case{kTiledWords, "f32xq8b16", 1},
                        Case{kRegisterKernel, "f32", 1}, Case{kRegisterKernel, "f16_f16", 1},
                        Case{kVectorKernel, "f32", 1}, Case{kVectorKernel, "f16_f32", 1},
                        Case{kVectorWords, "f16xq4b32_f16", 1},
                        Case{kVectorWords, "f16xq4b128z_f16", 1}),
        testing::Values("nn", "nt", "tn", "tt")));

}  // namespace
}  // namespace rooftile
