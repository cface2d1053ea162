// What the compilers of GPUs need to see in a matrix kernel, checked on its SPIR-V, so that no
// GPU's compiler is needed: the main loop has no masks, and sums stay in registers, since every
// loop that indexes them is to be unrolled and has no loop inside that is not. Mesa unrolls no loop
// around such an inner loop, and then keeps all sums in memory.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/spirv_words.h"
#include "generator/compile.h"
#include "generator/layout.h"
#include "test_limits.h"
#include "tests/support/changed_shader.h"

namespace rooftile {
namespace {

using testing::IsEmpty;
using testing::Not;

// Numbers of the SPIR-V specification.
constexpr std::uint32_t kOpName = 5, kOpExtInst = 12, kOpConstant = 43, kOpFunction = 54,
                        kOpFunctionCall = 57, kOpLoad = 61, kOpStore = 62, kOpAccessChain = 65,
                        kOpSelect = 169, kOpLoopMerge = 246, kOpSelectionMerge = 247,
                        kOpLabel = 248, kUMin = 38, kUnroll = 1;

struct Instruction {
  std::uint32_t opcode;
  std::vector<std::uint32_t> words;
};

/// A loop by the instructions from its header to its end, as indices into those of the function.
struct Loop {
  std::size_t begin, end;
  bool unrolled;
  std::set<std::uint32_t> variables;  // which its continue block stores
};

std::string text_of(SpirvWords words) {
  std::string text;
  for (const std::uint32_t word : words)
    for (int byte = 0; byte < 4; ++byte)
      if (const char c = static_cast<char>(word >> 8 * byte); c != 0) text += c;
  return text;
}

class Module {
 public:
  explicit Module(const std::vector<std::uint32_t>& words) {
    std::vector<Instruction>* function = nullptr;
    for_each_spirv_instruction(words, [&](SpirvWords i) {
      const std::uint32_t opcode = spirv_opcode(i);
      if (opcode == kOpName) names_[i[1]] = text_of(i.subspan(2));
      if (opcode == kOpConstant) constants_.insert(i[2]);
      if (opcode == kOpFunction) function = &functions_[i[2]];
      if (function != nullptr) function->push_back({opcode, {i.begin(), i.end()}});
    });
  }

  std::string name(std::uint32_t id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? "" : found->second.substr(0, found->second.find('('));
  }
  const std::vector<Instruction>& function(const std::string& wanted) const {
    static const std::vector<Instruction> none;
    for (const auto& [id, body] : functions_)
      if (name(id) == wanted) return body;
    return none;
  }
  const std::map<std::uint32_t, std::vector<Instruction>>& functions() const { return functions_; }
  bool is_constant(std::uint32_t id) const { return constants_.contains(id); }

 private:
  std::map<std::uint32_t, std::string> names_;
  std::set<std::uint32_t> constants_;
  std::map<std::uint32_t, std::vector<Instruction>> functions_;
};

std::size_t label(const std::vector<Instruction>& body, std::uint32_t id) {
  for (std::size_t i = 0; i < body.size(); ++i)
    if (body[i].opcode == kOpLabel && body[i].words[1] == id) return i;
  return body.size();
}

std::vector<Loop> loops_of(const std::vector<Instruction>& body) {
  std::vector<Loop> loops;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].opcode != kOpLoopMerge) continue;
    Loop loop = {i, label(body, body[i].words[1]), (body[i].words[3] & kUnroll) != 0, {}};
    for (std::size_t at = label(body, body[i].words[2]); at < loop.end; ++at)
      if (body[at].opcode == kOpStore) loop.variables.insert(body[at].words[1]);
    loops.push_back(std::move(loop));
  }
  return loops;
}

/// The names of the functions that a function calls in loops that are not unrolled.
std::set<std::string> called_in_loops(const Module& module, const std::string& function) {
  const std::vector<Instruction>& body = module.function(function);
  std::set<std::string> called;
  for (const Loop& loop : loops_of(body))
    for (std::size_t i = loop.begin; i < loop.end && !loop.unrolled; ++i)
      if (body[i].opcode == kOpFunctionCall) called.insert(module.name(body[i].words[3]));
  return called;
}

/// Instructions that select values or branch, other than by loops, in a function and those that it
/// calls. load_position does so by its parameters, which are constants in all calls.
int masks_in(const Module& module, const std::string& function) {
  if (function == "load_position") return 0;
  int masks = 0;
  for (const Instruction& i : module.function(function)) {
    if (i.opcode == kOpSelect || i.opcode == kOpSelectionMerge ||
        (i.opcode == kOpExtInst && i.words[4] == kUMin))
      ++masks;
    if (i.opcode == kOpFunctionCall) masks += masks_in(module, module.name(i.words[3]));
  }
  return masks;
}

/// Why an index of sums is none that a compiler knows; "" when it does.
std::string why_unknown(const Module& module, const std::vector<Instruction>& body, std::size_t at,
                        std::uint32_t index) {
  if (module.is_constant(index)) return "";
  const auto load = std::ranges::find_if(
      body, [&](const Instruction& i) { return i.opcode == kOpLoad && i.words[2] == index; });
  if (load == body.end()) return "an index is computed";
  const std::vector<Loop> loops = loops_of(body);
  const auto loop = std::ranges::find_if(loops, [&](const Loop& l) {
    return l.begin < at && at < l.end && l.variables.contains(load->words[3]);
  });
  if (loop == loops.end()) return "an index is no variable of a loop";
  if (!loop->unrolled) return "the loop of an index is not unrolled";
  for (const Loop& inner : loops)
    if (loop->begin < inner.begin && inner.end < loop->end && !inner.unrolled)
      return "a loop inside of the loop of an index is not unrolled";
  return "";
}

