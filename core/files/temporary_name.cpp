#include "core/files/temporary_name.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/sqlite_files.h"

namespace rooftile {

/// A signal handler may neither take a lock nor read memory that is being freed. The name is
/// therefore in the table itself, and it is there before its file: at every moment the handler
/// finds the name that is being tried or "".
struct TemporaryName::Slot {
  std::atomic<bool> taken = false;
  char name[PATH_MAX] = "";
};

namespace {

// A command has two files at most, or a folder with eight. Pages that are not used cost nothing.
std::array<TemporaryName::Slot, 32> slots;

// Only calls that POSIX allows in signal handlers.
void remove_with_companions(const char* name) noexcept {
  ::unlink(name);
  char beside[PATH_MAX];
  const std::size_t length = ::strnlen(name, PATH_MAX);
  for (const std::string_view suffix : kBesideDatabases) {
    const std::size_t extra = suffix.size() + 1;  // with the zero at its end
    if (length + extra > sizeof beside) continue;
    std::memcpy(beside, name, length);
    std::memcpy(beside + length, suffix.data(), extra);
    ::unlink(beside);
  }
}

}  // namespace

TemporaryName::TemporaryName() : slot_(nullptr) {
  for (Slot& slot : slots) {
    if (slot.taken.exchange(true)) continue;
    slot_ = &slot;
    return;
  }
}

TemporaryName::~TemporaryName() {
  if (!path_.empty()) {
    remove_with_companions(path_.c_str());
    ::rmdir(path_.c_str());  // Fails for a file, which is gone already.
  }
  release();
  if (slot_ != nullptr) slot_->taken = false;
}

// Returns where the system writes the letters that it chooses.
char* TemporaryName::begin(const std::string& pattern) {
  path_ = pattern;
  if (slot_ == nullptr || path_.size() >= sizeof slot_->name) return path_.data();
  std::memcpy(slot_->name, path_.c_str(), path_.size() + 1);
  return slot_->name;
}

// Keeps the name that the system has chosen, or none. errno stays as it is.
void TemporaryName::end(const char* name, bool made) {
  const int error = errno;
  if (!made)
    release();
  else if (name != path_.data())
    path_ = name;
  errno = error;
}

int TemporaryName::make_file(const std::string& pattern) {
  char* const name = begin(pattern);
  const int descriptor = ::mkostemp(name, O_CLOEXEC);
  end(name, descriptor >= 0);
  return descriptor;
}

bool TemporaryName::make_folder(const std::string& pattern) {
  char* const name = begin(pattern);
  const bool made = ::mkdtemp(name) != nullptr;
  end(name, made);
  return made;
}

void TemporaryName::take(const std::string& name) { begin(name); }

void TemporaryName::release() {
  if (slot_ != nullptr) slot_->name[0] = '\0';
  path_.clear();
}

void remove_temporary_files() noexcept {
  for (const TemporaryName::Slot& slot : slots)
    if (slot.name[0] != '\0') remove_with_companions(slot.name);
  for (const TemporaryName::Slot& slot : slots)  // Folders are empty now.
    if (slot.name[0] != '\0') ::rmdir(slot.name);
}

}  // namespace rooftile
