#include "tests/support/disk_log.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "core/numbers/random.h"

namespace rooftile {
namespace {

using Kind = DiskStep::Kind;

struct Log {
  std::mutex mutex;
  std::vector<DiskStep> steps;
};
Log& log_of_process() {
  static Log log;
  return log;
}
void add(DiskStep step) {
  Log& log = log_of_process();
  const std::lock_guard lock(log.mutex);
  log.steps.push_back(std::move(step));
}

std::string name_of(const char* path) {
  const std::string_view text = path;
  return std::string(text.substr(text.rfind('/') + 1));
}

sqlite3_vfs* real = nullptr;

/// The real file lies behind it.
struct LoggedFile {
  sqlite3_file base;
  std::string* name;
};
sqlite3_file* real_of(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<LoggedFile*>(file) + 1);
}
const std::string& name_of(sqlite3_file* file) {
  return *reinterpret_cast<LoggedFile*>(file)->name;
}

int close_file(sqlite3_file* file) {
  const int result = real_of(file)->pMethods->xClose(real_of(file));
  delete reinterpret_cast<LoggedFile*>(file)->name;
  return result;
}
int read_file(sqlite3_file* f, void* to, int count, sqlite3_int64 at) {
  return real_of(f)->pMethods->xRead(real_of(f), to, count, at);
}
int write_file(sqlite3_file* f, const void* from, int count, sqlite3_int64 at) {
  const int result = real_of(f)->pMethods->xWrite(real_of(f), from, count, at);
  if (result == SQLITE_OK)
    add({.kind = Kind::kWrite,
         .file = name_of(f),
         .offset = at,
         .bytes = {static_cast<const char*>(from), static_cast<std::size_t>(count)}});
  return result;
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  add({.kind = Kind::kTruncate, .file = name_of(f), .offset = size});
  return real_of(f)->pMethods->xTruncate(real_of(f), size);
}
int sync_file(sqlite3_file* f, int flags) {
  const int result = real_of(f)->pMethods->xSync(real_of(f), flags);
  if (result == SQLITE_OK) add({.kind = Kind::kSync, .file = name_of(f)});
  return result;
}
int file_size(sqlite3_file* f, sqlite3_int64* size) {
  return real_of(f)->pMethods->xFileSize(real_of(f), size);
}
int lock_file(sqlite3_file* f, int level) { return real_of(f)->pMethods->xLock(real_of(f), level); }
int unlock_file(sqlite3_file* f, int level) {
  return real_of(f)->pMethods->xUnlock(real_of(f), level);
}
int check_reserved(sqlite3_file* f, int* is) {
  return real_of(f)->pMethods->xCheckReservedLock(real_of(f), is);
}
int control_file(sqlite3_file* f, int operation, void* argument) {
  return real_of(f)->pMethods->xFileControl(real_of(f), operation, argument);
}
int sector_size(sqlite3_file* f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); }
/// No promise of the real disk, such as that a write is never torn, holds here.
int characteristics(sqlite3_file*) { return 0; }
int map_memory(sqlite3_file* f, int page, int size, int extend, void volatile** to) {
  return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, to);
}
int lock_memory(sqlite3_file* f, int offset, int count, int flags) {
  return real_of(f)->pMethods->xShmLock(real_of(f), offset, count, flags);
}
void barrier(sqlite3_file* f) { real_of(f)->pMethods->xShmBarrier(real_of(f)); }
int unmap_memory(sqlite3_file* f, int remove) {
  return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

constexpr sqlite3_io_methods kMethods = {2,
                                         close_file,
                                         read_file,
                                         write_file,
                                         truncate_file,
                                         sync_file,
                                         file_size,
                                         lock_file,
                                         unlock_file,
                                         check_reserved,
                                         control_file,
                                         sector_size,
                                         characteristics,
                                         map_memory,
                                         lock_memory,
                                         barrier,
                                         unmap_memory,
                                         nullptr,
                                         nullptr};

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* got) {
  auto* const logged = reinterpret_cast<LoggedFile*>(file);
  logged->base.pMethods = nullptr;
  const int result = real->xOpen(real, path, real_of(file), flags, got);
  if (result != SQLITE_OK) return result;
  logged->name = new std::string(path == nullptr ? "" : name_of(path));
  logged->base.pMethods = &kMethods;
  return result;
}
int delete_file(sqlite3_vfs*, const char* path, int sync_folder) {
  const int result = real->xDelete(real, path, sync_folder);
  if (result == SQLITE_OK) add({.kind = Kind::kDelete, .file = name_of(path)});
  return result;
}
int access_file(sqlite3_vfs*, const char* path, int flags, int* is) {
  return real->xAccess(real, path, flags, is);
}
int full_path(sqlite3_vfs*, const char* path, int size, char* full) {
  return real->xFullPathname(real, path, size, full);
}

sqlite3_vfs& logging() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs made = *real;
    made.szOsFile = static_cast<int>(sizeof(LoggedFile)) + real->szOsFile;
    made.zName = "logging";
    made.pNext = nullptr;
    made.xOpen = open_file;
    made.xDelete = delete_file;
    made.xAccess = access_file;
    made.xFullPathname = full_path;
    return made;
  }();
  return vfs;
}

void apply_step(Disk& disk, const DiskStep& step) {
  if (step.kind == Kind::kDelete) {
    disk.erase(step.file);
    return;
  }
  std::string& content = disk[step.file];
  const auto offset = static_cast<std::size_t>(step.offset);
  if (step.kind == Kind::kTruncate) {
    content.resize(offset);
  } else if (step.kind == Kind::kWrite) {
    content.resize(std::max(content.size(), offset + step.bytes.size()));
    content.replace(offset, step.bytes.size(), step.bytes);
  }
}

}  // namespace

DiskLog::DiskLog() {
  if (real == nullptr) real = sqlite3_vfs_find(nullptr);
  log_of_process().steps.clear();
  if (sqlite3_vfs_register(&logging(), 1) != SQLITE_OK)
    throw std::runtime_error("the logging file system cannot be registered");
}

DiskLog::~DiskLog() {
  sqlite3_vfs_unregister(&logging());
  sqlite3_vfs_register(real, 1);
}

const std::vector<DiskStep>& DiskLog::steps() const { return log_of_process().steps; }

Disk disk_after(const Disk& before, const std::vector<DiskStep>& steps, std::size_t count,
                Loss loss, std::uint64_t seed) {
  constexpr std::size_t kSector = 512;
  Disk disk = before;
  std::vector<const DiskStep*> pending;
  for (std::size_t i = 0; i < count; ++i) {
    if (steps[i].kind != Kind::kSync) {
      pending.push_back(&steps[i]);
      continue;
    }
    std::erase_if(pending, [&](const DiskStep* step) {
      if (step->file != steps[i].file) return false;
      apply_step(disk, *step);
      return true;
    });
  }
  Random random(seed);
  for (const DiskStep* step : pending) {
    if (loss == Loss::kAllUnsynced || (loss == Loss::kSomeUnsynced && random.below(2) == 0))
      continue;
    DiskStep kept = *step;
    if (loss == Loss::kSomeUnsynced && kept.bytes.size() > kSector && random.below(4) == 0)
      kept.bytes.resize(kSector * (1 + random.below(kept.bytes.size() / kSector)));
    apply_step(disk, kept);
  }
  return disk;
}

}  // namespace rooftile
