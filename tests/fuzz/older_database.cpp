// Databases of every older version; the first byte says which. They are read or imported as those
// of this version, or migrated (the third bit of the second byte): that succeeds or is refused.
#include <map>

#include "hostile_database.h"

extern "C" void* __libc_realloc(void* memory, std::size_t bytes);  // NOLINT: the C library's own.

namespace rooftile {
namespace {

/// A migration is hundreds of statements, and half of their time is AddressSanitizer's allocator.
/// SQLite, which is not instrumented, takes its memory from the C library here; what it returns is
/// watched by the target `database`. Each block begins with its size.
struct PlainMemory {
  static constexpr std::size_t kHead = 16;
  static void* block(void* memory) {
    return memory == nullptr ? nullptr : static_cast<char*>(memory) - kHead;
  }
  static void* resize(void* memory, int bytes) {
    void* const resized = __libc_realloc(block(memory), kHead + static_cast<std::size_t>(bytes));
    if (resized == nullptr) return nullptr;
    std::memcpy(resized, &bytes, sizeof bytes);
    return static_cast<char*>(resized) + kHead;
  }
  static void* allocate(int bytes) { return resize(nullptr, bytes); }
  static void release(void* memory) {
    if (memory != nullptr) __libc_realloc(block(memory), 0);
  }
  static int size(void* memory) {
    int bytes = 0;
    std::memcpy(&bytes, block(memory), sizeof bytes);
    return bytes;
  }
  static int round_up(int bytes) { return (bytes + 7) / 8 * 8; }
  static int start(void*) { return SQLITE_OK; }
  static void stop(void*) {}
};

const bool kIsPlain = [] {
  static const sqlite3_mem_methods plain = {
      PlainMemory::allocate, PlainMemory::release, PlainMemory::resize, PlainMemory::size,
      PlainMemory::round_up, PlainMemory::start,   PlainMemory::stop,   nullptr};
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &plain) == SQLITE_OK;
}();

}  // namespace
}  // namespace rooftile

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  require(kIsSet && kIsPlain, "SQLite takes its settings");
  static const Base newest(newest_schema_version());
  static std::map<int, Base> bases;
  if (count < 2) return 0;
  const int version = 1 + bytes[0] % (newest_schema_version() - 1);
  const Base& base = bases.try_emplace(version, version).first->second;
  const ScratchFolder folder;
  const fs::path file = folder / "hostile.db", own = folder / "own.db";
  write_hostile(file, base, Input{std::span(bytes + 1, count - 1)});
  write_file(own, newest.bytes);
  if ((bytes[1] & 4) == 0) {
    use(file, own, (bytes[1] & 2) == 0 ? Use::kRead : Use::kImport,
        (bytes[1] & 24) == 0 ? Reported::kYes : Reported::kNo);
    return 0;
  }
  read_or_refuse([&] {
    const Store migrated(file);
    read_or_refuse([&] { migrated.check(); });
    read_or_refuse([&] {
      for (const DeviceRecord& device : migrated.devices()) read_device(migrated, device.id);
    });
  });
  return 0;
}
