// Writes the kernels of web_cases() into a folder, as SPIR-V, and what to run as cases.json:
//   web_kernels FOLDER [f16] [subgroup=LANES] [dot]
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <span>

#include "core/error.h"
#include "generator/compile.h"
#include "generator/layout.h"
#include "generator/plan.h"
#include "web_cases.h"

namespace rooftile {
namespace {

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ",", name);
  return text;
}

/// Writes each kernel once.
class Kernels {
 public:
  explicit Kernels(std::string folder) : folder_(std::move(folder)) {}

  std::string file(const Shader& shader) {
    const std::string name = fmt::format("{}.spv", shader.hash);
    if (written_.emplace(name, true).second) {
      const std::vector<std::uint32_t> words = compile(shader);
      std::ofstream(fmt::format("{}/{}", folder_, name), std::ios::binary)
          .write(reinterpret_cast<const char*>(words.data()),
                 static_cast<std::streamsize>(words.size() * sizeof(std::uint32_t)));
    }
    return name;
  }

 private:
  std::string folder_;
  std::map<std::string, bool> written_;
};

std::string step_text(const std::string& file, const std::vector<std::string>& bindings,
                      const std::string& parameters, const std::array<std::uint32_t, 3>& groups) {
  return fmt::format(R"({{"kernel":"{}","bindings":[{}],"parameters":"{}","groups":[{},{},{}]}})",
                     file, quoted(bindings), parameters, groups[0], groups[1], groups[2]);
}

void append_quantization(std::vector<std::string>& bindings, const Types& t) {
  bindings.emplace_back("scales");
  if (t.b.zero_point != ZeroPoint::kMiddle) bindings.emplace_back("zero_points");
}

Shader mutated(Shader shader, const WebCase& c) {
  const auto& [from, to] = c.mutation;
  if (from.empty()) return shader;
  const std::size_t at = shader.glsl.find(from);
  if (at == std::string::npos)
    fail(ErrorCode::kInternal, "{} has no '{}'", short_name(c.variant), from);
  shader.glsl.replace(at, from.size(), to);
  shader.hash = shader_hash("", shader.glsl, shader.optimization);
  return shader;
}

std::vector<std::string> steps_of(const WebCase& c, const GemmPlan& plan, Kernels& kernels) {
  const Signature s = signature_of(c.p);
  const bool parts = plan.part_words > 0, epilogue = any(s.epilogue);
  std::vector<std::string> steps;
  for (const PackStep& step : plan.packs) {
    const bool is_a = step.operand == Operand::kA;
    std::vector<std::string> bindings = {is_a ? "a" : "b", is_a ? "packed_a" : "packed_b"};
    if (!is_a && quantized(s.types)) append_quantization(bindings, s.types);
    steps.push_back(step_text(kernels.file(emit_pack(c.variant, s, step.operand, Dialect::kWeb)),
                              bindings, hex_of(shader_block(step.push_constants, s.types)),
                              step.groups));
  }
  const Shader gemm = mutated(emit_gemm(c.variant, s, Dialect::kWeb), c);
  const bool fused = epilogue && c.variant.split_k == 1;
  for (const GemmStep& step : plan.gemms) {
    std::vector<std::string> bindings = {plan.packed_a_words > 0 ? "packed_a" : "a",
                                         plan.packed_b_words > 0 ? "packed_b" : "b",
                                         parts ? "parts" : "c"};
    if (reads_quantized(c.variant, s)) append_quantization(bindings, s.types);
    if (fused) bindings.insert(bindings.end(), {"vectors", "residual"});
    steps.push_back(
        step_text(kernels.file(gemm), bindings,
                  hex_of(shader_block(step.push_constants, s.types)) +
                      (fused ? hex_of(std::as_bytes(std::span(&step.epilogue, 1))) : ""),
                  step.groups));
  }
  for (const ReduceStep& step : plan.reduces) {
    std::vector<std::string> bindings = {"parts", "c"};
    if (epilogue) bindings.insert(bindings.end(), {"vectors", "residual"});
    steps.push_back(
        step_text(kernels.file(emit_reduce(s, Dialect::kWeb)), bindings,
                  hex_of(shader_block(step.push_constants, s.types)) +
                      (epilogue ? hex_of(std::as_bytes(std::span(&step.epilogue, 1))) : ""),
                  step.groups));
  }
  return steps;
}

