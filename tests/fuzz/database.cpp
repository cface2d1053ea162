// Database files that are damaged, or whose pages are sound and whose values are hostile. The first
// byte says which; then follow changes of a file that the tuner wrote. Whatever the file,
// everything in it is read, or refused with an Error, and imported into another database, which
// stays sound.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/db/file_bytes.h"
#include "tests/db/filled_store.h"
#include "tests/fuzz/fuzz.h"

namespace rooftile {
namespace {

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

/// A file that the tuner wrote, and its columns.
struct Base {
  TemporaryFolder folder;
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
          "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
          "WHERE m.type = 'table' ORDER BY 1, 2");
      while (names.executeStep())
        columns.push_back({names.getColumn(0).getString(), names.getColumn(1).getString()});
    }
    bytes = bytes_of_file(file);
  }
};

/// Each change is an offset of three bytes and a value of one.
std::string damaged(std::string bytes, Input input) {
  while (!input.empty()) {
    const std::size_t offset = input.number(3);
    bytes[offset % bytes.size()] = static_cast<char>(input.number(1));
  }
  return bytes;
}

/// Each change is a column of two bytes, a row, a type, and a value.
void change_values(const fs::path& file, const std::vector<Column>& columns, Input input) {
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

void read_device(const Store& store, RowId device) {
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
  for (RowId problem = 1; problem <= 2; ++problem) {
    read_or_refuse([&] { store.samples(device, problem); });
    read_or_refuse([&] { store.outcome(device, problem); });
    read_or_refuse([&] { store.transfer_samples(device, packed_problem(37, 129, 65), 8); });
    for (RowId candidate = 1; candidate <= 3; ++candidate) {
      read_or_refuse([&] { store.compiler_facts(device, candidate); });
      read_or_refuse([&] { store.counters(device, candidate, problem); });
    }
  }
}

void read_everything(const fs::path& file) {
  read_or_refuse([&] {
    const Store store(file, OpenMode::kReadOnly);
    read_or_refuse([&] { store.check(); });
    read_or_refuse([&] { store.stats(); });
    read_or_refuse([&] { store.device_stats(); });
    read_or_refuse([&] {
      for (const DeviceRecord& device : store.devices()) read_device(store, device.id);
    });
  });
}

}  // namespace
}  // namespace rooftile

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  static const Base base;
  if (count == 0) return 0;
  const TemporaryFolder folder;
  const fs::path file = folder / "hostile.db", own = folder / "own.db";
  const Input changes{std::span(bytes + 1, count - 1)};
  if (bytes[0] % 2 == 0) {
    write_file(file, damaged(base.bytes, changes));
  } else {
    write_file(file, base.bytes);
    change_values(file, base.columns, changes);
  }
  read_everything(file);
  write_file(own, base.bytes);
  Store store(own);
  read_or_refuse([&] { store.import_from(file); });
  require(store.check().empty(), "a database is sound after an import");
  return 0;
}
