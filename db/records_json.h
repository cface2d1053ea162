// Values that a person may want to take apart in SQL (json_extract) are stored as JSON objects.
// Inside db/ only.
#pragma once

#include <string>

#include "core/device_profile.h"
#include "core/variant.h"

namespace rooftile {

/// {"family":"tiled","tile_m":64,...}: numbers as numbers, names as in core/variant.h.
std::string parameters_json(const Variant& variant);

/// Names as in core/device_profile.h.
std::string limits_json(const DeviceLimits& limits);
/// Missing names keep their defaults and unknown ones are ignored: the struct grows without a
/// migration.
DeviceLimits parse_limits(const std::string& json);

}  // namespace rooftile
