#include "runtime/call/packed_operand.h"

#include <algorithm>

#include "core/error.h"

namespace rooftile {
PackedShape shape_of(const Problem& p, Operand operand) {
  if (operand == Operand::kA)
    return {
        .operand = operand, .type = p.types.a, .transpose = p.trans_a, .rows = p.m, .columns = p.k};
  return {.operand = operand,
          .type = p.types.a,
          .quantization = p.types.b,
          .transpose = p.trans_b,
          .rows = p.k,
          .columns = p.n,
          .experts = p.grouping.experts};
}

std::string to_string(const PackedShape& shape, Layout layout) {
  const bool swapped = layout == Layout::kColumnMajor;
  const bool is_a = (shape.operand == Operand::kA) != swapped;
  Types types{.a = shape.type, .b = shape.quantization};
  types.c = sum_type(types);
  return fmt::format("{} of {} x {} {}{}{}", is_a ? 'A' : 'B', swapped ? shape.columns : shape.rows,
                     swapped ? shape.rows : shape.columns,
                     shape.quantization.bits > 0 ? to_string(types) : std::string(name(shape.type)),
                     shape.transpose == Transpose::kYes ? ", transposed" : ", not transposed",
                     shape.experts > 0 ? fmt::format(", of {} experts", shape.experts) : "");
}

const PackedForm* PackedOperand::stored() const {
  const auto form =
      std::ranges::find_if(forms, [](const PackedForm& f) { return !f.panels.has_value(); });
  return form == forms.end() ? nullptr : &*form;
}

const PackedForm* PackedOperand::panels_for(const Variant& v, const Problem& p) const {
  const std::optional<PackedFormat> wanted = packed_format(v, p, shape.operand);
  if (!wanted) return nullptr;
  const auto form = std::ranges::find(forms, wanted, &PackedForm::panels);
  return form == forms.end() ? nullptr : &*form;
}

GemmCall without_packed(const GemmCall& call) {
  GemmCall plain = call;
  plain.packed = nullptr;
  plain.devices = Devices::kOne;
  return plain;
}

bool gives_only_packed(const GemmCall& call) {
  return call.packed != nullptr && !has_operand(call, call.packed->shape.operand);
}

bool has_operand(const GemmCall& call, Operand operand) {
  if (!reads_operands(call.problem)) return true;
  return operand == Operand::kA ? call.a != nullptr : call.b != nullptr;
}

void check_packed(const PackedOperand& packed, const GemmCall& call, Layout layout) {
  const Operand operand = packed.shape.operand;
  const PackedShape wanted = shape_of(call.problem, operand);
  if (wanted != packed.shape)
    fail(ErrorCode::kInvalidArgument, "the packed operand is {}, but the call's is {}",
         to_string(packed.shape, layout), to_string(wanted, layout));
  const bool is_a = operand == Operand::kA;
  const char letter = is_a == (layout == Layout::kRowMajor) ? 'a' : 'b';
  if ((is_a ? call.a_array : call.b_array) != nullptr)
    fail(ErrorCode::kInvalidArgument, "{}_array is not NULL, but a packed operand is one matrix",
         letter);
  const std::int64_t stride = is_a ? call.problem.stride_a : call.problem.stride_b;
  if (call.problem.batch > 1 && stride != 0)
    fail(ErrorCode::kInvalidArgument,
         "stride_{} is {}, but a packed operand is one matrix, which all members of a batch share: "
         "its stride is 0",
         letter, stride);
}

}  // namespace rooftile