std::string case_text(const WebCase& c, const DeviceLimits& limits, Kernels& kernels) {
  const Problem& p = c.p;
  const Types& t = p.types;
  const GemmPlan plan = plan_gemm(c.variant, limits, p, c.at);
  std::string text = fmt::format(
      R"({{"name":"{}; {}; {}","type_a":"{}","type_c":"{}","f16_sums":{},"quant_bits":{},"quant_block":{},"zero_point":{})",
      short_name(c.variant), to_string(signature_of(p)), to_string(p), name(t.a), name(t.c),
      t.sums == Sums::kF16, t.b.bits, t.b.block, static_cast<int>(t.b.zero_point));
  const auto number = [&](const char* key, auto value) {
    text += fmt::format(R"(,"{}":{})", key, value);
  };
  number("m", p.m), number("n", p.n), number("k", p.k), number("batch", p.batch);
  number("trans_a", p.trans_a == Transpose::kYes), number("trans_b", p.trans_b == Transpose::kYes);
  number("lda", p.lda), number("ldb", p.ldb), number("ldc", p.ldc);
  number("stride_a", p.stride_a), number("stride_b", p.stride_b), number("stride_c", p.stride_c);
  number("alpha", p.alpha), number("beta", p.beta);
  number("offset_a", c.at.offset_a), number("offset_b", c.at.offset_b);
  number("offset_c", c.at.offset_c);
  number("elements_a", c.at.offset_a + c.at.readable_a);
  number("elements_b", c.at.offset_b + c.at.readable_b);
  number("elements_c", c.at.offset_c + span_c(p));
  number("offset_row_scale", c.at.offset_row_scale);
  number("offset_column_scale", c.at.offset_column_scale);
  number("offset_bias", c.at.offset_bias);
  number("ld_residual", c.at.ld_residual), number("stride_residual", c.at.stride_residual);
  number("vectors", epilogue_elements(p).vectors);
  number("residual", epilogue_elements(p).residual);
  number("packed_a", plan.packed_a_words), number("packed_b", plan.packed_b_words);
  number("parts", plan.part_words), number("split_k", c.variant.split_k);
  const Epilogue& e = p.epilogue;
  number("row_scale", e.row_scale), number("column_scale", e.column_scale);
  number("bias", static_cast<int>(e.bias)), number("activation", static_cast<int>(e.activation));
  number("mutant", !c.mutation.first.empty());
  text += R"(,"steps":[)";
  bool first = true;
  for (const std::string& step : steps_of(c, plan, kernels)) {
    text += fmt::format("{}{}", first ? "" : ",", step);
    first = false;
  }
  return text + "]}";
}

int write_kernels(const std::string& folder, std::span<char*> features) {
  WebGpuAdapter adapter;
  for (const std::string_view feature : features) {
    if (feature == "f16") adapter.shader_f16 = true;
    if (feature == "dot") adapter.packed_4x8_integer_dot_product = true;
    if (feature.starts_with("subgroup=")) {
      adapter.subgroups = true;
      adapter.subgroup_min_size = adapter.subgroup_max_size =
          static_cast<std::uint32_t>(std::atoi(feature.substr(9).data()));
    }
  }
  const DeviceLimits limits = webgpu_limits(adapter);
  Kernels kernels(folder);
  std::ofstream json(folder + "/cases.json");
  json << "[";
  const char* separator = "\n";
  for (const WebCase& c : web_cases(limits)) {
    json << separator << case_text(c, limits, kernels);
    separator = ",\n";
  }
  json << "\n]\n";
  return json.flush() ? 0 : 1;
}

}  // namespace
}  // namespace rooftile

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: web_kernels FOLDER [f16] [subgroup=LANES] [dot]\n");
    return 2;
  }
  try {
    return rooftile::write_kernels(argv[1],
                                   std::span(argv + 2, static_cast<std::size_t>(argc - 2)));
  } catch (const std::exception& error) {
    fmt::print(stderr, "web_kernels: {}\n", error.what());
    return 1;
  }
}
