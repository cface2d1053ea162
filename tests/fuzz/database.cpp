// Databases of this version. Whatever the file, everything in it is read, or refused with an Error,
// or it is imported into another database, which stays sound and can be reported. The first byte
// says which (its second bit), what is hostile (its first), whether there is a report, whether the
// file is opened anew, and whether it is imported as one of before 0.1.0 (its eighth).
#include <fstream>
#include <optional>

#include "hostile_database.h"

namespace rooftile {
namespace {

/// A database that stays open while its values change: a tenth of the time of opening one.
class OpenDatabase {
 public:
  explicit OpenDatabase(const Base& base) {
    write_file(file_, base.bytes);
    store_.emplace(file_, OpenMode::kReadOnly);
    values_.emplace(file_, base.columns);
  }
  void read_with(Input changes, Reported reported) {
    values_->change(changes);
    read_everything(*store_, reported);
    values_->take_back();
  }

 private:
  const ScratchFolder folder_;
  const fs::path file_ = folder_ / "open.db";
  std::optional<Store> store_;
  std::optional<ValueChanger> values_;
};

/// Its tables are those of today, in another order: the id and the version in the header say which.
void label_before_release(const fs::path& file) {
  std::fstream header(file, std::ios::binary | std::ios::in | std::ios::out);
  header.seekp(60) << std::string_view("\0\0\0\x0c\0\0\0\0Rftl", 12);
}

}  // namespace
}  // namespace rooftile

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  require(kIsSqliteSet, "SQLite takes its settings");
  static const Base base;
  if (count == 0) return 0;
  const Use as = (bytes[0] & 2) == 0 ? Use::kRead : Use::kImport;
  const bool values = (bytes[0] & 1) != 0, opens = (bytes[0] >> 4) % 8 == 7;
  const Reported reported = (bytes[0] >> 2) % 4 == 0 ? Reported::kYes : Reported::kNo;
  if (values && as == Use::kRead && !opens) {
    SqliteMemory::is_watched = true;  // From the start: what it points to would count as leaked.
    static OpenDatabase database(base);
    database.read_with(Input{std::span(bytes + 1, count - 1)}, reported);
    return 0;
  }
  SqliteMemory::is_watched = false;
  const ScratchFolder folder;
  const fs::path file = folder / "hostile.db", own = folder / "own.db";
  write_hostile(file, base, Input{std::span(bytes, count)});
  if (as == Use::kImport && (bytes[0] & 128) != 0) label_before_release(file);
  write_file(own, base.bytes);
  use(file, own, as, reported);
  return 0;
}
