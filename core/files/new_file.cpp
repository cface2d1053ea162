#include "core/files/new_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/error.h"

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

void fail_to_write(const std::string& named, int error) {
  fail(ErrorCode::kIo, "cannot write {}: {}", named, std::strerror(error));
}

NewFile::NewFile(std::filesystem::path target, std::string named)
    : target_(std::move(target)), named_(std::move(named)) {
  struct stat status = {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    fail(ErrorCode::kIo, "cannot write {}: it is a folder; name a file in it", named_);
  if (exists && !S_ISREG(status.st_mode))  // The new file would take the place of a device.
    fail(ErrorCode::kIo, "cannot write {}: it is not a regular file; name another file", named_);
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail_to_write(named_, errno);
  const auto name = target_.parent_path() / ("." + target_.filename().string() + ".XXXXXX");
  file_ = FileDescriptor(temporary_.make_file(name.string()));
  if (!file_) fail_to_write(named_, errno);
  ::fchmod(file_.get(), wanted_mode(exists ? &status : nullptr));
}

void NewFile::commit() {
  if (::fsync(file_.get()) != 0) fail_to_write(named_, errno);
  if (file_.close() != 0) fail_to_write(named_, errno);
  if (std::rename(temporary_.path().c_str(), target_.c_str()) != 0) fail_to_write(named_, errno);
  temporary_.release();
}

}  // namespace rooftile
