// Delays a compilation for as long as a test needs: the shader's file in the cache is a pipe, and a
// thread that reads the shader blocks on it.
#pragma once

#include <fcntl.h>
#include <signal.h>
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
#include "tests/support/await.h"

namespace rooftile {

class Gate {
 public:
  Gate(const std::filesystem::path& cache_folder, const Variant& variant)
      : shader_(emit_gemm(variant, {})), path_(cache_folder / "spirv" / (shader_.hash + ".spv")) {
    std::filesystem::create_directories(path_.parent_path());
    if (::mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("mkfifo " + path_.string());
    ::signal(SIGPIPE, SIG_IGN);  // The reader may have closed the pipe.
  }
  ~Gate() {
    if (pipe_ >= 0) ::close(pipe_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Waits until a thread reads the file, and removes the file for later readers.
  void meet() {
    if (pipe_ >= 0) return;
    // Without a reader, opening fails instead of blocking for good.
    EXPECT_TRUE(await("a thread reads the shader", [&] {
      pipe_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
      return pipe_ >= 0;
    }));
    ::fcntl(pipe_, F_SETFL, 0);
    std::filesystem::remove(path_);
  }
  /// Waits for a reader and passes it the shader. Returns false when the reader is gone.
  bool open() { return let_through(compile(shader_)); }
  /// Same as open(), with a shader that no driver accepts.
  bool open_with_damage() {
    std::vector<std::uint32_t> words = compile(shader_);
    words.resize(words.size() / 2);
    return let_through(words);
  }

 private:
  bool let_through(const std::vector<std::uint32_t>& words) {
    meet();
    const std::string file =
        hash_hex(words) + std::string(reinterpret_cast<const char*>(words.data()),
                                      words.size() * sizeof(std::uint32_t));
    const ssize_t written = ::write(pipe_, file.data(), file.size());
    ::close(pipe_);
    pipe_ = -1;
    return written == static_cast<ssize_t>(file.size());
  }

  Shader shader_;
  std::filesystem::path path_;
  int pipe_ = -1;
};

}  // namespace rooftile
