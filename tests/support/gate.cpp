#include "tests/support/gate.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdarg>
#include <fstream>
#include <map>
#include <mutex>

#include "core/hash.h"
#include "generator/compile.h"
#include "tests/support/await.h"

namespace rooftile {

struct Gate::Entry {
  std::mutex mutex;
  std::condition_variable changed;
  bool met = false, open = false;
};

namespace {

struct Gates {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Gate::Entry>> entries;
};
Gates& gates() {
  static auto& gates = *new Gates;  // Threads may open files while the process ends.
  return gates;
}

/// Waits at the gate of this file, if there is one. Returns whether there was.
bool wait_at_gate(const char* path) {
  std::shared_ptr<Gate::Entry> entry;
  {
    const std::lock_guard lock(gates().mutex);
    const auto found = gates().entries.find(path);
    if (found == gates().entries.end()) return false;
    entry = found->second;
    gates().entries.erase(found);
  }
  std::unique_lock lock(entry->mutex);
  entry->met = true;
  entry->changed.wait(lock, [&] { return entry->open; });
  return true;
}

}  // namespace

Gate::Gate(const std::filesystem::path& cache_folder, const Variant& variant)
    : shader_(emit_gemm(variant, {})),
      path_(cache_folder / "spirv" / (shader_.hash + ".spv")),
      entry_(std::make_shared<Entry>()) {
  std::filesystem::create_directories(path_.parent_path());
  const std::lock_guard lock(gates().mutex);
  gates().entries[path_] = entry_;
}

Gate::~Gate() { let_through(std::nullopt); }

void Gate::meet() {
  EXPECT_TRUE(await("a thread reads the shader", [&] {
    const std::lock_guard lock(entry_->mutex);
    return entry_->met;
  }));
}

bool Gate::open() { return pass(compile(shader_)); }

bool Gate::open_with_damage() {
  std::vector<std::uint32_t> words = compile(shader_);
  words.resize(words.size() / 2);
  return pass(words);
}

bool Gate::pass(const std::vector<std::uint32_t>& words) {
  meet();
  return let_through(hash_hex(words) + std::string(reinterpret_cast<const char*>(words.data()),
                                                   words.size() * sizeof(std::uint32_t)));
}

bool Gate::let_through(const std::optional<std::string>& bytes) {
  {
    const std::lock_guard lock(gates().mutex);
    gates().entries.erase(path_);
  }
  const std::lock_guard lock(entry_->mutex);
  if (entry_->met && !entry_->open && bytes) {
    std::ofstream(path_, std::ios::binary) << *bytes;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
  }
  entry_->open = true;
  entry_->changed.notify_all();
  return entry_->met;
}

}  // namespace rooftile

// All code of the process, libraries included, finds this function instead of the C library's.
extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const int mode = creates ? va_arg(rest, int) : 0;
  va_end(rest);
  const bool waited = rooftile::wait_at_gate(path);
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (waited) ::unlink(path);  // Later readers find no entry.
  return fd;
}
