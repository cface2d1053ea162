// Kernels must not read uninitialised variables. With unrolled loops and variables in registers,
// such a read is an undefined value in SPIR-V, for which a driver may use the register's previous
// contents.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "generator/compile.h"
#include "generator/rules.h"
#include "generator/space.h"
#include "in_registers.h"
#include "test_limits.h"

namespace rooftile {
namespace {

int undefined_reads(const std::string& text) {
  std::set<std::string> undefined;
  int reads = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, result;
    for (int i = 0; words >> word; ++i) {
      if (i == 0) result = word;
      if (i == 2 && word == "OpUndef") undefined.insert(result);
      if (i > 2 && undefined.contains(word)) ++reads;
    }
  }
  return reads;
}

class Uninitialised : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Uninitialised, NoKernelReadsWhatNothingHasWritten) {
  const auto& [types, transposes] = GetParam();
  const Signature signature{.types = parse_types(types),
                            .trans_a = transposes[0] == 't' ? Transpose::kYes : Transpose::kNo,
                            .trans_b = transposes[1] == 't' ? Transpose::kYes : Transpose::kNo};
  constexpr std::size_t kStep = 149;  // A prime, so that the sample meets all values of parameters.
  std::size_t seen = 0, checked = 0;
  for (const Variant& v : legal_variants(lavapipe_limits())) {
    if (illegal_reason(v, lavapipe_limits(), signature)) continue;
    if (seen++ % kStep != 0) continue;
    ++checked;
    EXPECT_EQ(undefined_reads(in_registers(compile(emit_gemm(v, signature)))), 0) << to_string(v);
  }
  EXPECT_GT(checked, 5u);
}

INSTANTIATE_TEST_SUITE_P(Types, Uninitialised,
                         testing::Values(std::pair("f32", "nn"), std::pair("f32", "tt"),
                                         std::pair("f16_f16", "nt"), std::pair("i8_i32", "tn"),
                                         std::pair("f16xq4b16z_f16", "tt"),
                                         std::pair("f32xq8b32", "nt")));

}  // namespace
}  // namespace rooftile
