#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "db/open/file_location.h"

namespace rooftile {
namespace {

/// Permissions of the existing file, or those that open() gives a new one.
mode_t wanted_mode(const struct stat* existing) {
  if (existing != nullptr) return existing->st_mode & 07777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void refuse_existing(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored))
    fail(ErrorCode::kIo, "{} exists; --force replaces it", path.string());
}

OutputFile::OutputFile(const std::filesystem::path& path) : name_(path.string()), target_(path) {
  std::error_code ignored;
  refuse_links_of_others(path);
  if (const auto resolved = std::filesystem::canonical(path, ignored); !ignored) target_ = resolved;

  struct stat status = {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    fail(ErrorCode::kIo, "cannot write {}: it is a folder; name a file in it", name_);
  if (exists && !S_ISREG(status.st_mode)) {
    file_ = FileDescriptor(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_) failed(errno);
    return;
  }
  if (exists && ::access(target_.c_str(), W_OK) != 0) failed(errno);

  std::string pattern =
      (target_.parent_path() / ("." + target_.filename().string() + ".XXXXXX")).string();
  file_ = FileDescriptor(::mkostemp(pattern.data(), O_CLOEXEC));
  if (!file_) failed(errno);
  written_ = pattern;
  ::fchmod(file_.get(), wanted_mode(exists ? &status : nullptr));
}

OutputFile::~OutputFile() {
  if (!written_.empty()) ::unlink(written_.c_str());
}

void OutputFile::failed(int error) const {
  fail(ErrorCode::kIo, "cannot write {}: {}", name_, std::strerror(error));
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failed(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::commit() {
  // Without the sync a power failure may leave the new name without the data.
  if (!written_.empty() && ::fsync(file_.get()) != 0) failed(errno);
  if (file_.close() != 0) failed(errno);
  if (written_.empty()) return;
  if (::rename(written_.c_str(), target_.c_str()) != 0) failed(errno);
  written_.clear();
}

}  // namespace rooftile
