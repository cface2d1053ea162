// Delays a compilation for as long as a test needs: a thread that reads the shader's entry in the
// cache waits until the test lets it through.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/hash.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "runtime/kernel/shader_cache.h"
#include "tests/support/await.h"

namespace rooftile {

class Gate {
 public:
  Gate(const std::filesystem::path& cache_folder, const Variant& variant)
      : shader_(emit_gemm(variant, {})), path_(cache_folder / "spirv" / (shader_.hash + ".spv")) {
    const std::lock_guard lock(gates().mutex);
    gates().entries[path_] = entry_;
    replace_reader(read);
  }
  ~Gate() { let_through(std::nullopt); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Waits until a thread reads the entry. Later readers are not delayed.
  void meet() {
    EXPECT_TRUE(await("a thread reads the shader", [&] {
      const std::lock_guard lock(entry_->mutex);
      return entry_->met;
    }));
  }
  /// Waits for a reader and passes it the shader. Returns false when there is none.
  bool open() { return pass(compile(shader_)); }
  /// Same as open(), with a shader that no driver accepts.
  bool open_with_damage() {
    std::vector<std::uint32_t> words = compile(shader_);
    words.resize(words.size() / 2);
    return pass(words);
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::condition_variable changed;
    bool met = false, open = false;
    std::optional<std::string> bytes;
  };
  struct Gates {
    std::mutex mutex;
    std::map<std::filesystem::path, std::shared_ptr<Entry>> entries;
  };
  static Gates& gates() {
    static auto& gates = *new Gates;  // Threads may read while the process ends.
    return gates;
  }

  static std::optional<std::string> read(const std::filesystem::path& path) {
    std::shared_ptr<Entry> entry;
    {
      const std::lock_guard lock(gates().mutex);
      const auto found = gates().entries.find(path);
      if (found == gates().entries.end()) return trusted_bytes(path);
      entry = found->second;
      gates().entries.erase(found);
    }
    std::unique_lock lock(entry->mutex);
    entry->met = true;
    entry->changed.wait(lock, [&] { return entry->open; });
    return entry->bytes;
  }

  bool pass(const std::vector<std::uint32_t>& words) {
    meet();
    return let_through(hash_hex(words) + std::string(reinterpret_cast<const char*>(words.data()),
                                                     words.size() * sizeof(std::uint32_t)));
  }
  bool let_through(std::optional<std::string> bytes) {
    {
      const std::lock_guard lock(gates().mutex);
      gates().entries.erase(path_);
    }
    const std::lock_guard lock(entry_->mutex);
    if (!entry_->open) entry_->bytes = std::move(bytes);
    entry_->open = true;
    entry_->changed.notify_all();
    return entry_->met;
  }

  const Shader shader_;
  const std::filesystem::path path_;
  const std::shared_ptr<Entry> entry_ = std::make_shared<Entry>();
};

}  // namespace rooftile
