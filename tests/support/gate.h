// Delays a compilation for as long as a test needs: a thread that opens the shader's entry in the
// cache waits until the test lets it through. The program links gate.cpp and exports its symbols.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/emit.h"

namespace rooftile {

class Gate {
 public:
  Gate(const std::filesystem::path& cache_folder, const Variant& variant);
  /// Lets the thread through, which then compiles.
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Waits until a thread opens the entry. Later readers are not delayed.
  void meet();
  /// Waits for a reader and passes it the shader. Returns false when there is none.
  bool open();
  /// Same as open(), with a shader that no driver accepts.
  bool open_with_damage();

  struct Entry;

 private:
  bool pass(const std::vector<std::uint32_t>& words);
  bool let_through(const std::optional<std::string>& bytes);

  const Shader shader_;
  const std::filesystem::path path_;
  const std::shared_ptr<Entry> entry_;
};

}  // namespace rooftile
