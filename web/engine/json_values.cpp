#include "web/engine/json_values.h"

#include <algorithm>

#include "core/error.h"
#include "generator/web/adapter.h"
#include "runtime/model/gpu/gpu_generation.h"

namespace rooftile::web {
namespace {

std::int64_t size_of(const Json& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_number_integer())
    fail(ErrorCode::kInvalidArgument, "the problem has no whole number '{}'", name);
  return at->get<std::int64_t>();
}

Transpose transpose_of(const Json& json, const char* name) {
  return json.value(name, false) ? Transpose::kYes : Transpose::kNo;
}

bool holds(const Json& json, const char* list, std::string_view name) {
  const auto at = json.find(list);
  return at != json.end() && at->is_array() &&
         std::any_of(at->begin(), at->end(), [&](const Json& value) { return value == name; });
}

WebGpuAdapter adapter_of(const Json& json) {
  WebGpuAdapter adapter;
  const Json limits = json.value("limits", Json::object());
  const auto take = [&](const char* name, auto& value) { value = limits.value(name, value); };
  take("maxComputeInvocationsPerWorkgroup", adapter.max_compute_invocations_per_workgroup);
  take("maxComputeWorkgroupSizeX", adapter.max_compute_workgroup_size[0]);
  take("maxComputeWorkgroupSizeY", adapter.max_compute_workgroup_size[1]);
  take("maxComputeWorkgroupSizeZ", adapter.max_compute_workgroup_size[2]);
  take("maxComputeWorkgroupsPerDimension", adapter.max_compute_workgroups_per_dimension);
  take("maxComputeWorkgroupStorageSize", adapter.max_compute_workgroup_storage_size);
  take("maxStorageBufferBindingSize", adapter.max_storage_buffer_binding_size);
  take("maxBufferSize", adapter.max_buffer_size);
  take("minStorageBufferOffsetAlignment", adapter.min_storage_buffer_offset_alignment);
  adapter.shader_f16 = holds(json, "features", "shader-f16");
  adapter.subgroups = holds(json, "features", "subgroups");
  adapter.subgroup_min_size = json.value("subgroupMinSize", adapter.subgroup_min_size);
  adapter.subgroup_max_size = json.value("subgroupMaxSize", adapter.subgroup_max_size);
  adapter.packed_4x8_integer_dot_product = holds(json, "wgsl", "packed_4x8_integer_dot_product");
  return adapter;
}

}  // namespace

Problem problem_of(const Json& json) {
  if (!json.is_object()) fail(ErrorCode::kInvalidArgument, "a problem is a JSON object");
  const Types types = parse_types(json.value("types", std::string("f32")));
  validate(types);
  constexpr std::int64_t kLargest = 1 << 20;
  const std::int64_t m = size_of(json, "m"), n = size_of(json, "n"), k = size_of(json, "k"),
                     batch = json.contains("batch") ? size_of(json, "batch") : 1;
  for (const std::int64_t size : {m, n, k, batch})
    if (size < 1 || size > kLargest)
      fail(ErrorCode::kInvalidArgument, "sizes must be between 1 and {}, but one is {}", kLargest,
           size);
  Problem p = packed_problem(m, n, k, transpose_of(json, "trans_a"),
                             quantized(types) ? Transpose::kYes : transpose_of(json, "trans_b"),
                             batch, types);
  validate(p);
  return p;
}

Json to_json(const Problem& p) {
  return {{"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"trans_a", p.trans_a == Transpose::kYes},
          {"trans_b", p.trans_b == Transpose::kYes},
          {"batch", p.batch},
          {"types", to_string(p.types)}};
}

Json memory_of(std::span<const char> content) {
  return {{"at", reinterpret_cast<std::uintptr_t>(content.data())}, {"bytes", content.size()}};
}

DeviceProfile profile_of(const Json& json) {
  DeviceProfile profile;
  profile.limits = webgpu_limits(adapter_of(json));
  profile.vendor_id = webgpu_vendor_id(json.value("vendor", std::string()));
  profile.kind = json.value("software", false) ? DeviceKind::kSoftware : DeviceKind::kOther;
  return profile;
}

DeviceRates rates_of(const Json& json, const DeviceProfile& profile) {
  std::vector<Figure> figures;
  if (json.is_object())
    for (const auto& [name, value] : json.items())
      if (value.is_number() && value.get<double>() > 0)
        figures.push_back({.name = name, .value = value.get<double>(), .count = 1});
  DeviceRates rates = calibration_from_figures(figures).device;
  rates.gpu = gpu_generation(profile);
  return rates;
}

}  // namespace rooftile::web
