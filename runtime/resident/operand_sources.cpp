#include "runtime/resident/operand_sources.h"

#include "core/error.h"
#include "runtime/resident/device_memory.h"

namespace rooftile {
namespace {

/// The call with its packed operand where that is kept as stored.
ResidentCall with_stored(const ResidentCall& call, const PackedForm& form, Operand operand) {
  const auto region = [](const std::shared_ptr<DeviceMemory>& memory) {
    return memory == nullptr ? Region{} : Region{&memory->buffer, 0};
  };
  ResidentCall changed = call;
  if (operand == Operand::kA) {
    changed.a = region(form.values);
    changed.problem.lda = form.ld;
    return changed;
  }
  changed.b = region(form.values);
  changed.problem.ldb = form.ld;
  changed.scales = region(form.scales);
  changed.zero_points = region(form.zero_points);
  return changed;
}

bool has_place(const ResidentCall& call, Operand operand) {
  return (operand == Operand::kA ? call.a : call.b).buffer != nullptr;
}

}  // namespace

OperandSources::OperandSources(const ResidentCall& call, const Device& device,
                               const DeviceLimits& limits) {
  if (call.packed == nullptr || !reads_operands(call.problem)) {
    stored_ = bind(call, limits);
    return;
  }
  packed_ = call.packed.get();
  if (packed_->device.get() != &device)
    fail(ErrorCode::kInvalidArgument,
         "the operand was packed for another device, or on another context: pack it on this one, "
         "with rooftile_resident_pack where the device is the program's own");
  const Operand operand = packed_->shape.operand;
  const PackedForm* const form = packed_->stored();
  has_stored_ = form != nullptr || has_place(call, operand);
  stored_ = bind(form != nullptr ? with_stored(call, *form, operand) : call, limits);
  if (has_stored_) return;
  // Rules about how it is stored do not matter to kernels that read its panels.
  const Placement own = own_buffers(call.problem);
  Placement& at = stored_.placement;
  (operand == Operand::kA ? at.readable_a : at.readable_b) =
      operand == Operand::kA ? own.readable_a : own.readable_b;
}

BoundCall OperandSources::bound_for(const Variant& v) const {
  BoundCall bound = stored_;
  if (packed_ == nullptr) return bound;
  const PackedForm* const form = packed_->panels_for(v, bound.problem);
  if (form == nullptr) return bound;
  bound.panels = &form->values->buffer;
  bound.packed = packed_->shape.operand;
  return bound;
}

}  // namespace rooftile
