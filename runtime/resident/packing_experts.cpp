#include "runtime/resident/packing_experts.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "generator/priors/default_kernel.h"
#include "runtime/kernel/step_time.h"
#include "runtime/tuned/certifiable_kernels.h"

namespace rooftile {
namespace {

/// The fastest kernel that packs B of those that were tuned for such groups; otherwise the best one
/// for one group that packs B and is legal for all of them.
std::optional<CertifiableKernel> packing_kernel(const Resident& resident, const BoundCall& bound) {
  const DeviceProfile& device = resident.device()->profile();
  const Problem& p = bound.problem;
  const KernelRanking& ranking = resident.ranking();
  const auto is_legal = [&](const Variant& v) {
    return v.packed_b == Packed::kYes && !illegal_reason(v, device.limits, p, bound.placement);
  };
  const auto use = [](const Variant& v) {
    return v.packed_b == Packed::kYes ? PrepackedOperand::Use::kReadsPacked
                                      : PrepackedOperand::Use::kNone;
  };
  if (ranking.has_class(p))
    for (const RankedChoice& tuned :
         ranking.ranked(p, bound.placement, device.limits,
                        PrepackedOperand{.operand = Operand::kB, .use = use}))
      if (is_legal(tuned.candidate->variant))
        return CertifiableKernel{tuned.candidate->variant, tuned.expected_ns};
  // As if all rows were one group: where many rows share a B, kernels pack it.
  Problem dense = retyped(one_product(p), p.types);
  dense.m = std::max<std::int64_t>(p.m, 1);
  for (const CertifiableKernel& kernel :
       certifiable_kernels(device, ranking, dense, own_buffers(dense), device.limits))
    if (is_legal(kernel.variant)) return CertifiableKernel{kernel.variant, kernel.expected_ns};
  return std::nullopt;
}

/// Where kernels that read panels do not care how B is stored, A and C have no place.
BoundCall bound_experts(const Resident& resident, const StoredOperand& stored) {
  ResidentCall call = stored.call;
  call.problem.m = std::max<std::int64_t>(call.problem.m, 1);
  call.groups = std::make_shared<const ResidentGroups>(ResidentGroups{.known = {{0, 1}}});
  BoundCall bound = bind(call, resident.device()->profile().limits);
  bound.placement.readable_a = own_buffers(call.problem).readable_a;
  return bound;
}

}  // namespace

std::shared_ptr<const PackedOperand> pack_experts(Resident& resident, const StoredOperand& stored,
                                                  std::uint64_t context) {
  const Problem& p = stored.call.problem;
  if (quantized(p.types))
    fail(ErrorCode::kUnsupported,
         "kernels read the blocks of quantised experts as stored: pass B itself instead");
  auto packed = std::make_shared<PackedOperand>(PackedOperand{.shape = shape_of(p, Operand::kB),
                                                              .context = context,
                                                              .device = resident.device(),
                                                              .forms = {},
                                                              .kernel = {}});
  if (p.n == 0 || p.k == 0)
    fail(ErrorCode::kInvalidArgument, "experts of {} x {} cannot be packed", p.k, p.n);
  const BoundCall bound = bound_experts(resident, stored);
  const auto chosen = packing_kernel(resident, bound);
  if (!chosen)
    fail(ErrorCode::kUnsupported,
         "no kernel for {} on {} reads packed experts: pass B itself instead", to_string(p),
         resident.device()->profile().name);
  const Variant& variant = chosen->variant;
  const Signature signature = signature_of(p);
  const auto kernel = resident.kernels().certified({.hash = emit_gemm(variant, signature).hash,
                                                    .signature = to_string(signature),
                                                    .variant = variant},
                                                   signature);
  const PackedFormat format = packed_format(variant, p, Operand::kB).value();
  const auto bytes =
      static_cast<std::uint64_t>(format.words() * p.grouping.experts) * sizeof(float);
  PackedForm form = {.panels = format, .values = resident.create_memory(bytes)};
  Segments segments;
  segments.add(ResidentProduct(resident.device(), kernel, bound, 0, kStepNs)
                   .packing_steps(Operand::kB, form.values->buffer),
               0);
  RunContents contents;
  contents.keeps.push_back(kernel);
  contents.lists = resident.record(segments, Resubmission::kWhenFinished);
  std::vector<CommandList*> lists;
  for (CommandList& list : contents.lists) lists.push_back(&list);
  MemoryUses uses = stored.uses;
  uses.push_back(form.values);
  const std::shared_ptr<Run> run = resident.submit(lists, std::move(contents), uses);
  resident.wait_for(*run);
  packed->forms.push_back(std::move(form));
  packed->kernel = short_name(variant);
  packed->experts_kernel =
      PackedOperand::ExpertsKernel{variant, chosen->expected_ns / std::max(flops(p), 1.0)};
  return packed;
}

}  // namespace rooftile
