#include "tuner/worker/kernel_inspector.h"

#include <system_error>

#include "core/error.h"
#include "core/files/private_file.h"
#include "core/files/text_file.h"
#include "core/hash.h"
#include "generator/emit.h"
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

std::filesystem::path kept_file(const std::filesystem::path& folder, const DeviceProfile& device,
                                const Variant& variant, const Signature& signature) {
  return folder /
         (hash_hex(fmt::format("{} {:x} {:x} {} {} {} {}", device.device_uuid, device.device_id,
                               device.driver_id, device.driver_version, device.driver_info,
                               device.pipeline_cache_uuid, emit_gemm(variant, signature).hash)) +
          ".json");
}

/// What a file holds; nothing where it is missing or damaged.
std::optional<std::vector<CompiledExecutable>> kept_executables(const std::filesystem::path& file) {
  try {
    return executables_from_json(JsonValue::parse(read_text_file(file)).value());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Keeps statistics and assembly; the compiler's other texts are several times as long.
void keep(const std::filesystem::path& file, std::vector<CompiledExecutable> executables) {
  for (CompiledExecutable& executable : executables) {
    const CompilerText* const assembly = assembly_of(executable);
    executable.texts = assembly == nullptr ? std::vector<CompilerText>() : std::vector{*assembly};
  }
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (!error)
    error.assign(replace_private_file(file, {to_json(executables).dump()}),
                 std::generic_category());
  if (error) fail(ErrorCode::kIo, "{} cannot be written: {}", file.string(), error.message());
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
                                 const std::filesystem::path& program, std::filesystem::path kept)
    : device_(device),
      time_limit_s_(time_limit_s),
      kept_(std::move(kept)),
      worker_(new WorkerProcess(device_worker(program, device))) {}

KernelInspector::~KernelInspector() = default;

InspectedKernel KernelInspector::inspect(const Variant& variant, const Signature& signature,
                                         const std::atomic<bool>& stop) {
  if (const auto reason = illegal_reason(variant, device_.limits, signature))
    return illegal_kernel(variant, signature, *reason);
  InspectedKernel inspected = named(variant, signature);
  KernelInspection& kernel = inspected.inspection;
  const std::filesystem::path file =
      kept_.empty() ? std::filesystem::path() : kept_file(kept_, device_, variant, signature);
  std::optional<std::vector<CompiledExecutable>> executables;
  if (!file.empty()) executables = kept_executables(file);
  if (!executables) {
    const WorkerAnswer answer = worker_->ask(
        {{"operation", "inspect"}, {"variant", kernel.kernel}, {"signature", to_json(signature)}},
        time_limit_s_, stop);
    kernel.compilation = compilation_of(answer.fate);
    kernel.message = answer.message;
    if (kernel.compilation != Compilation::kCompiled) return inspected;
    try {
      executables = executables_from_json(answer.reply.at("executables"));
    } catch (const std::exception& error) {
      kernel.compilation = compilation_of(WorkerFate::kCrashed);
      kernel.message = std::string("the worker's answer cannot be read: ") + error.what();
      return inspected;
    }
    if (!file.empty()) keep(file, *executables);
  }
  const CompiledExecutable* const running =
      running_executable(*executables, static_cast<std::uint32_t>(variant.subgroup_size));
  read_executable(kernel, running, assembly_syntax(device_), integer_products(variant, signature));
  if (const CompilerText* text = running == nullptr ? nullptr : assembly_of(*running))
    inspected.assembly = text->text;
  return inspected;
}

}  // namespace rooftile
