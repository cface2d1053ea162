#include "runtime/kernel/kernel.h"

#include <bit>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "generator/emit.h"
#include "runtime/device/push_constants.h"
#include "runtime/device/ranges.h"
#include "runtime/support/background.h"

namespace rooftile {
namespace {

/// A small buffer that stands in for an operand. lavapipe compiles again for imported memory that
/// differs from other buffers in one of the two properties of runtime/device/ranges.h.
class StandIn {
 public:
  StandIn(Device& device, const BoundOperand& like) {
    if (like.imported_bytes == 0) {
      buffer_ = device.create_buffer(kPowerOfTwo, BufferUse::kDevice);
      return;
    }
    const std::uint64_t whole = std::has_single_bit(like.imported_bytes) ? kPowerOfTwo : kOther;
    const bool has_middle_bits =
        (texel_view_bytes(like.bound_bytes, like.imported_bytes, like.imported_bytes) &
         kViewLevelBits) != 0;
    buffer_ = device.create_buffer(whole, BufferUse::kDevice, BufferSize::kExact);
    bound_bytes_ = has_middle_bits ? whole - kLoadBytes : whole;
  }
  BufferRange range() const { return {.buffer = &buffer_, .size_bytes = bound_bytes_}; }

 private:
  static constexpr std::uint64_t kPowerOfTwo = 64 << 10, kOther = 192 << 10, kLoadBytes = 16;
  Buffer buffer_;  // The content is not used.
  std::uint64_t bound_bytes_ = kPowerOfTwo;
};

/// Adds the epilogue's operands to a step that stores C.
void fuse(DispatchStep& step, const Operands& operands, const EpiloguePushConstants& constants,
          const Types& types) {
  // The shader declares operands that are absent but never reads them, so any buffer may be bound.
  step.bindings.push_back({operands.vectors != nullptr ? operands.vectors : operands.c});
  step.bindings.push_back({operands.residual != nullptr ? operands.residual : operands.c});
  const std::vector<std::byte> bytes = shader_block(constants, types);
  step.push_constants.insert(step.push_constants.end(), bytes.begin(), bytes.end());
}

/// Adds the scales and zero points of a quantised B to a step that reads it.
void add_quantization(DispatchStep& step, const Types& types, const Operands& operands) {
  if (!has_separate_scales(types)) return;
  step.bindings.push_back({operands.scales});
  if (types.b.zero_point != ZeroPoint::kMiddle) step.bindings.push_back({operands.zero_points});
}

Pipeline build(Device& device, const Shader& shader, const ShaderCache& cache) {
  return device.create_pipeline(cache.spirv(shader), shader.interface);
}

/// Runs work on another thread, or in finish() where no thread can be created. Objects that the
/// work refers to must outlive this object.
class Meanwhile {
 public:
  explicit Meanwhile(std::function<void()> work) : work_(std::move(work)) {
    if (!work_) return;
    try {
      thread_ = thread_without_signals([this](const std::stop_token&) { run(); });
    } catch (const std::system_error&) {  // No thread can be created.
    }
  }
  /// Waits for the work and throws its exception, if any.
  void finish() {
    if (thread_.joinable())
      thread_.join();
    else if (work_)
      run();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  void run() noexcept {
    try {
      work_();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  std::function<void()> work_;
  std::exception_ptr failure_;
  std::jthread thread_;  // The last member, because the thread uses the others.
};

}  // namespace

Kernel::Kernel(std::shared_ptr<Device> device, const Variant& variant, const Signature& signature,
               const ShaderCache& cache, SumsIn sums)
    : device_(std::move(device)), variant_(variant), signature_(signature), sums_(sums) {
  const Signature compiled = compiled_signature(signature, sums);
  if (const auto reason = illegal_reason(variant, device_->profile().limits, compiled))
    fail(ErrorCode::kUnsupported, "kernel '{}' cannot run on {}: {}", short_name(variant),
         device_->profile().name, *reason);
  const Shader gemm = emit_gemm(variant, compiled);
  hash_ = gemm.hash;
  const bool packs_a = variant.packed_a == Packed::kYes, packs_b = variant.packed_b == Packed::kYes,
             reduces = variant.split_k > 1 || sums == SumsIn::kWorkspace;
  const auto build_others = [&] {
    if (packs_a) pack_a_ = build(*device_, emit_pack(variant, compiled, Operand::kA), cache);
    if (packs_b) pack_b_ = build(*device_, emit_pack(variant, compiled, Operand::kB), cache);
    if (reduces) reduce_ = build(*device_, emit_reduce(signature), cache);
    if (signature.grouped) group_tiles_ = build(*device_, emit_group_tiles(), cache);
  };
  // Measured on lavapipe with warm caches: 16 ms for a packed kernel with 16x8 registers, 4 ms for
  // either of the others.
  const bool has_others = packs_a || packs_b || reduces || signature.grouped;
  Meanwhile others(has_others ? build_others : std::function<void()>());
  gemm_ = build(*device_, gemm, cache);
  others.finish();
}

void Kernel::warm_up(double timeout_ns, const BoundOperands& like) const {
  const StandIn a(*device_, like.a), b(*device_, like.b), own(*device_, {});
  std::vector<Step> steps;
  const auto add = [&](const Pipeline& pipeline, std::vector<BufferRange> first) {
    const ShaderInterface& interface = pipeline.interface();
    // The barrier is needed because the steps use the same buffers.
    if (!steps.empty()) steps.emplace_back(BarrierStep{});
    first.resize(interface.bindings.size(), own.range());
    steps.emplace_back(
        DispatchStep{.pipeline = &pipeline,
                     .bindings = std::move(first),
                     .push_constants = std::vector<std::byte>(interface.push_constants_bytes),
                     .groups = {0, 1, 1}});
  };
  add(gemm_, {pack_a_ ? own.range() : a.range(), pack_b_ ? own.range() : b.range()});
  if (pack_a_) add(*pack_a_, {a.range()});
  if (pack_b_) add(*pack_b_, {b.range()});
  if (reduce_) add(*reduce_, {});
  if (group_tiles_) add(*group_tiles_, {});
  CommandList list = device_->record(steps);
  device_->run(list, timeout_ns);
}

GemmPlan Kernel::plan(const Problem& p, const Placement& placement, double max_flops) const {
  const DeviceLimits& limits = device_->profile().limits;
  if (const auto reason = illegal_reason(variant_, limits, p, placement, sums_))
    fail(ErrorCode::kUnsupported, "kernel '{}' cannot run {}: {}", short_name(variant_),
         to_string(p), *reason);
  return plan_gemm(variant_, limits, p, placement, max_flops, sums_);
}

GemmPlan Kernel::plan_grouped(const Problem& p, const Placement& placement, std::int64_t tiles,
                              double max_flops) const {
  const DeviceLimits& limits = device_->profile().limits;
  if (const auto reason = illegal_reason(variant_, limits, p, placement))
    fail(ErrorCode::kUnsupported, "kernel '{}' cannot run {}: {}", short_name(variant_),
         to_string(p), *reason);
  return rooftile::plan_grouped(variant_, limits, p, placement, tiles, max_flops);
}

Step Kernel::group_tiles_step(const Problem& p, std::int64_t tiles, const GroupSizes& groups,
                              const Buffer& list) const {
  const GroupTilesStep step =
      plan_group_tiles(variant_, device_->profile().limits, p, tiles, groups.experts != nullptr);
  return DispatchStep{.pipeline = &*group_tiles_,
                      .bindings = {{groups.sizes},
                                   {groups.experts != nullptr ? groups.experts : groups.sizes},
                                   {&list},
                                   {groups.status}},
                      .push_constants = bytes_of_block(step.push_constants),
                      .groups = step.groups};
}

KernelSteps Kernel::steps(const GemmPlan& plan, const Operands& operands,
                          const Workspace& workspace) const {
  const bool reads_quantized = quantized(signature_.types), fuses = any(signature_.epilogue);
  KernelSteps made;
  std::vector<Step>& steps = made.steps;
  if (plan.clear_parts) steps.emplace_back(ClearStep{{workspace.parts}});
  for (const PackStep& pack : plan.packs) {
    const bool is_a = pack.operand == Operand::kA;
    DispatchStep step{.pipeline = is_a ? &*pack_a_ : &*pack_b_,
                      .bindings = {{is_a ? operands.a : operands.b},
                                   {is_a ? workspace.packed_a : workspace.packed_b,
                                    static_cast<std::uint64_t>(pack.first_word) * sizeof(float),
                                    static_cast<std::uint64_t>(pack.words) * sizeof(float)}},
                      .push_constants = bytes_of_block(pack.push_constants),
                      .groups = pack.groups};
    if (!is_a && reads_quantized) add_quantization(step, signature_.types, operands);
    if (is_a && signature_.grouped) step.bindings.push_back({operands.group_tiles});
    steps.emplace_back(std::move(step));
  }
  if (!steps.empty()) steps.emplace_back(BarrierStep{});
  made.first_gemm = steps.size();
  for (const GemmStep& gemm : plan.gemms) {
    if (gemm.adds) steps.emplace_back(BarrierStep{});
    DispatchStep step{
        .pipeline = &gemm_,
        .bindings = {{workspace.packed_a != nullptr ? workspace.packed_a : operands.a},
                     {workspace.packed_b != nullptr ? workspace.packed_b : operands.b},
                     {workspace.parts != nullptr ? workspace.parts : operands.c}},
        .push_constants = shader_block(gemm.push_constants, signature_.types),
        .groups = gemm.groups};
    if (reads_quantized && variant_.packed_b == Packed::kNo)
      add_quantization(step, signature_.types, operands);
    if (fuses && !reduce_) fuse(step, operands, gemm.epilogue, signature_.types);
    if (signature_.grouped) step.bindings.push_back({operands.group_tiles});
    steps.emplace_back(std::move(step));
  }
  made.gemms = steps.size() - made.first_gemm;
  if (!plan.reduces.empty()) steps.emplace_back(BarrierStep{});
  for (const ReduceStep& reduce : plan.reduces) {
    DispatchStep step{.pipeline = &*reduce_,
                      .bindings = {{workspace.parts}, {operands.c}},
                      .push_constants = shader_block(reduce.push_constants, signature_.types),
                      .groups = reduce.groups};
    if (fuses) fuse(step, operands, reduce.epilogue, signature_.types);
    steps.emplace_back(std::move(step));
  }
  return made;
}

std::vector<std::vector<Step>> submissions_of(KernelSteps kernel) {
  std::vector<std::vector<Step>> submissions(1);
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
    const bool gemm = i > kernel.first_gemm && i < kernel.first_gemm + kernel.gemms &&
                      std::holds_alternative<DispatchStep>(kernel.steps[i]);
    if (gemm) submissions.emplace_back();
    submissions.back().push_back(std::move(kernel.steps[i]));
  }
  return submissions;
}

}  // namespace rooftile
