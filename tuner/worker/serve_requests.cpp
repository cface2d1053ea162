#include "tuner/worker/serve_requests.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/groups.h"
#include "core/json_whole.h"
#include "generator/rules.h"
#include "runtime/kernel/staging.h"
#include "tuner/worker/executables_json.h"
#include "tuner/worker/worker_protocol.h"

namespace rooftile {
namespace {

// The tuner asks for two dozen at most. One that asks for a billion would never get an answer.
constexpr int kMostSamples = 1000;

/// A kernel and the types, transposes and epilogue that it is compiled for.
struct Wanted {
  Variant variant;
  Signature signature;
};

class Server {
 public:
  explicit Server(WorkerOperations& operations) : operations_(operations) {}

  Json answer(const Json& request) {
    const std::string operation = request.at("operation");
    if (operation == "open") {
      device_ = nullptr;  // Until it is opened: the last one is gone.
      device_ = &operations_.open(request.at("device_uuid"));
      return {{"name", device_->name}};
    }
    if (device_ == nullptr) fail(ErrorCode::kInternal, "worker: '{}' before 'open'", operation);
    if (operation == "calibrate") {
      const Calibrated device = operations_.calibrate(request.at("seconds"));
      return {{"figures", to_json(device.figures)}, {"parts", to_json(device.parts)}};
    }
    if (operation == "calibrate matrix unit") {
      const MatrixShape& shape = device_->limits.matrix_shapes.at(whole(request, "shape"));
      return {{"figures", to_json(std::vector{operations_.calibrate_matrix_unit(
                              shape, request.at("compute_units"))})}};
    }
    if (operation == "time") return to_json(operations_.time(time_request(request)));
    if (operation == "time reference")
      return to_json(operations_.time_reference(time_request(request)));
    if (operation == "certify") {
      const Wanted kernel = wanted(request);
      return to_json(operations_.certify(kernel.variant, kernel.signature, code_of(request)));
    }
    if (operation == "compile") {
      const Wanted kernel = wanted(request);
      return to_json(operations_.compile(kernel.variant, kernel.signature));
    }
    if (operation == "inspect") {
      const Wanted kernel = wanted(request);
      return {{"executables", to_json(operations_.inspect(kernel.variant, kernel.signature))}};
    }
    if (operation == "count") {
      const std::optional<CounterReadings> counted = operations_.count(count_request(request));
      return {{"counted", counted ? to_json(*counted) : Json(nullptr)}};
    }
    fail(ErrorCode::kInternal, "worker: unknown operation '{}'", operation);
  }

 private:
  void refuse_illegal(const Variant& variant, const std::optional<std::string>& reason) const {
    if (reason)
      fail(ErrorCode::kUnsupported, "kernel '{}' cannot run on {}: {}", short_name(variant),
           device_->name, *reason);
  }

  Wanted wanted(const Json& request) const {
    Wanted kernel = {parse_variant(request.at("variant").get<std::string>()),
                     signature_from_json(request.at("signature"))};
    refuse_illegal(kernel.variant,
                   illegal_reason(kernel.variant, device_->limits, kernel.signature));
    return kernel;
  }

  /// What has no product, or more groups than any model, has no operands that could be timed.
  void refuse_unmeasurable(const Variant& variant, const Problem& p, double rotate_bytes) const {
    validate(p);
    if (std::min({p.m, p.n, p.k, p.batch}) < 1)
      fail(ErrorCode::kInvalidArgument, "{} is empty", to_string(p));
    const Grouping& g = p.grouping;
    const std::int64_t least = g == Grouping{} ? 0 : 1;
    if (std::min(g.experts, g.groups) < least || std::max(g.experts, g.groups) > kMostTunedGroups)
      fail(ErrorCode::kInvalidArgument, "{} groups of {} experts; there may be 1 to {} of each",
           g.groups, g.experts, kMostTunedGroups);
    if (rotate_bytes < 0)
      fail(ErrorCode::kInvalidArgument, "rotate_bytes is {}; it must not be negative",
           rotate_bytes);
    const Problem staged = staged_problem(p);
    refuse_illegal(variant, illegal_reason(variant, device_->limits, staged, own_buffers(staged)));
  }

  TimeRequest time_request(const Json& json) const {
    TimeRequest request = time_request_from_json(json.at("request"));
    if (request.samples < 1 || request.samples > kMostSamples)
      fail(ErrorCode::kInvalidArgument, "samples is {}; it must be from 1 to {}", request.samples,
           kMostSamples);
    refuse_unmeasurable(request.variant, request.problem, request.rotate_bytes);
    return request;
  }

  CountRequest count_request(const Json& json) const {
    CountRequest request = count_request_from_json(json.at("request"));
    refuse_unmeasurable(request.variant, request.problem, request.rotate_bytes);
    return request;
  }

  WorkerOperations& operations_;
  const DeviceProfile* device_ = nullptr;
};

Json error_reply(ErrorCode code, const char* what) {
  return {{"error", static_cast<int>(code)}, {"message", what}};
}

bool reply_to(std::FILE* replies, const Json& reply) {
  return std::fprintf(replies, "%s\n", reply.dump().c_str()) >= 0 && std::fflush(replies) == 0;
}

}  // namespace

bool serve_requests(std::istream& requests, std::FILE* replies, WorkerOperations& operations) {
  Server server(operations);
  std::string line(static_cast<std::size_t>(kMostRequestBytes) + 1, '\0');
  while (requests.getline(line.data(), kMostRequestBytes + 1)) {
    // The end of the line is extracted and counted, but not where the stream ends without one.
    const auto length = static_cast<std::size_t>(requests.gcount() - (requests.eof() ? 0 : 1));
    Json reply;
    try {
      const std::optional<Json> request = Json::parse(std::string_view(line).substr(0, length));
      if (!request) fail(ErrorCode::kInternal, "worker: a request is not JSON");
      reply = server.answer(*request);
    } catch (const Error& error) {
      reply = error_reply(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      reply = error_reply(ErrorCode::kOutOfMemory,
                          "out of host memory; free some, or raise the limit on it (ulimit -v)");
    } catch (const std::exception& error) {
      reply = error_reply(ErrorCode::kInternal, error.what());
    }
    if (!reply_to(replies, reply)) return false;
  }
  if (requests.eof()) return true;
  reply_to(replies, error_reply(ErrorCode::kInternal, "worker: a request is too long"));
  return false;
}

}  // namespace rooftile
