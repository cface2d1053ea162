#include "web/engine/programs.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/quantized.h"
#include "core/round.h"
#include "generator/emit.h"
#include "generator/layout.h"
#include "generator/plan.h"

namespace rooftile::web {
namespace {

// Kernels access storage buffers in vectors of up to 16 bytes.

void add_words(Json& words, const std::vector<std::byte>& block) {
  std::uint32_t word;
  for (std::size_t at = 0; at < block.size(); at += sizeof word) {
    std::memcpy(&word, block.data() + at, sizeof word);
    words.push_back(word);
  }
}

class Programs {
 public:
  Programs(const Variant& v, const Problem& p, const Placement& placement)
      : v_(v), p_(p), s_(signature_of(p)), placement_(placement) {}

  Json of(const GemmPlan& plan);

 private:
  std::size_t add_program(const char* role, const Shader& shader);
  void add_quantization(Json& buffers) const;
  Json gemm_buffers(const GemmPlan& plan) const;
  void add_packs(const GemmPlan& plan);
  void add_gemms(const GemmPlan& plan);
  void add_reduces(const GemmPlan& plan);
  void add_step(std::size_t program, const std::array<std::uint32_t, 3>& groups, Json buffers,
                Json words);
  Json bytes(const GemmPlan& plan) const;

  const Variant& v_;
  const Problem& p_;
  const Signature s_;
  const Placement& placement_;
  Json programs_ = Json::array(), steps_ = Json::array();
};

std::size_t Programs::add_program(const char* role, const Shader& shader) {
  programs_.push_back({{"role", role},
                       {"glsl", shader.glsl},
                       {"hash", shader.hash},
                       {"bindings", shader.interface.bindings.size()},
                       {"parameter_bytes", shader.interface.push_constants_bytes}});
  return programs_.size() - 1;
}

void Programs::add_step(std::size_t program, const std::array<std::uint32_t, 3>& groups,
                        Json buffers, Json words) {
  steps_.push_back({{"program", program},
                    {"groups", groups},
                    {"buffers", std::move(buffers)},
                    {"parameters", std::move(words)}});
}

void Programs::add_quantization(Json& buffers) const {
  if (!has_separate_scales(p_.types)) return;
  buffers.push_back("scales");
  if (p_.types.b.zero_point != ZeroPoint::kMiddle) buffers.push_back("zero_points");
}

void Programs::add_packs(const GemmPlan& plan) {
  for (const PackStep& pack : plan.packs) {
    const bool is_a = pack.operand == Operand::kA;
    const std::size_t program =
        add_program(is_a ? "pack_a" : "pack_b", emit_pack(v_, s_, pack.operand, Dialect::kWeb));
    Json buffers = is_a ? Json{"a", "packed_a"} : Json{"b", "packed_b"}, words;
    if (!is_a && quantized(p_.types)) add_quantization(buffers);
    add_words(words, shader_block(pack.push_constants, p_.types));
    add_step(program, pack.groups, std::move(buffers), std::move(words));
  }
}

Json Programs::gemm_buffers(const GemmPlan& plan) const {
  Json buffers = {plan.packed_a_words > 0 ? "packed_a" : "a",
                  plan.packed_b_words > 0 ? "packed_b" : "b", plan.part_words > 0 ? "parts" : "c"};
  if (quantized(p_.types) && v_.packed_b == Packed::kNo) add_quantization(buffers);
  return buffers;
}

void Programs::add_gemms(const GemmPlan& plan) {
  const std::size_t program = add_program("gemm", emit_gemm(v_, s_, Dialect::kWeb));
  for (const GemmStep& gemm : plan.gemms) {
    Json words;
    add_words(words, shader_block(gemm.push_constants, p_.types));
    add_step(program, gemm.groups, gemm_buffers(plan), std::move(words));
  }
}

void Programs::add_reduces(const GemmPlan& plan) {
  if (plan.reduces.empty()) return;
  const std::size_t program = add_program("reduce", emit_reduce(s_, Dialect::kWeb));
  for (const ReduceStep& reduce : plan.reduces) {
    Json words;
    add_words(words, shader_block(reduce.push_constants, p_.types));
    add_step(program, reduce.groups, {"parts", "c"}, std::move(words));
  }
}

Json Programs::bytes(const GemmPlan& plan) const {
  const auto whole = [](std::int64_t bytes) {
    return round_up(std::max<std::int64_t>(bytes, 1), kWidestLoadBytes);
  };
  const Types& t = p_.types;
  constexpr std::int64_t kWordBytes = 4;  // Panels and partial sums are counted in words.
  Json bytes = {{"a", whole((placement_.offset_a + placement_.readable_a) * bytes_of(t.a))},
                {"b", whole(bytes_of_b(t, placement_.offset_b + placement_.readable_b))},
                {"c", whole((placement_.offset_c + span_c(p_)) * bytes_of(t.c))}};
  const auto add = [&](const char* name, std::int64_t size) {
    if (size > 0) bytes[name] = whole(size);
  };
  add("packed_a", plan.packed_a_words * kWordBytes);
  add("packed_b", plan.packed_b_words * kWordBytes);
  add("parts", plan.part_words * kWordBytes);
  if (quantized(t)) {
    const QuantizedBytes parts = quantized_bytes(p_);
    add("scales", parts.scales);
    add("zero_points", parts.zero_points);
  }
  return bytes;
}

Json Programs::of(const GemmPlan& plan) {
  add_packs(plan);
  add_gemms(plan);
  add_reduces(plan);
  return {{"programs", std::move(programs_)},
          {"steps", std::move(steps_)},
          {"bytes", bytes(plan)},
          {"clear", plan.clear_parts}};
}

}  // namespace

Json programs_of(const Variant& v, const DeviceLimits& limits, const Problem& p,
                 const Placement& placement) {
  if (const auto reason = illegal_reason(v, limits, p, placement))
    fail(ErrorCode::kUnsupported, "kernel '{}' cannot run {}: {}", short_name(v), to_string(p),
         *reason);
  return Programs(v, p, placement).of(plan_gemm(v, limits, p, placement));
}

}  // namespace rooftile::web
