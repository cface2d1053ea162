#include "cli/command.h"
#include "cli/commands/export_space.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/text_table.h"
#include "db/store.h"
#include "formats/csv_export.h"

namespace rooftile {
namespace {

int check(const Globals& globals, bool json) {
  const Store store(globals.database(), OpenMode::kReadOnly);
  const std::vector<std::string> wrong = store.check();
  if (json)
    print_json({{"database", store.path().string()},
                {"sound", wrong.empty()},
                {"schema_version", store.schema_version()},
                {"defects", wrong}});
  for (const std::string& line : wrong)
    fmt::print(stderr, "rooftile: {}: {}\n", store.path().string(), line);
  if (!wrong.empty()) return kFailure;
  if (json) return kDone;
  fmt::print("{}: sound, schema {}\n", store.path().string(), store.schema_version());
  return kDone;
}

nlohmann::ordered_json stats_json(const Store& store) {
  const StoreStats stats = store.stats();
  nlohmann::ordered_json tables = nlohmann::ordered_json::object();
  for (const TableRows& table : stats.tables) tables[table.table] = table.rows;
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const DeviceStats& device : store.device_stats())
    devices.push_back(
        {{"name", device.name},
         {"uuid", device.device_uuid},
         {"driver", device.driver_info},
         {"runs", device.runs},
         {"imported_runs", device.imported_runs},
         {"samples", device.samples},
         {"problems", device.problems},
         {"last_tuned", device.last_tuned.empty() ? nlohmann::ordered_json(nullptr)
                                                  : nlohmann::ordered_json(device.last_tuned)}});
  return {{"database", store.path().string()}, {"rows", tables},
          {"file_bytes", stats.file_bytes},    {"free_bytes", stats.free_bytes},
          {"log_bytes", stats.wal_bytes},      {"devices", devices}};
}

int stats(const Globals& globals, bool json) {
  const Store store(globals.database(), OpenMode::kReadOnly);
  if (json) {
    print_json(stats_json(store));
    return kDone;
  }
  const StoreStats stats = store.stats();
  for (const TableRows& table : stats.tables)
    fmt::print("{:<24} {:>10} rows\n", table.table, table.rows);
  fmt::print("{:<24} {:>10} bytes\n", "file", stats.file_bytes);
  fmt::print("{:<24} {:>10} bytes\n", "free in the file", stats.free_bytes);
  fmt::print("{:<24} {:>10} bytes\n", "log", stats.wal_bytes);
  TextTable devices({{"device", Align::kLeft},
                     {"driver", Align::kLeft},
                     {"runs"},
                     {"imported"},
                     {"samples"},
                     {"problems"},
                     {"last tuned", Align::kLeft}});
  for (const DeviceStats& device : store.device_stats())
    devices.add({device.name, device.driver_info, fmt::to_string(device.runs),
                 fmt::to_string(device.imported_runs), fmt::to_string(device.samples),
                 fmt::to_string(device.problems),
                 device.last_tuned.empty() ? "never" : device.last_tuned});
  fmt::print("\n");
  print_table(devices);
  return kDone;
}

int vacuum(const Globals& globals) {
  if (!database_exists(globals.database()))
    fail(ErrorCode::kDatabase,
         "there is no tuning database at {}; `rooftile tune` makes one, or name another file{}",
         globals.database().string(), kNamedByDefault);
  Store store(globals.database());
  if (!store.note().empty()) fmt::print(stderr, "rooftile: {}\n", store.note());
  const std::int64_t before = store.stats().file_bytes;
  store.vacuum();
  fmt::print("{}: {} bytes, {} before\n", store.path().string(), store.stats().file_bytes, before);
  return kDone;
}

int query(const Globals& globals, const std::string& sql, bool csv, bool json) {
  const Store store(globals.database(), OpenMode::kReadOnly);
  const Store::Table table = store.query(sql);
  if (json) {
    print_json({{"columns", table.columns}, {"rows", rows_json(table)}});
    return kDone;
  }
  if (csv) {
    const auto print = [&](const std::vector<std::string>& row) {
      for (std::size_t i = 0; i < row.size(); ++i)
        fmt::print("{}{}", i > 0 ? "," : "", csv_cell(row[i]));
      fmt::print("\n");
    };
    print(table.columns);
    for (const auto& row : table.rows) print(row);
    return kDone;
  }
  std::vector<TextTable::Column> columns;
  for (const std::string& column : table.columns) columns.push_back({column, Align::kLeft});
  TextTable text(std::move(columns));
  for (const auto& row : table.rows) text.add(row);
  print_table(text);
  return kDone;
}

}  // namespace

void add_db(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("db", "Manage the tuning database");
  command->footer(
      "Examples:\n  rooftile db check\n  rooftile db export tuned.db --device RTX\n"
      "  rooftile db import tuned.db");
  command->require_subcommand(1);
  command->add_subcommand("path", "Print the path of the database")->callback([&] {
    action = [&] {
      fmt::print("{}\n", globals.database().string());
      return kDone;
    };
  });
  static bool json = false;
  CLI::App* checking = command->add_subcommand(
      "check", "Check the whole database; exit with 1 when anything is wrong");
  add_json(*checking, json);
  checking->callback([&] { action = [&] { return check(globals, json); }; });
  CLI::App* counting = command->add_subcommand(
      "stats",
      "Show the numbers of rows and bytes, and the data of every device; --device is ignored");
  add_json(*counting, json);
  counting->callback([&] { action = [&] { return stats(globals, json); }; });
  add_export_space(*command, globals, action);
  command->add_subcommand("vacuum", "Return free pages to the file system")->callback([&] {
    action = [&] { return vacuum(globals); };
  });
  add_exchange(*command, globals, action);
  add_black_list(*command, globals, action);
}

void add_query(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command =
      app.add_subcommand("query", "Run one read-only SQL statement on the tuning database");
  command->footer("Example: rooftile query \"SELECT bucket, m, n, k, gflops FROM best_kernels\"");
  static std::string sql;
  static bool csv = false, json = false;
  command->add_option("sql", sql, "The statement; docs/database-tables.md describes the views")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.find_first_not_of(" \t\r\n") != std::string::npos
                       ? std::string()
                       : std::string("the statement is empty; one is SELECT * FROM best_kernels");
          },
          ""));
  CLI::Option* const as_json = add_json(*command, json);
  command->add_flag("--csv", csv, "Print comma-separated values")->excludes(as_json);
  command->callback([&] { action = [&] { return query(globals, sql, csv, json); }; });
}

}  // namespace rooftile
