// Problems, devices and kernels as the JSON objects that results in other formats hold. What is
// read comes from strangers: functions throw kInvalidArgument, and the message says what is wrong,
// but not in which file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/device_profile.h"
#include "core/error.h"
#include "core/problem.h"
#include "core/variant.h"

namespace rooftile {

using Json = nlohmann::json;

/// What every function here throws.
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) {
  fail(ErrorCode::kInvalidArgument, why, std::forward<Args>(args)...);
}

/// Text of a stranger for messages and terminals: printable ASCII, at most `most` bytes.
std::string printable(std::string_view text, std::size_t most = 200);

/// What is wrong with a text that the parser has refused: "it is damaged JSON at line 1, column 9:
/// '"time":N' (NaN and Infinity are no JSON)".
std::string json_damage(const Json::exception& error);

/// {"m": 64, "n": 96, "k": 128, "type": "f32", "trans_a": false, "trans_b": true}, with "batch",
/// "groups", "experts", "largest", "epilogue", "alpha", "beta", and "lda" to "stride_c" where they
/// differ from those of a plain product of these sizes.
nlohmann::ordered_json problem_json(const Problem& p);
/// Every size is from 1 to 2^20, and the rest as in validate().
Problem parse_problem(const Json& json);

/// {"family": "tiled", "tile_m": 64, ...}: every parameter, numbers as numbers.
nlohmann::ordered_json configuration_json(const Variant& v);
/// Parameters that are left out have their defaults, but a family must be named. Parameters of
/// other programs' kernels are refused by name.
Variant parse_configuration(const Json& json);

/// What identifies and describes a device with its driver, limits included.
nlohmann::ordered_json device_json(const DeviceProfile& device);
DeviceProfile parse_device(const Json& json);

}  // namespace rooftile
