#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_whole.h"
#include "inspect/inspection.h"

namespace rooftile {
namespace {

using Json = nlohmann::json;
using enum InstructionClass;

constexpr int kVersion = 1;

constexpr std::array<std::pair<InstructionClass, const char*>, kInstructionClasses> kClasses = {{
    {kMatrix, "matrix"},
    {kMultiplyAdd, "multiply_add"},
    {kVector, "vector"},
    {kScalar, "scalar"},
    {kLoad, "load"},
    {kStore, "store"},
    {kAtomic, "atomic"},
    {kBranch, "branch"},
    {kWait, "wait"},
    {kBarrier, "barrier"},
    {kDelay, "delay"},
    {kUnknown, "unknown"},
}};
constexpr std::array<std::pair<MemorySpace, const char*>, 4> kSpaces = {{
    {MemorySpace::kShared, "shared"},
    {MemorySpace::kGlobal, "global"},
    {MemorySpace::kScratch, "scratch"},
    {MemorySpace::kConstant, "constant"},
}};
constexpr std::array<std::pair<const char*, std::optional<std::int64_t> CompilerFacts::*>, 8>
    kFacts = {{
        {"registers", &CompilerFacts::registers},
        {"scalar_registers", &CompilerFacts::scalar_registers},
        {"spilled_registers", &CompilerFacts::spilled_registers},
        {"spilled_scalar_registers", &CompilerFacts::spilled_scalar_registers},
        {"spill_stores", &CompilerFacts::spill_stores},
        {"scratch_bytes", &CompilerFacts::scratch_bytes},
        {"shared_bytes", &CompilerFacts::shared_bytes},
        {"subgroups_per_unit", &CompilerFacts::subgroups_per_unit},
    }};

template <typename Table, typename Value>
const char* key_of(const Table& table, Value value) {
  for (const auto& [known, name] : table)
    if (known == value) return name;
  fail(ErrorCode::kInternal, "a value of an inspection has no name");
}
template <typename Table>
auto value_in(const Table& table, const std::string& wanted) {
  for (const auto& [value, name] : table)
    if (wanted == name) return value;
  fail(ErrorCode::kUnsupported, "'{}' is not known", wanted);
}

Json to_json(const InstructionCounts& counts) {
  Json classes = Json::object(), accesses = Json::array();
  for (const auto& [kind, name] : kClasses) classes[name] = counts.count(kind);
  for (const auto& [access, count] : counts.accesses)
    accesses.push_back({{"space", key_of(kSpaces, access.space)},
                        {"access", key_of(kClasses, access.kind)},
                        {"bits", access.bits},
                        {"per_subgroup", access.per_subgroup},
                        {"count", count}});
  const auto ratio = counts.others_per_product();
  return {{"instructions", classes},
          {"accesses", accesses},
          {"matrix_operations", counts.matrix},
          {"unknown_instructions", counts.unknown},
          {"opcodes", counts.opcodes},
          {"second_of_dual_issues", counts.shared_issues},
          {"multiply_adds", counts.multiply_adds},
          {"others", counts.others()},
          {"others_per_product", ratio ? Json(*ratio) : Json(nullptr)}};
}

std::map<std::string, int> counts_by_name(const Json& json) {
  std::map<std::string, int> counts;
  for (const auto& [name, count] : json.items()) counts[name] = WholeNumber(count, name.c_str());
  return counts;
}

InstructionCounts counts_from(const Json& json) {
  InstructionCounts counts;
  for (const auto& [kind, name] : kClasses)
    counts.of_class[static_cast<std::size_t>(kind)] = whole(json.at("instructions"), name);
  for (const Json& entry : json.at("accesses"))
    counts.accesses[{.kind = value_in(kClasses, entry.at("access")),
                     .space = value_in(kSpaces, entry.at("space")),
                     .bits = whole(entry, "bits"),
                     .per_subgroup = entry.at("per_subgroup")}] = whole(entry, "count");
  counts.matrix = counts_by_name(json.at("matrix_operations"));
  counts.unknown = counts_by_name(json.at("unknown_instructions"));
  if (json.contains("opcodes")) counts.opcodes = counts_by_name(json["opcodes"]);
  counts.shared_issues = whole(json, "second_of_dual_issues");
  counts.multiply_adds = json.at("multiply_adds");
  return counts;
}

Json to_json(const KernelInspection& kernel) {
  Json facts = Json::object(), statistics = Json::array(), loop = nullptr;
  for (const auto& [name, fact] : kFacts)
    facts[name] = kernel.facts.*fact ? Json(*(kernel.facts.*fact)) : Json(nullptr);
  for (const CompilerStatistic& statistic : kernel.facts.statistics)
    statistics.push_back(
        {{"name", statistic.name},
         {"value", std::visit([](auto value) { return Json(value); }, statistic.value)}});
  if (kernel.main_loop) {
    loop = to_json(kernel.main_loop->counts);
    loop["first_line"] = kernel.main_loop->first_line;
    loop["last_line"] = kernel.main_loop->last_line;
    const auto outer = kernel.main_loop->outer_others;
    loop["outer_others"] = outer ? Json(*outer) : Json(nullptr);
  }
  return {{"kernel", kernel.kernel},
          {"short_name", kernel.short_name},
          {"class", kernel.signature},
          {"origin", kernel.origin},
          {"compilation", name(kernel.compilation)},
          {"message", kernel.message},
          {"subgroup_size", kernel.subgroup_size},
          {"facts", facts},
          {"statistics", statistics},
          {"loop", name(kernel.loop_state)},
          {"loop_message", kernel.loop_message},
          {"main_loop", loop}};
}

CompilerStatistic statistic_from(const Json& json) {
  CompilerStatistic statistic{
      .executable = "", .name = json.at("name"), .description = "", .value = false};
  const Json& value = json.at("value");
  if (value.is_boolean())
    statistic.value = value.get<bool>();
  else if (value.is_number_unsigned())
    statistic.value = value.get<std::uint64_t>();
  else if (value.is_number_integer())
    statistic.value = value.get<std::int64_t>();
  else
    statistic.value = value.get<double>();
  return statistic;
}

KernelInspection kernel_from(const Json& json) {
  KernelInspection kernel;
  json.at("kernel").get_to(kernel.kernel);
  json.at("short_name").get_to(kernel.short_name);
  json.at("class").get_to(kernel.signature);
  json.at("origin").get_to(kernel.origin);
  json.at("message").get_to(kernel.message);
  json.at("loop_message").get_to(kernel.loop_message);
  kernel.subgroup_size = whole(json, "subgroup_size");
  const auto compilation = parse_compilation(json.at("compilation").get<std::string>());
  const auto loop = parse_loop_state(json.at("loop").get<std::string>());
  if (!compilation || !loop) fail(ErrorCode::kUnsupported, "a state is not known");
  kernel.compilation = *compilation;
  kernel.loop_state = *loop;
  for (const auto& [name, fact] : kFacts)
    if (const Json& value = json.at("facts").at(name); !value.is_null())
      kernel.facts.*fact = std::int64_t{WholeNumber(value, name)};
  for (const Json& entry : json.at("statistics"))
    kernel.facts.statistics.push_back(statistic_from(entry));
  if (const Json& main = json.at("main_loop"); !main.is_null())
    kernel.main_loop = {.counts = counts_from(main),
                        .first_line = whole(main, "first_line"),
                        .last_line = whole(main, "last_line"),
                        .outer_others = main.at("outer_others").is_null()
                                            ? std::optional<int>()
                                            : int{whole(main, "outer_others")}};
  return kernel;
}

}  // namespace

std::string inspection_json(const Inspection& inspection) {
  Json kernels = Json::array();
  for (const KernelInspection& kernel : inspection.kernels) kernels.push_back(to_json(kernel));
  const Json all = {{"rooftile_inspect", kVersion},
                    {"label", inspection.label},
                    {"device", inspection.device},
                    {"driver", inspection.driver},
                    {"kernels", kernels}};
  // A driver's text may contain bytes that are not UTF-8.
  return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

Inspection parse_inspection(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("rooftile_inspect") ||
      !json["rooftile_inspect"].is_number_integer())
    fail(ErrorCode::kUnsupported, "it is no JSON of `rooftile inspect`");
  if (json["rooftile_inspect"].get<std::int64_t>() != kVersion)
    fail(ErrorCode::kUnsupported, "it has version {} of the JSON of `rooftile inspect`, not {}",
         json["rooftile_inspect"].get<std::int64_t>(), kVersion);
  try {
    Inspection inspection;
    json.at("label").get_to(inspection.label);
    json.at("device").get_to(inspection.device);
    json.at("driver").get_to(inspection.driver);
    for (const Json& kernel : json.at("kernels")) inspection.kernels.push_back(kernel_from(kernel));
    return inspection;
  } catch (const Json::exception& error) {
    fail(ErrorCode::kUnsupported, "it is no JSON of `rooftile inspect`: {}", error.what());
  }
}

}  // namespace rooftile
