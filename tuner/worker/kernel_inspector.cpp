#include "tuner/worker/kernel_inspector.h"

#include "generator/rules.h"
#include "tuner/worker/calibration_run.h"
#include "tuner/worker/executables_json.h"
#include "tuner/worker/worker_process.h"

namespace rooftile {
namespace {

Compilation compilation_of(WorkerFate fate) {
  switch (fate) {
    case WorkerFate::kAnswered:
      return Compilation::kCompiled;
    case WorkerFate::kTimedOut:
    case WorkerFate::kInterrupted:
      return Compilation::kTimedOut;
    case WorkerFate::kOutOfMemory:
      return Compilation::kOutOfMemory;
    case WorkerFate::kCrashed:
      return Compilation::kCrashed;
    case WorkerFate::kRefused:
      return Compilation::kRefused;
  }
  return Compilation::kRefused;
}

IntegerProducts integer_products(const Variant& v, const Signature& s) {
  const bool multiplies = is_8_bit(s.types.a) && v.family != Family::kMatrix && v.dot == 1;
  return multiplies ? IntegerProducts::kAreWork : IntegerProducts::kAreAddresses;
}

InspectedKernel named(const Variant& variant, const Signature& signature) {
  return {.inspection = {.kernel = to_string(variant),
                         .short_name = short_name(variant),
                         .signature = to_string(signature)},
          .assembly = ""};
}

}  // namespace

InspectedKernel illegal_kernel(const Variant& variant, const Signature& signature,
                               const std::string& reason) {
  InspectedKernel illegal = named(variant, signature);
  illegal.inspection.compilation = Compilation::kIllegal;
  illegal.inspection.message = reason;
  return illegal;
}

KernelInspector::KernelInspector(const DeviceProfile& device, double time_limit_s,
                                 const std::filesystem::path& program)
    : device_(device),
      time_limit_s_(time_limit_s),
      worker_(new WorkerProcess(device_worker(program, device))) {}

KernelInspector::~KernelInspector() = default;

InspectedKernel KernelInspector::inspect(const Variant& variant, const Signature& signature,
                                         const std::atomic<bool>& stop) {
  if (const auto reason = illegal_reason(variant, device_.limits, signature))
    return illegal_kernel(variant, signature, *reason);
  InspectedKernel inspected = named(variant, signature);
  KernelInspection& kernel = inspected.inspection;
  const WorkerAnswer answer = worker_->ask(
      {{"operation", "inspect"}, {"variant", kernel.kernel}, {"signature", to_json(signature)}},
      time_limit_s_, stop);
  kernel.compilation = compilation_of(answer.fate);
  kernel.message = answer.message;
  if (kernel.compilation != Compilation::kCompiled) return inspected;
  std::vector<CompiledExecutable> executables;
  try {
    executables = executables_from_json(answer.reply.at("executables"));
  } catch (const std::exception& error) {
    kernel.compilation = compilation_of(WorkerFate::kCrashed);
    kernel.message = std::string("the worker's answer cannot be read: ") + error.what();
    return inspected;
  }
  const CompiledExecutable* const running =
      running_executable(executables, static_cast<std::uint32_t>(variant.subgroup_size));
  read_executable(kernel, running, assembly_syntax(device_), integer_products(variant, signature));
  if (const CompilerText* text = running == nullptr ? nullptr : assembly_of(*running))
    inspected.assembly = text->text;
  return inspected;
}

}  // namespace rooftile
