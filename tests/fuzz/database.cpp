// Databases of this version. Whatever the file, everything in it is read, or refused with an Error,
// or it is imported into another database, which stays sound and can be reported. The first byte
// says which (its second bit), and what is hostile (its first).
#include "hostile_database.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  static const Base base(newest_schema_version());
  if (count == 0) return 0;
  const ScratchFolder folder;
  const fs::path file = folder / "hostile.db", own = folder / "own.db";
  write_hostile(file, base, Input{std::span(bytes, count)});
  write_file(own, base.bytes);
  use(file, own, (bytes[0] & 2) == 0 ? Use::kRead : Use::kImport);
  return 0;
}
