// A compiler that is as slow as a test wants it: a shader's file in the cache is a pipe, and
// whoever compiles the shader waits at it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "generator/compile.h"
#include "generator/emit.h"

namespace rooftile {

class Gate {
 public:
  Gate(const std::filesystem::path& cache_folder, const Variant& variant)
      : shader_(emit_gemm(variant, {})), path_(cache_folder / "spirv" / (shader_.hash + ".spv")) {
    std::filesystem::create_directories(path_.parent_path());
    if (::mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("mkfifo " + path_.string());
  }

  /// Waits until somebody stands before it; false when they went away. The next one finds no file.
  bool open() { return let_through(compile(shader_)); }
  /// With a shader that no driver takes.
  bool open_with_damage() {
    std::vector<std::uint32_t> words = compile(shader_);
    words.resize(words.size() / 2);
    return let_through(words);
  }

 private:
  bool let_through(const std::vector<std::uint32_t>& words) const {
    const std::string file =
        hash_hex(words) + std::string(reinterpret_cast<const char*>(words.data()),
                                      words.size() * sizeof(std::uint32_t));
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    std::filesystem::remove(path_);
    const ssize_t written = ::write(fd, file.data(), file.size());
    ::close(fd);
    return written == static_cast<ssize_t>(file.size());
  }

  Shader shader_;
  std::filesystem::path path_;
};

}  // namespace rooftile
