// The ways in over buffers of the device.
#include <algorithm>
#include <vector>

#include "placed.h"
#include "soak_session.h"

namespace rooftile {
namespace {

/// The buffers of one call, released at its end.
class SoakBuffers {
 public:
  using Operands = rooftile_resident_operands;
  using Place = rooftile_place;

  explicit SoakBuffers(rooftile_context* context) : context_(context) {}
  ~SoakBuffers() {
    for (rooftile_buffer* buffer : buffers_) rooftile_buffer_release(buffer);
  }
  SoakBuffers(const SoakBuffers&) = delete;
  SoakBuffers& operator=(const SoakBuffers&) = delete;

  /// A buffer with these bytes from an offset on.
  rooftile_place put(const ShiftedBytes& content, std::int64_t offset_bytes) {
    constexpr std::size_t kLeast = 4;  // An operand without elements has a buffer, too.
    rooftile_buffer* buffer = nullptr;
    const auto offset = static_cast<std::size_t>(offset_bytes);
    expect_ok(rooftile_buffer_create(context_, offset + std::max(content.size(), kLeast), &buffer),
              "rooftile_buffer_create");
    buffers_.push_back(buffer);
    expect_ok(rooftile_buffer_upload(buffer, offset, content.data(), content.size()),
              "rooftile_buffer_upload");
    return {buffer, 0};
  }

 private:
  rooftile_context* context_;
  std::vector<rooftile_buffer*> buffers_;
};

rooftile_status run_list(rooftile_context* context, const SoakCall& call,
                         const Placed<SoakBuffers>& x, const rooftile_grouped_operands& grouped,
                         bool is_grouped_call, ShiftedBytes& c, std::string& message) {
  rooftile_list* list = nullptr;
  expect_ok(rooftile_list_create(context, &list), "rooftile_list_create");
  rooftile_status status =
      is_grouped_call ? rooftile_list_grouped_gemm(list, &call.args, &call.groups, &grouped)
                      : rooftile_list_gemm(list, &call.args, &x.places);
  if (status != ROOFTILE_OK) {
    message = rooftile_last_error();
  } else {
    expect_ok(
        rooftile_list_download(list, x.places.c.buffer, static_cast<std::size_t>(x.c_offset_bytes),
                               c.data(), c.size()),
        "rooftile_list_download");
    rooftile_run* run = nullptr;
    status = rooftile_list_run(list, &run);
    if (status != ROOFTILE_OK) {
      message = rooftile_last_error();
    } else {
      expect_ok(rooftile_run_wait(run, ROOFTILE_FOREVER), "rooftile_run_wait");
      expect_ok(rooftile_run_release(run), "rooftile_run_release");
    }
  }
  expect_ok(rooftile_list_release(list), "rooftile_list_release");
  return status;
}

}  // namespace

SoakSession::Outcome SoakSession::call_resident(const SoakCase& test, SoakOperands& operands) {
  SoakBuffers buffers(context_);
  SoakCall call(test, operands, SoakCall::Pointers::kNone);
  Placed<SoakBuffers> x = place(test, operands, buffers);
  const bool grouped = is_grouped(test.problem);
  rooftile_packed* packed = nullptr;
  if (test.way == Way::kPackedResident) {
    const bool is_a = (test.packed == Operand::kA) == (test.layout == Layout::kRowMajor);
    const rooftile_pack_args pack = {.struct_size = sizeof pack,
                                     .operand = is_a ? ROOFTILE_OPERAND_A : ROOFTILE_OPERAND_B,
                                     .call = &call.args};
    const rooftile_status status =
        grouped
            ? rooftile_resident_pack_experts(context_, &call.args, &call.groups, &x.places, &packed)
            : rooftile_resident_pack(context_, &pack, &x.places, &packed);
    if (status != ROOFTILE_OK) return {status, rooftile_last_error()};
    call.args.packed = packed;
    if (!test.original || grouped) {
      (is_a ? x.places.a : x.places.b) = {};
      (is_a ? call.args.lda : call.args.ldb) = 0;
      if (grouped) call.args.stride_b = 0;
    }
  }
  const rooftile_grouped_operands of_groups = {.struct_size = sizeof of_groups,
                                               .operands = &x.places};
  Outcome outcome;
  if (test.way == Way::kList) {
    outcome.status = run_list(context_, call, x, of_groups, grouped, operands.c, outcome.message);
  } else {
    outcome.status = grouped ? rooftile_resident_grouped_gemm(context_, &call.args, &call.groups,
                                                              &of_groups, nullptr)
                             : rooftile_resident_gemm(context_, &call.args, &x.places, nullptr);
    if (outcome.status != ROOFTILE_OK) outcome.message = rooftile_last_error();
    // The download runs after the call, and also shows what a call that failed has written.
    expect_ok(
        rooftile_buffer_download(x.places.c.buffer, static_cast<std::size_t>(x.c_offset_bytes),
                                 operands.c.data(), operands.c.size()),
        "rooftile_buffer_download");
  }
  expect_ok(rooftile_packed_release(packed), "rooftile_packed_release");
  return outcome;
}

}  // namespace rooftile
