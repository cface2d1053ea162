#include "cli/json_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace rooftile {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered cell_json(const std::string& text, Store::CellKind kind) {
  switch (kind) {
    case Store::CellKind::kNull:
      return nullptr;
    case Store::CellKind::kInteger:
      return std::strtoll(text.c_str(), nullptr, 10);
    case Store::CellKind::kReal:
      return std::strtod(text.c_str(), nullptr);
    case Store::CellKind::kText:
      return text;
  }
  return nullptr;
}

}  // namespace

CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "Print JSON; docs/json.md describes it");
}

void print_json(const Ordered& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, Ordered::error_handler_t::replace));
}

Ordered device_fields(const DeviceProfile& device) {
  return {{"name", device.name}, {"uuid", device.device_uuid}, {"driver", device.driver_info}};
}

Ordered rows_json(const Store::Table& table) {
  std::vector<std::string> names;
  for (const std::string& column : table.columns) {
    std::string name = column;
    for (int copy = 2; std::ranges::find(names, name) != names.end(); ++copy)
      name = fmt::format("{}:{}", column, copy);
    names.push_back(name);
  }
  Ordered rows = Ordered::array();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    Ordered& object = rows.emplace_back(Ordered::object());
    for (std::size_t i = 0; i < names.size(); ++i)
      object[names[i]] = cell_json(table.rows[row][i], table.kinds[row][i]);
  }
  return rows;
}

}  // namespace rooftile
