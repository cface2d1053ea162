// Databases of every older version; the first byte says which. They are read or imported as those
// of this version, or migrated (the third bit of the second byte): that succeeds or is refused.
#include <map>

#include "hostile_database.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  require(kIsSqliteSet, "SQLite takes its settings");
  static const Base newest(newest_schema_version());
  static std::map<int, Base> bases;
  if (count < 2) return 0;
  const int version = 1 + bytes[0] % (newest_schema_version() - 1);
  const Base& base = bases.try_emplace(version, version).first->second;
  const ScratchFolder folder;
  const fs::path file = folder / "hostile.db", own = folder / "own.db";
  write_hostile(file, base, Input{std::span(bytes + 1, count - 1)});
  write_file(own, newest.bytes);
  if ((bytes[1] & 4) == 0) {
    use(file, own, (bytes[1] & 2) == 0 ? Use::kRead : Use::kImport,
        (bytes[1] & 24) == 0 ? Reported::kYes : Reported::kNo);
    return 0;
  }
  read_or_refuse([&] {
    const Store migrated(file);
    read_or_refuse([&] { migrated.check(); });
    read_or_refuse([&] {
      for (const DeviceRecord& device : migrated.devices()) read_device(migrated, device.id);
    });
  });
  return 0;
}
