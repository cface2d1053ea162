// The JSON that commands print (docs/json.md).
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "core/device_profile.h"
#include "core/problem.h"
#include "db/store.h"

namespace rooftile {

/// The option --json of a command.
CLI::Option* add_json(CLI::App& command, bool& json);
/// Prints an object and a line break. Numbers that are not finite become null, as JSON has none;
/// text that is no UTF-8, as drivers may give, is replaced.
void print_json(const nlohmann::ordered_json& json);

/// {"name": ..., "uuid": ..., "driver": ...}
nlohmann::ordered_json device_fields(const DeviceProfile& device);
/// Objects by column, with numbers as numbers and NULL as null. A column whose name was there
/// before gets ":2", ":3", ...
nlohmann::ordered_json rows_json(const Store::Table& table);

}  // namespace rooftile
