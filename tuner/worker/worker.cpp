#include "tuner/worker/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/json_whole.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "tuner/calibrate/calibrate.h"
#include "tuner/worker/executables_json.h"
#include "tuner/worker/measure.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

class Server {
 public:
  Json answer(const Json& request) {
    const std::string operation = request.at("operation");
    if (operation == "open") return open(request);
    if (device_ == nullptr) fail(ErrorCode::kInternal, "worker: '{}' before 'open'", operation);
    if (operation == "calibrate") {
      const Calibrated device = calibrate_device(device_, request.at("seconds"));
      return {{"figures", to_json(device.figures)}, {"parts", to_json(device.parts)}};
    }
    if (operation == "calibrate matrix unit") {
      const MatrixShape& shape =
          device_->profile().limits.matrix_shapes.at(whole(request, "shape"));
      return {{"figures", to_json(std::vector{calibrate_matrix_unit(
                              device_, shape, request.at("compute_units"))})}};
    }
    if (operation == "time")
      return to_json(measurer_->time(time_request_from_json(request.at("request"))));
    // The reference has operands of its own, because changing problems would cost more than timing
    // it.
    if (operation == "time reference")
      return to_json(reference_->time(time_request_from_json(request.at("request"))));
    if (operation == "certify")
      return to_json(measurer_->certify(parse_variant(request.at("variant").get<std::string>()),
                                        signature_from_json(request.at("signature"))));
    if (operation == "compile")
      return {
          {"compile_ns", measurer_->compile(parse_variant(request.at("variant").get<std::string>()),
                                            signature_from_json(request.at("signature")))}};
    if (operation == "inspect")
      return {{"executables", inspect(parse_variant(request.at("variant").get<std::string>()),
                                      signature_from_json(request.at("signature")))}};
    if (operation == "count") return count(count_request_from_json(request.at("request")));
    fail(ErrorCode::kInternal, "worker: unknown operation '{}'", operation);
  }

 private:
  Json open(const Json& request) {
    const std::string uuid = request.at("device_uuid");
    const Enumeration found = enumerate_devices();
    for (const DeviceProfile& profile : found.devices) {
      if (profile.device_uuid != uuid) continue;
      // No pipeline cache is used, so that every candidate's compile time is its own.
      device_ = Device::open(profile, {.compiler_statistics = CompilerStatistics::kKeep});
      const auto free =
          profile.kind == DeviceKind::kSoftware ? std::make_shared<FreeProcessors>() : nullptr;
      measurer_.emplace(device_, free);
      reference_.emplace(device_, free);
      return {{"name", profile.name}};
    }
    fail(ErrorCode::kDevice, "device {} is no longer available{}{}", uuid,
         found.note.empty() ? "" : ": ", found.note);
  }

  /// Returns null where the driver has no counters. From the first call on, counters are read on a
  /// separate device, because kernels may be slower where counters can be read.
  Json count(const CountRequest& request) {
    if (!counting_) {
      const DeviceProfile& profile = device_->profile();
      if (performance_counters(profile).empty()) return {{"counted", nullptr}};
      counting_.emplace(Device::open(profile, {.counter_queries = CounterQueries::kOn}));
    }
    return {{"counted", to_json(counting_->count(request))}};
  }

  /// Compiles the gemm shader on a device of its own, because keeping the compiler's texts may slow
  /// compilation down. Shaders for packed operands and for partial sums are left out.
  Json inspect(const Variant& variant, const Signature& signature) {
    if (inspecting_ == nullptr)
      inspecting_ = Device::open(device_->profile(),
                                 {.compiler_statistics = CompilerStatistics::kKeepWithTexts});
    const Shader shader = emit_gemm(variant, signature);
    return to_json(inspecting_->create_pipeline(compile(shader), shader.interface).executables());
  }

  std::shared_ptr<Device> device_, inspecting_;
  std::optional<Measurer> measurer_, reference_, counting_;
};

Json error_reply(ErrorCode code, const char* what) {
  return {{"error", static_cast<int>(code)}, {"message", what}};
}

}  // namespace

int run_worker() {
  // The tuner handles Ctrl-C, and a worker without its tuner has no use.
  ::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A crash here is a measurement and not worth gigabytes of core file. When the machine's memory
  // runs out, this is the process to kill (proc(5): 1000 is the maximum).
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const int replies = ::dup(STDOUT_FILENO);
  if (replies < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  FILE* const out = ::fdopen(replies, "w");
  if (out == nullptr) return 1;

  Server server;
  std::string line;
  while (std::getline(std::cin, line)) {
    Json reply;
    try {
      reply = server.answer(Json::parse(line));
    } catch (const Error& error) {
      reply = error_reply(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      reply = error_reply(ErrorCode::kOutOfMemory, "out of host memory");
    } catch (const std::exception& error) {
      reply = error_reply(ErrorCode::kInternal, error.what());
    }
    // A driver's message may contain bytes that are not UTF-8.
    const std::string text = reply.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (std::fprintf(out, "%s\n", text.c_str()) < 0 || std::fflush(out) != 0) return 1;
  }
  return 0;
}

}  // namespace rooftile