/// Accesses of sums[][] with an index that compilers do not know, in all functions; and all of
/// them.
std::vector<std::string> unknown_indices(const Module& module, int& accesses) {
  std::vector<std::string> unknown;
  for (const auto& [id, body] : module.functions())
    for (std::size_t at = 0; at < body.size(); ++at) {
      if (body[at].opcode != kOpAccessChain || module.name(body[at].words[3]) != "sums") continue;
      ++accesses;
      for (std::size_t i = 4; i < body[at].words.size(); ++i)
        if (const std::string why = why_unknown(module, body, at, body[at].words[i]); !why.empty())
          unknown.push_back(module.name(id) + ": " + why);
    }
  return unknown;
}

const char* const kLoopKernels[] = {"",
                                    "prefetch=ahead",
                                    "prefetch=peeled",
                                    "stages=2",
                                    "subgroups_k=2",
                                    "subgroup_size=64 tile_n=128",
                                    "vector_width_a=1 vector_width_b=2",
                                    "tile_k=64 unroll_k=64"};

std::vector<Signature> signatures() {
  std::vector<Signature> all;
  for (const char* types : {"f16", "f16_f16", "bf16_bf16"})
    for (Signature s : all_signatures()) {
      s.types = parse_types(types);
      all.push_back(s);
    }
  all.push_back({.types = parse_types("f16xq4b32_f16"), .trans_b = Transpose::kYes});
  return all;
}

TEST(MatrixLoop, TheLoopOverKHasNoMasks) {
  for (const char* changes : kLoopKernels)
    for (const Signature& s : signatures()) {
      const Module module(compile(emit_gemm(changed(matrix_point(), changes), s)));
      const std::string what = std::string(changes) + " " + to_string(s);
      const std::set<std::string> called = called_in_loops(module, "run_k_loop");
      EXPECT_THAT(called, testing::IsSubsetOf({"fetch_tile_a", "fetch_tile_b", "put_tile_a",
                                               "put_tile_b", "tile_barrier", "multiply_tile"}))
          << what;
      for (const char* function : {"fetch_tile_a", "fetch_tile_b", "multiply_tile"}) {
        EXPECT_TRUE(called.contains(function)) << what;
        EXPECT_THAT(module.function(function), Not(IsEmpty())) << function << ": " << what;
        EXPECT_EQ(masks_in(module, function), 0) << function << ": " << what;
      }
      for (const char* function : {"fetch_last_tile_a", "fetch_last_tile_b"})
        EXPECT_GT(masks_in(module, function), 0) << "this test does not see masks: " << what;
    }
}

TEST(MatrixLoop, SumsAreIndexedByConstantsOnly) {
  for (const char* changes : kLoopKernels)
    for (const Signature& s : signatures()) {
      const Module module(compile(emit_gemm(changed(matrix_point(), changes), s)));
      int accesses = 0;
      EXPECT_THAT(unknown_indices(module, accesses), IsEmpty()) << changes << " " << to_string(s);
      EXPECT_GE(accesses, 4);
    }
}

/// Calls of multiply_tile in run_k_loop.
int copies_of_multiplication(const char* changes) {
  const Module module(
      compile(emit_gemm(changed(matrix_point(), changes), {.types = parse_types("f16")})));
  return static_cast<int>(
      std::ranges::count_if(module.function("run_k_loop"), [&](const Instruction& i) {
        return i.opcode == kOpFunctionCall && module.name(i.words[3]) == "multiply_tile";
      }));
}

TEST(MatrixLoop, TheLastTileHasACopyOfTheCodeWhereCompilersNeedIt) {
  EXPECT_EQ(copies_of_multiplication("subgroup_size=32"), 2);
  EXPECT_EQ(copies_of_multiplication("subgroup_size=16"), 2);
  EXPECT_EQ(copies_of_multiplication("subgroup_size=8 matrix_m=8 matrix_n=8"), 2);
  EXPECT_EQ(copies_of_multiplication("subgroup_size=8 matrix_m=8 matrix_n=8 matrix_k=8"), 1);
  EXPECT_EQ(copies_of_multiplication("subgroup_size=64"), 1);
  EXPECT_EQ(copies_of_multiplication("stages=2"), 3);
}

TEST(MatrixLoop, IndicesThatCompilersDoNotKnowAreFound) {
  const struct {
    const char* from;
    const char* to;
  } kBroken[] = {
      {"put_fragment(sums[i][j]", "put_fragment(sums[fragment][j]"},
      {"[[unroll]] for (uint j = 0; j < FRAGMENTS_N; ++j)\n        if (fragment",
       "for (uint j = 0; j < FRAGMENTS_N; ++j)\n        if (fragment"},
  };
  for (const auto& [from, to] : kBroken) {
    const Shader shader = changed(emit_gemm(matrix_point(), {parse_types("f16")}), from, to);
    int accesses = 0;
    EXPECT_THAT(unknown_indices(Module(compile(shader)), accesses), Not(IsEmpty())) << to;
  }
}

}  // namespace
}  // namespace rooftile
