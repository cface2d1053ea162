// What a tuner, or whoever holds the pipe, may send to a worker: lines of requests, to a made-up
// device. Each gets one answer that a tuner can read, and what reaches the device is what it may be
// asked for: the texts of kernels can be made, calls be planned, and operands have a size.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/groups.h"
#include "generator/emit.h"
#include "generator/plan.h"
#include "runtime/kernel/staging.h"
#include "tests/fuzz/fuzz.h"
#include "tests/generator/test_limits.h"
#include "tuner/worker/serve_requests.h"
#include "tuner/worker/timed_operands.h"
#include "tuner/worker/worker_answer.h"

namespace rooftile {
namespace {

class MadeUpDevice : public WorkerOperations {
 public:
  const DeviceProfile& open(const std::string& device_uuid) override {
    static const DeviceProfile device =
        profile_of(DeviceKind::kDiscrete, workgroup_matrix_limits());
    if (device_uuid != "00ff") fail(ErrorCode::kDevice, "device {} is not there", device_uuid);
    device_ = &device;
    return device;
  }
  Calibrated calibrate(double) override { return {.figures = {{.name = "figure", .value = 1}}}; }
  Figure calibrate_matrix_unit(const MatrixShape& shape, double) override {
    return {.name = std::string(name(shape.operand)), .value = 1};
  }
  TimeReply time(const TimeRequest& request) override {
    const double bytes = plan(request.variant, request.problem, request.rotate_bytes);
    require(request.samples > 0, "there are samples");
    return {.hash = "hash",
            .kernel_ns = std::vector<double>(static_cast<std::size_t>(request.samples), 1.5),
            .estimate_ns = bytes};
  }
  TimeReply time_reference(const TimeRequest& request) override { return time(request); }
  Certificate certify(const Variant& variant, const Signature& signature,
                      const std::string&) override {
    return {.passed = true, .detail = emit(variant, signature), .cases = 1};
  }
  CompileReply compile(const Variant& variant, const Signature& signature) override {
    return {.compile_ns = static_cast<double>(emit(variant, signature).size()), .code = "code"};
  }
  std::vector<CompiledExecutable> inspect(const Variant& variant,
                                          const Signature& signature) override {
    return {{.name = "main", .texts = {{.text = emit(variant, signature)}}}};
  }
  std::optional<CounterReadings> count(const CountRequest& request) override {
    plan(request.variant, request.problem, request.rotate_bytes);
    return CounterReadings{.passes = 1};
  }

 private:
  static std::string emit(const Variant& variant, const Signature& signature) {
    if (variant.packed_a == Packed::kYes) emit_pack(variant, signature, Operand::kA);
    if (variant.packed_b == Packed::kYes) emit_pack(variant, signature, Operand::kB);
    return emit_gemm(variant, signature).glsl;
  }

  /// Returns the bytes of the operands.
  double plan(const Variant& variant, const Problem& problem, double rotate_bytes) const {
    const Problem p = staged_problem(problem);
    const Placement placement = own_buffers(p);
    const StagedBytes bytes = staged_bytes(p);
    // Larger buffers are refused by devices, before memory is taken for what is to be in them.
    if (std::max({bytes.a, bytes.b, bytes.c}) > device_->limits.max_memory_allocation_bytes)
      fail(ErrorCode::kOutOfMemory, "the operands are too large");
    GemmPlan plan;
    if (is_grouped(p)) {
      const std::vector<Group> groups = typical_groups(p);
      plan = plan_grouped(variant, device_->limits, p, placement,
                          static_cast<std::int64_t>(group_tiles(groups, variant.tile_m).size()));
    } else {
      plan = plan_gemm(variant, device_->limits, p, placement);
    }
    require(!plan.gemms.empty(), "there is something to be computed");
    require(operand_sets(p, rotate_bytes) > 0, "there are operands");
    return operand_bytes(problem, rotate_bytes);
  }

  const DeviceProfile* device_ = nullptr;
};

/// What a worker replies to these lines, while it lives.
std::string replies_to(const std::string& requests) {
  std::istringstream lines(requests);
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const replies = ::open_memstream(&text, &length);
  MadeUpDevice device;
  serve_requests(lines, replies, device);
  std::fclose(replies);
  std::string all(text, length);
  std::free(text);
  return all;
}

}  // namespace
}  // namespace rooftile

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  // A device is there unless the input begins with something else.
  const std::string requests =
      (count > 0 && bytes[0] == '{' ? R"({"operation":"open","device_uuid":"00ff"})"
                                      "\n"
                                    : "") +
      std::string(text_of(bytes, count));
  AnswerReader answers;
  answers.add(replies_to(requests));
  auto left = std::count(requests.begin(), requests.end(), '\n') +
              (requests.empty() || requests.back() == '\n' ? 0 : 1);
  for (; const std::optional<WorkerAnswer> answer = answers.next(); --left)
    require(answer->fate == WorkerFate::kAnswered || answer->fate == WorkerFate::kRefused,
            "a reply is an answer");
  require(left == 0, "each request has one answer");
  return 0;
}
