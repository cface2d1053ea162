// Database files that are damaged, or whose pages are sound and whose values are hostile: changes
// of a file that the tuner wrote. Shared by the targets that read databases.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "cli/runtime_view.h"
#include "report/charts.h"
#include "report/page.h"
#include "report/report.h"
#include "tests/db/file_bytes.h"
#include "tests/db/filled_store.h"
#include "tests/db/older_database.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/problems/logged_problems.h"
#include "tuner/search/frozen_space.h"
#include "web/exchange/winners.h"

namespace rooftile {

namespace fs = std::filesystem;

class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::size_t number(int count) {
    std::size_t value = 0;
    for (; count > 0 && !bytes_.empty(); --count) {
      value = value << 8 | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return value;
  }
  std::string text(std::size_t count) {
    const auto part = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(part.size());
    return {part.begin(), part.end()};
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

struct Column {
  std::string table, name;
};

/// A file that the tuner of a version of the schema wrote, and its columns.
struct Base {
  ScratchFolder folder;
  std::string bytes;
  std::vector<Column> columns;

  explicit Base(int schema_version) {
    const fs::path newest = folder / "newest.db", file = folder / "base.db";
    {
      Store store(newest);
      fill_store(store);
      store.vacuum();
    }
    if (schema_version == newest_schema_version())
      fs::rename(newest, file);
    else
      write_older(newest, file, schema_version);
    {
      SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
      database.exec("PRAGMA journal_mode = DELETE");
      SQLite::Statement names(
          database,
          "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
          "WHERE m.type = 'table' ORDER BY 1, 2");
      while (names.executeStep())
        columns.push_back({names.getColumn(0).getString(), names.getColumn(1).getString()});
    }
    bytes = bytes_of_file(file);
  }
};

/// Each change is an offset of three bytes and a value of one.
inline std::string damaged(std::string bytes, Input input) {
  while (!input.empty()) {
    const std::size_t offset = input.number(3);
    bytes[offset % bytes.size()] = static_cast<char>(input.number(1));
  }
  return bytes;
}

/// Each change is a column of two bytes, a row, a type, and a value.
inline void change_values(const fs::path& file, const std::vector<Column>& columns, Input input) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  database.exec("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF");
  for (int changes = 0; !input.empty() && changes < 32; ++changes) {
    const Column& column = columns[input.number(2) % columns.size()];
    const std::size_t row = input.number(1);
    try {
      SQLite::Statement update(database,
                               "UPDATE OR IGNORE \"" + column.table + "\" SET \"" + column.name +
                                   "\" = ? WHERE rowid = (SELECT rowid FROM \"" + column.table +
                                   "\" LIMIT 1 OFFSET " + std::to_string(row % 8) + ")");
      switch (input.number(1) % 5) {
        case 0:
          update.bind(1, static_cast<std::int64_t>(input.number(8)));
          break;
        case 1: {
          const std::uint64_t bits = input.number(8);
          double value = 0;
          std::memcpy(&value, &bits, sizeof value);
          update.bind(1, value);
          break;
        }
        case 2:
          update.bind(1, input.text(input.number(1)));
          break;
        case 3: {
          const std::string blob = input.text(input.number(1));
          update.bind(1, blob.data(), static_cast<int>(blob.size()));
          break;
        }
        default:
          update.bind(1);
          break;
      }
      update.exec();
    } catch (const SQLite::Exception&) {  // A generated column, or a value that an index refuses.
    }
  }
}

inline void read_device(const Store& store, RowId device) {
  read_or_refuse([&] { store.latest_calibration(device); });
  read_or_refuse([&] { store.calibration_before_latest(device); });
  read_or_refuse([&] { store.search_curves(device); });
  read_or_refuse([&] { store.tuned_kernels(device, "1.0"); });
  read_or_refuse([&] { store.winners(device); });
  read_or_refuse([&] { store.unknown_winners(device); });
  read_or_refuse([&] { store.portfolio(device, "1.0"); });
  read_or_refuse([&] { store.measured_portfolio(device, "f32.nt"); });
  read_or_refuse([&] { store.regrets(device); });
  read_or_refuse([&] { store.black_listed(device); });
  read_or_refuse([&] { store.certified_candidates(device, "1.0", "f32.nt"); });
  read_or_refuse([&] { store.wrong_kernels(device, "1.0"); });
  read_or_refuse([&] { store.journal(device); });
  read_or_refuse([&] { store.untuned_problems(device); });
  read_or_refuse([&] { store.imported_kernels(device); });
  read_or_refuse([&] { store.imported_times(device); });
  read_or_refuse([&] { store.imported_portfolio(device); });
  read_or_refuse([&] { store.nearest_devices(device); });
  read_or_refuse([&] { logged_problems(store, device); });
  for (RowId problem = 1; problem <= 2; ++problem) {
    read_or_refuse([&] { store.samples(device, problem); });
    read_or_refuse([&] { store.outcome(device, problem); });
    read_or_refuse([&] {
      for (const DeviceRecord& record : store.devices())
        if (record.id == device) to_csv(frozen_space(store, record, packed_problem(37, 129, 65)));
    });
    read_or_refuse([&] { store.transfer_samples(device, packed_problem(37, 129, 65), 8); });
    for (RowId candidate = 1; candidate <= 3; ++candidate) {
      read_or_refuse([&] { store.compiler_facts(device, candidate); });
      read_or_refuse([&] { store.counters(device, candidate, problem); });
    }
  }
}

/// What programs show of a file that can be opened: reports, and what the page of a browser begins
/// with.
inline void report_everything(const Store& store) {
  read_or_refuse([&] {
    const RuntimeView view = runtime_view();
    const Report report = make_report(store, view);
    report_text(report, CalibrationDetail::kFigures, 80);
    report_json(report);
    make_charts(store, view, report);
  });
  read_or_refuse([&] { web::known_kernels(&store, "0.1.0").dump(); });
}

inline void read_everything(const fs::path& file) {
  read_or_refuse([&] {
    const Store store(file, OpenMode::kReadOnly);
    read_or_refuse([&] { store.check(); });
    read_or_refuse([&] { store.stats(); });
    read_or_refuse([&] { store.device_stats(); });
    read_or_refuse([&] {
      for (const DeviceRecord& device : store.devices()) read_device(store, device.id);
    });
    report_everything(store);
  });
}

/// Writes the base with the changes of an input: those of bytes or, if the first number is odd, of
/// values.
inline void write_hostile(const fs::path& file, const Base& base, Input input) {
  if (input.number(1) % 2 == 0) {
    write_file(file, damaged(base.bytes, input));
  } else {
    write_file(file, base.bytes);
    change_values(file, base.columns, input);
  }
}

/// A program of today reads the file, or imports it into its own, which stays sound.
enum class Use : std::uint8_t { kRead, kImport };
inline void use(const fs::path& file, const fs::path& own, Use as) {
  if (as == Use::kRead) return read_everything(file);
  Store store(own);
  read_or_refuse([&] { store.import_from(file); });
  require(store.check().empty(), "a database is sound after an import");
  report_everything(store);
}

}  // namespace rooftile
