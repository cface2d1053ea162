// A database of another machine, which is checked before its content is used. Internal to db/.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/files/temporary_name.h"
#include "db/sqlite/connection.h"

namespace rooftile {

/// How messages speak of a file that is refused, and whether one of before 0.1.0 is.
struct ForeignUse {
  std::string_view no_database;  // follows the name of a file that is no database at all
  std::string_view outcome;
  bool converts = false;
};
inline constexpr ForeignUse kImported = {
    .no_database =
        "is neither a tuning database nor JSON that `rooftile db export --format t4` or "
        "`rooftile web` writes",
    .outcome = "nothing of it was imported",
    .converts = true};
/// Attaches such a file to a connection as the schema `theirs` until the end of the scope. The file
/// itself is only read; of one of before 0.1.0 a converted copy in the temporary folder is
/// attached, where use converts. What is attached is complete and sound, has exactly the schema of
/// a new file, and all its references have a target. The constructor throws kIo for a missing file,
/// and kDatabase for a file of another program or a newer Rooftile and for one that is damaged or
/// altered; the message names the file and the defect.
class ForeignFile {
 public:
  /// file is absolute, and own has no open transaction.
  ForeignFile(Connection& own, const std::filesystem::path& file,
              const ForeignUse& use = kImported);
  ~ForeignFile();
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

 private:
  Connection& own_;
  TemporaryName copy_;  // of a file of before 0.1.0; else empty
};

/// Refuses, as an import does, a file with an altered schema, damage or values that no Rooftile
/// writes. file is absolute. Throws what ForeignFile throws.
void refuse_foreign(const std::filesystem::path& file, const StoreOptions& options);

}  // namespace rooftile
