#include "web/engine/engine.h"

#include <array>
#include <limits>

#include "core/error.h"
#include "runtime/model/roofline.h"
#include "runtime/verify/random_operand.h"
#include "web/engine/programs.h"

namespace rooftile::web {
namespace {

std::size_t index_of(const Json& request, const char* name) {
  const auto at = request.find(name);
  if (at == request.end() || !at->is_number_unsigned())
    fail(ErrorCode::kInvalidArgument, "the request has no number '{}'", name);
  return at->get<std::size_t>();
}

}  // namespace

// Numbers that are not finite become null.
std::string Engine::answer(std::string_view request) {
  try {
    return dispatch(Json::parse(request)).dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const std::exception& failure) {
    return Json{{"error", failure.what()}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

Json Engine::dispatch(const Json& request) {
  using Operation = Json (Engine::*)(const Json&);
  struct Named {
    std::string_view name;
    Operation operation;
  };
  static constexpr std::array<Named, 9> kOperations = {{{"start", &Engine::start},
                                                        {"propose", &Engine::propose},
                                                        {"observe", &Engine::observe},
                                                        {"candidate", &Engine::candidate},
                                                        {"programs", &Engine::programs},
                                                        {"operands", &Engine::operands},
                                                        {"roofline", &Engine::roofline_of},
                                                        {"certify", &Engine::certify},
                                                        {"prepare", &Engine::prepare}}};
  const std::string op = request.at("op").get<std::string>();
  for (const Named& known : kOperations)
    if (known.name == op) return (this->*known.operation)(request);
  if (op == "compare") return certification().compare();
  fail(ErrorCode::kInvalidArgument, "the engine knows no operation '{}'", op);
}

Tuning& Engine::tuning() {
  if (!tuning_) fail(ErrorCode::kInvalidArgument, "no search was started");
  return *tuning_;
}

Certification& Engine::certification() {
  if (!certification_) fail(ErrorCode::kInvalidArgument, "no certificate was begun");
  return *certification_;
}

Variant Engine::variant_of(const Json& request) {
  if (request.contains("variant")) return parse_variant(request["variant"].get<std::string>());
  const std::size_t candidate = index_of(request, "candidate");
  if (candidate >= tuning().candidates().size())
    fail(ErrorCode::kInvalidArgument, "there is no candidate {}", candidate);
  return tuning().candidates()[candidate];
}

Json Engine::start(const Json& request) {
  const DeviceProfile device = profile_of(request.value("adapter", Json::object()));
  std::vector<Variant> known;
  for (const Json& text : request.value("known", Json::array()))
    known.push_back(parse_variant(text.get<std::string>()));
  const Problem problem = problem_of(request.at("problem"));
  tuning_ = std::make_unique<Tuning>(device, problem,
                                     rates_of(request.value("rates", Json::object()), device),
                                     request.value("strategy", std::string("auto")),
                                     request.value("seed", std::uint64_t{1}), known);
  const Problem& p = tuning_->problem();
  return {{"candidates", tuning_->candidates().size()},
          {"text", to_string(p)},
          {"problem", to_json(p)},
          {"flops", flops(p)},
          {"bytes", minimum_bytes(p)},
          {"bound_ns", problem_bound_ns(p, tuning_->rates())}};
}

Json Engine::propose(const Json& request) {
  return {{"proposed", tuning().propose(index_of(request, "count"))}};
}

Json Engine::observe(const Json& request) {
  const Json& ns = request.at("ns");
  tuning().observe(index_of(request, "candidate"),
                   ns.is_null() ? std::numeric_limits<double>::infinity() : ns.get<double>());
  return Json::object();
}

Json Engine::candidate(const Json& request) {
  const Variant v = variant_of(request);
  return {{"variant", to_string(v)},
          {"name", short_name(v)},
          {"family", name(v.family)},
          {"expected_ns", analytical_ns(tuning().problem(), v, tuning().rates())}};
}

Json Engine::programs(const Json& request) {
  const Problem& p = tuning().problem();
  return programs_of(variant_of(request), tuning().limits(), p, own_buffers(p));
}

Json Engine::operands(const Json&) {
  const Problem& p = tuning().problem();
  const Placement placement = own_buffers(p);
  Random random(1);
  operands_.clear();
  operands_.push_back(random_operand(p.types.a, placement.readable_a, random));
  operands_.push_back(random_b(p.types, placement.readable_b, random));
  Json memory = {{"a", memory_of(operands_[0])}, {"b", memory_of(operands_[1])}};
  if (quantized(p.types)) {
    RandomQuantization quantization = random_quantization(p, random);
    operands_.push_back(std::move(quantization.scales));
    memory["scales"] = memory_of(operands_.back());
    if (!quantization.zero_points.empty()) {
      operands_.push_back(std::move(quantization.zero_points));
      memory["zero_points"] = memory_of(operands_.back());
    }
  }
  return {{"memory", std::move(memory)}};
}

Json Engine::roofline_of(const Json& request) {
  const Problem& p = tuning().problem();
  const Roofline limits = roofline(p, variant_of(request), tuning().rates());
  Json bounds = Json::array();
  for (const Bound& bound : limits.bounds)
    bounds.push_back({{"limiter", bound.limiter}, {"ns", bound.ns}});
  return {{"bounds", std::move(bounds)},
          {"intensity", arithmetic_intensity(p)},
          {"peak_gflops", peak_gflops(tuning().rates(), p.types)},
          {"memory_gbps", memory_gbps(tuning().rates())}};
}

Json Engine::certify(const Json& request) {
  const DeviceProfile device = profile_of(request.value("adapter", Json::object()));
  certification_ = std::make_unique<Certification>(
      parse_variant(request.at("variant").get<std::string>()),
      signature_of(problem_of(request.at("problem"))), device.limits);
  return {{"cases", certification_->cases()}};
}

Json Engine::prepare(const Json& request) {
  Json json = certification().prepare(index_of(request, "case"));
  json["result"] = memory_of(certification().result());
  return json;
}

}  // namespace rooftile::web
