#include "cli/output_file.h"

#include <fcntl.h>

#include <cerrno>

#include "core/error.h"
#include "db/open/file_location.h"

namespace rooftile {

void refuse_existing(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored))
    fail(ErrorCode::kIo, "{} exists; --force replaces it", path.string());
}

OutputFile::OutputFile(const std::filesystem::path& path) : name_(path.string()) {
  std::error_code ignored;
  refuse_links_of_others(path);
  std::filesystem::path target = path;
  if (const auto resolved = std::filesystem::canonical(path, ignored); !ignored) target = resolved;

  const std::filesystem::file_status status = std::filesystem::status(target, ignored);
  if (is_database(target))
    fail(ErrorCode::kInvalidArgument, "{} is a database, which would be lost; name another file",
         name_);
  if (is_beside_database(target))
    fail(ErrorCode::kInvalidArgument,
         "{} is the name of a file that SQLite keeps beside a database; name another file", name_);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status) ||
      std::filesystem::is_directory(status)) {
    new_.emplace(target, name_);
    return;
  }
  direct_ = FileDescriptor(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
  if (!direct_) fail_to_write(name_, errno);
}

void OutputFile::write(std::string_view bytes) {
  if (!write_all(new_ ? new_->descriptor() : direct_.get(), bytes)) fail_to_write(name_, errno);
}

void OutputFile::commit() {
  if (new_)
    new_->commit();
  else if (direct_.close() != 0)
    fail_to_write(name_, errno);
}

}  // namespace rooftile
