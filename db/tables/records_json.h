// Conversions of structures to the JSON objects that the tables hold, so that SQL can read their
// members (json_extract). Internal to db/, but for formats/, which writes the same objects.
#pragma once

#include <string>

#include "core/device_profile.h"
#include "core/variant.h"

namespace rooftile {

/// {"family":"tiled","tile_m":64,...}: numbers as numbers, names as in core/variant.h.
std::string parameters_json(const Variant& variant);

/// The limits as an object with the names of core/device_profile.h.
std::string limits_json(const DeviceLimits& limits);
/// Reads such an object. Missing names keep their defaults and unknown ones are ignored, so that
/// the structure grows without a migration.
DeviceLimits parse_limits(const std::string& json);

}  // namespace rooftile
