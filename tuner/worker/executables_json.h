// Compiled executables between worker and tuner.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/compiled_executable.h"

namespace rooftile {

nlohmann::json to_json(const std::vector<CompiledExecutable>& executables);
/// The texts come back with replacements for bytes that are not UTF-8.
std::vector<CompiledExecutable> executables_from_json(const nlohmann::json& json);

}  // namespace rooftile
