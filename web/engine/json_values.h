// Problems, adapters and rates as the page writes them in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "core/device_profile.h"
#include "core/problem.h"
#include "runtime/model/calibration.h"

namespace rooftile::web {

using Json = nlohmann::json;

/// {"m": 256, "n": 256, "k": 256, "trans_a": false, "trans_b": false, "batch": 1, "types": "f32"}:
/// what is left out has the values shown, except for the sizes. Throws kInvalidArgument.
Problem problem_of(const Json& json);
Json to_json(const Problem& p);

/// {"limits": {"maxBufferSize": ...}, "features": ["shader-f16", ...], "wgsl": [...], "vendor":
/// "nvidia", "subgroupMinSize": 32, "subgroupMaxSize": 32, "software": false} with the names of
/// WebGPU's GPUAdapter and GPUAdapterInfo; what is left out is WebGPU's guaranteed minimum.
DeviceProfile profile_of(const Json& json);

/// {"device.submit": 12000, ...}: figures by their names in the database, in their units
/// (runtime/model/calibration.h).
DeviceRates rates_of(const Json& json, const DeviceProfile& profile);

/// {"at": 4096, "bytes": 512}: content in the engine's memory.
Json memory_of(std::span<const char> content);

}  // namespace rooftile::web
