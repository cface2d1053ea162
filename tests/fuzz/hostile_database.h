// Database files that are damaged, or whose pages are sound and whose values are hostile: changes
// of a file that the tuner wrote. Shared by the targets that read databases.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/runtime_view.h"
#include "report/charts.h"
#include "report/page.h"
#include "report/report.h"
#include "tests/db/file_bytes.h"
#include "tests/db/filled_store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/sqlite_settings.h"
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

/// A column, and what names a row of its table: "rowid", or the columns of its primary key.
struct Column {
  std::string table, name;
  std::vector<std::string> key;
};

/// A file that the tuner wrote, and its columns.
struct Base {
  ScratchFolder folder;
  std::string bytes;
  std::vector<Column> columns;

  Base() {
    const fs::path file = folder / "base.db";
    {
      Store store(file);
      fill_store(store);
      store.vacuum();
    }
    {
      SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
      database.exec("PRAGMA journal_mode = DELETE");
      SQLite::Statement names(
          database,
          "SELECT t.name, t.wr, c.name, c.pk FROM pragma_table_list AS t,"
          " pragma_table_info(t.name) AS c WHERE t.schema = 'main' AND t.type = 'table'"
          " AND t.name <> 'sqlite_schema'"
          " ORDER BY 1, 3");
      std::map<std::string, std::vector<std::string>> keys;
      while (names.executeStep()) {
        const std::string table = names.getColumn(0), name = names.getColumn(2);
        columns.push_back({table, name, {}});
        if (names.getColumn(1).getInt() == 0)
          keys[table] = {"rowid"};
        else if (names.getColumn(3).getInt() > 0)
          keys[table].push_back(name);
      }
      for (Column& column : columns) column.key = keys.at(column.table);
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

class Value {
 public:
  Value(int type, std::int64_t whole, double real, std::string bytes)
      : type_(type), whole_(whole), real_(real), bytes_(std::move(bytes)) {}
  explicit Value(const SQLite::Column& column)
      : Value(column.getType(), column.getInt64(), column.getDouble(), column.getString()) {}

  void bind(SQLite::Statement& statement, int index) const {
    if (type_ == SQLITE_INTEGER)
      statement.bind(index, whole_);
    else if (type_ == SQLITE_FLOAT)
      statement.bind(index, real_);
    else if (type_ == SQLITE_TEXT)
      statement.bind(index, bytes_);
    else if (type_ == SQLITE_BLOB)
      statement.bind(index, bytes_.data(), static_cast<int>(bytes_.size()));
    else
      statement.bind(index);
  }

 private:
  int type_;
  std::int64_t whole_;
  double real_;
  std::string bytes_;
};

/// Changes values of a database, which others may have open, and takes the changes back.
class ValueChanger {
 public:
  ValueChanger(const fs::path& file, const std::vector<Column>& columns)
      : database_(file.string(), SQLite::OPEN_READWRITE), columns_(columns) {
    database_.exec(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
        " PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF");
  }

  /// Each change is a column of two bytes, a row, a type, and a value.
  void change(Input input) {
    SQLite::Transaction transaction(database_);
    for (int changes = 0; !input.empty() && changes < 32; ++changes) {
      const std::size_t column = input.number(2) % columns_.size();
      const int row = static_cast<int>(input.number(1) % 8);
      try {
        change(column, row, input);
      } catch (const SQLite::Exception&) {  // A generated column, or a value that an index refuses.
      }
    }
    transaction.commit();
  }

  void take_back() {
    SQLite::Transaction transaction(database_);
    for (; !changed_.empty(); changed_.pop_back()) {
      SQLite::Statement& restore = statements(changed_.back().column).restore;
      restore.reset();
      bind(restore, 1, std::span(&changed_.back().before, 1));
      bind(restore, 2, changed_.back().key);
      require(restore.exec() == 1, "a change can be taken back");
    }
    transaction.commit();
  }

 private:
  struct Changed {
    std::size_t column;
    Value before;
    std::vector<Value> key;
  };
  struct Statements {
    SQLite::Statement find, update, restore;
  };

  static std::vector<Value> values(SQLite::Statement& row) {
    std::vector<Value> all;
    for (int i = 0; i < row.getColumnCount(); ++i) all.emplace_back(row.getColumn(i));
    return all;
  }

  static void bind(SQLite::Statement& statement, int first, std::span<const Value> values) {
    for (const Value& value : values) value.bind(statement, first++);
  }

  Statements& statements(std::size_t index) {
    std::unique_ptr<Statements>& known = statements_[index];
    if (known != nullptr) return *known;
    const Column& column = columns_[index];
    std::string keys, is_row;
    for (const std::string& key : column.key) {
      keys += ", " + key;
      is_row += (is_row.empty() ? " WHERE " : " AND ") + key + " IS ?";
    }
    const std::string update =
        "UPDATE OR IGNORE " + column.table + " SET \"" + column.name + "\" = ?" + is_row;
    known.reset(new Statements{
        SQLite::Statement(database_, "SELECT \"" + column.name + "\"" + keys + " FROM " +
                                         column.table + " LIMIT 1 OFFSET ?"),
        SQLite::Statement(database_, update + " RETURNING " + keys.substr(2)),
        SQLite::Statement(database_, update)});
    return *known;
  }

  void change(std::size_t column, int row, Input& input) {
    const std::size_t type = input.number(1) % 5;
    const std::uint64_t bits = type < 2 ? input.number(8) : 0;
    const std::string text = type == 2 || type == 3 ? input.text(input.number(1)) : "";
    double real = 0;
    std::memcpy(&real, &bits, sizeof real);
    auto& [find, update, restore] = statements(column);
    find.reset();
    find.bind(1, row);
    if (!find.executeStep()) return;
    std::vector<Value> found = values(find);
    find.reset();
    update.reset();
    bind(update, 2, std::span(found).subspan(1));
    constexpr int kTypes[] = {SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB, SQLITE_NULL};
    Value(kTypes[type], static_cast<std::int64_t>(bits), real, text).bind(update, 1);
    if (!update.executeStep()) return;
    // The column may be a part of the key.
    changed_.push_back(
        {.column = column, .before = std::move(found.front()), .key = values(update)});
    update.reset();
  }

  SQLite::Database database_;
  const std::vector<Column>& columns_;
  std::map<std::size_t, std::unique_ptr<Statements>> statements_;
  std::vector<Changed> changed_;
};

inline void read_device(const Store& store, RowId device) {
  read_or_refuse([&] { store.calibrations(device, Provenance::kAny, 2); });
  read_or_refuse([&] { store.search_curves(device); });
  read_or_refuse([&] { store.tuned_kernels(device, "1.0"); });
  read_or_refuse([&] {
    std::vector<UnknownWinner> unknown;
    store.winners(device, &unknown);
  });
  read_or_refuse([&] { store.portfolio(device, "1.0"); });
  read_or_refuse([&] { store.measured_portfolio(device, "f32.nt"); });
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
  const Problem problem = packed_problem(37, 129, 65);
  read_or_refuse([&] {
    for (const DeviceRecord& record : store.devices())
      if (record.id == device) to_csv(frozen_space(store, record, problem));
  });
  read_or_refuse([&] { store.transfer_samples(device, problem, 8); });
  for (RowId row = 1; row <= 2; ++row) {
    read_or_refuse([&] { store.samples(device, row); });
    read_or_refuse([&] { store.outcome(device, row); });
    for (RowId candidate = 1; candidate <= 3; ++candidate) {
      read_or_refuse([&] { store.compiler_facts(device, candidate); });
      read_or_refuse([&] { store.counters(device, candidate, row); });
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

/// Reports take as long as all the rest, so that a part of the inputs is reported.
enum class Reported : std::uint8_t { kNo, kYes };

inline void read_everything(const Store& store, Reported reported) {
  read_or_refuse([&] { store.stats(); });
  read_or_refuse([&] { store.device_stats(); });
  read_or_refuse([&] {
    for (const DeviceRecord& device : store.devices()) read_device(store, device.id);
  });
  if (reported == Reported::kYes) report_everything(store);
}

/// Writes the base with the changes of an input: those of bytes or, if the first number is odd, of
/// values.
inline void write_hostile(const fs::path& file, const Base& base, Input input) {
  if (input.number(1) % 2 == 0) {
    write_file(file, damaged(base.bytes, input));
  } else {
    write_file(file, base.bytes);
    ValueChanger(file, base.columns).change(input);
  }
}

/// A program of today reads the file, or imports it into its own, which stays sound.
enum class Use : std::uint8_t { kRead, kImport };
inline void use(const fs::path& file, const fs::path& own, Use as, Reported reported) {
  if (as == Use::kRead)
    return read_or_refuse([&] {
      const Store store(file, OpenMode::kReadOnly);
      read_or_refuse([&] { store.check(); });
      read_everything(store, reported);
    });
  Store store(own);
  read_or_refuse([&] { store.import_from(file); });
  require(store.check().empty(), "a database is sound after an import");
  if (reported == Reported::kYes) report_everything(store);
}

}  // namespace rooftile
