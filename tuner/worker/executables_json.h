// Compiled executables between worker and tuner.
#pragma once

#include <vector>

#include "core/compiled_executable.h"
#include "core/json_value.h"

namespace rooftile {

JsonValue to_json(const std::vector<CompiledExecutable>& executables);
/// The texts come back with replacements for bytes that are not UTF-8.
std::vector<CompiledExecutable> executables_from_json(const JsonValue& json);

}  // namespace rooftile
