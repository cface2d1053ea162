#include "formats/foreign_results.h"

#include <unistd.h>

#include "core/error.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// A folder of this user alone for the database from which rows are imported.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::string pattern = (fs::temp_directory_path() / "rooftile-import.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      fail(ErrorCode::kIo, "cannot make a folder in {}; set TMPDIR to one that can be written",
           fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~PrivateFolder() {
    std::error_code unknown;
    fs::remove_all(path_, unknown);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool imported_before(const Store& store, const std::string& settings) {
  for (const auto& row : store.query("SELECT settings FROM runs").rows)
    if (row.at(0) == settings) return true;
  return false;
}

}  // namespace

ImportReport import_foreign(Store& store, const std::string& settings,
                            const std::function<void(Store&)>& fill) {
  if (imported_before(store, settings)) return {};
  const PrivateFolder folder;
  const fs::path file = folder.path() / "results.db";
  {
    Store theirs(file);
    Store::Transaction all(theirs);
    fill(theirs);
    all.commit();
  }
  return store.import_from(file);
}

}  // namespace rooftile
