#include "formats/foreign_results.h"

#include "core/error.h"
#include "core/files/temporary_name.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

bool imported_before(const Store& store, const std::string& settings) {
  for (const auto& row : store.query("SELECT settings FROM runs").rows)
    if (row.at(0) == settings) return true;
  return false;
}

}  // namespace

ImportReport import_foreign(Store& store, const std::string& settings,
                            const std::function<void(Store&)>& fill) {
  if (imported_before(store, settings)) return {};
  // A folder of this user alone, which is removed after the file in it.
  TemporaryName folder, file;
  if (!folder.make_folder((fs::temp_directory_path() / "rooftile-import.XXXXXX").string()))
    fail(ErrorCode::kIo, "cannot make a folder in {}; set TMPDIR to one that can be written",
         fs::temp_directory_path().string());
  file.take(folder.path() + "/results.db");
  {
    Store theirs(file.path());
    Store::Transaction all(theirs);
    fill(theirs);
    all.commit();
  }
  return store.import_from(file.path());
}

}  // namespace rooftile
