#include "runtime/kernel.h"

#include "core/error.h"
#include "generator/emit.h"
#include "runtime/device/push_constants.h"

namespace rooftile {
namespace {

// lavapipe 22.3 compiles once more for texel buffers whose size has none of bits 8 to 15: those of
// 64 KiB and more, in powers of two as the pool hands them out.
constexpr std::uint64_t kWarmUpBytes = 64 << 10;

/// Adds the epilogue's operands to a step that stores C.
void fuse(DispatchStep& step, const Operands& operands, const EpiloguePushConstants& constants) {
  // A part that is not there is declared and never read: any buffer may stand for it.
  step.bindings.push_back({operands.vectors != nullptr ? operands.vectors : operands.c});
  step.bindings.push_back({operands.residual != nullptr ? operands.residual : operands.c});
  const std::vector<std::byte> bytes = bytes_of_block(constants);
  step.push_constants.insert(step.push_constants.end(), bytes.begin(), bytes.end());
}

/// Adds a quantised B's operands to a step that reads it.
void add_quantization(DispatchStep& step, const Types& types, const Operands& operands) {
  step.bindings.push_back({operands.scales});
  if (types.b.zero_point != ZeroPoint::kMiddle) step.bindings.push_back({operands.zero_points});
}

Pipeline build(Device& device, const Shader& shader, const ShaderCache& cache) {
  return device.create_pipeline(cache.spirv(shader), shader.interface);
}

}  // namespace

Kernel::Kernel(std::shared_ptr<Device> device, const Variant& variant, const Signature& signature,
               const ShaderCache& cache)
    : device_(std::move(device)), variant_(variant), signature_(signature) {
  if (const auto reason = illegal_reason(variant, device_->profile().limits, signature))
    fail(ErrorCode::kUnsupported, "kernel '{}' cannot run on {}: {}", short_name(variant),
         device_->profile().name, *reason);
  const Shader gemm = emit_gemm(variant, signature);
  hash_ = gemm.hash;
  gemm_ = build(*device_, gemm, cache);
  if (variant.packed_a == Packed::kYes)
    pack_a_ = build(*device_, emit_pack(variant, signature, Operand::kA), cache);
  if (variant.packed_b == Packed::kYes)
    pack_b_ = build(*device_, emit_pack(variant, signature, Operand::kB), cache);
  if (variant.split_k > 1) reduce_ = build(*device_, emit_reduce(signature), cache);
}

void Kernel::warm_up(double timeout_ns) const {
  // Nobody looks at what is in it.
  const Buffer anything = device_->create_buffer(kWarmUpBytes, BufferUse::kDevice);
  std::vector<Step> steps;
  const auto add = [&](const Pipeline& pipeline) {
    const ShaderInterface& interface = pipeline.interface();
    steps.emplace_back(DispatchStep{
        .pipeline = &pipeline,
        .bindings = std::vector<BufferRange>(interface.bindings.size(), {.buffer = &anything}),
        .push_constants = std::vector<std::byte>(interface.push_constants_bytes),
        .groups = {0, 1, 1}});
  };
  add(gemm_);
  for (const std::optional<Pipeline>* more : {&pack_a_, &pack_b_, &reduce_}) {
    if (!*more) continue;
    steps.emplace_back(BarrierStep{});  // they name the same buffer
    add(**more);
  }
  CommandList list = device_->record(steps);
  device_->run(list, timeout_ns);
}

GemmPlan Kernel::plan(const Problem& p, const Placement& placement, double max_flops) const {
  const DeviceLimits& limits = device_->profile().limits;
  if (const auto reason = illegal_reason(variant_, limits, p, placement))
    fail(ErrorCode::kUnsupported, "kernel '{}' cannot run {}: {}", short_name(variant_),
         to_string(p), *reason);
  return plan_gemm(variant_, limits, p, placement, max_flops);
}

std::vector<Step> Kernel::pack_steps(const GemmPlan& plan, const Operands& operands,
                                     const Workspace& workspace) const {
  std::vector<Step> steps;
  if (plan.clear_parts) steps.emplace_back(ClearStep{{workspace.parts}});
  for (const PackStep& pack : plan.packs) {
    const bool is_a = pack.operand == Operand::kA;
    DispatchStep step{.pipeline = is_a ? &*pack_a_ : &*pack_b_,
                      .bindings = {{is_a ? operands.a : operands.b},
                                   {is_a ? workspace.packed_a : workspace.packed_b}},
                      .push_constants = bytes_of_block(pack.push_constants),
                      .groups = pack.groups};
    if (!is_a && quantized(signature_.types)) add_quantization(step, signature_.types, operands);
    steps.emplace_back(std::move(step));
  }
  if (!steps.empty()) steps.emplace_back(BarrierStep{});
  return steps;
}

std::vector<Step> Kernel::gemm_steps(const GemmPlan& plan, const Operands& operands,
                                     const Workspace& workspace) const {
  const bool split = workspace.parts != nullptr;
  std::vector<Step> steps;
  for (const GemmStep& gemm : plan.gemms) {
    DispatchStep step{
        .pipeline = &gemm_,
        .bindings = {{workspace.packed_a != nullptr ? workspace.packed_a : operands.a},
                     {workspace.packed_b != nullptr ? workspace.packed_b : operands.b},
                     {split ? workspace.parts : operands.c}},
        .push_constants = bytes_of_block(gemm.push_constants),
        .groups = gemm.groups};
    if (quantized(signature_.types) && variant_.packed_b == Packed::kNo)
      add_quantization(step, signature_.types, operands);
    if (any(signature_.epilogue) && variant_.split_k == 1) fuse(step, operands, gemm.epilogue);
    steps.emplace_back(std::move(step));
  }
  return steps;
}

std::vector<Step> Kernel::reduce_steps(const GemmPlan& plan, const Operands& operands,
                                       const Workspace& workspace) const {
  std::vector<Step> steps;
  if (plan.reduces.empty()) return steps;
  steps.emplace_back(BarrierStep{});
  for (const ReduceStep& reduce : plan.reduces) {
    DispatchStep step{.pipeline = &*reduce_,
                      .bindings = {{workspace.parts}, {operands.c}},
                      .push_constants = bytes_of_block(reduce.push_constants),
                      .groups = reduce.groups};
    if (any(signature_.epilogue)) fuse(step, operands, reduce.epilogue);
    steps.emplace_back(std::move(step));
  }
  return steps;
}

}  // namespace rooftile
