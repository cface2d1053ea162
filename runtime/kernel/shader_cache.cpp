#include "runtime/kernel/shader_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "core/error.h"
#include "core/hash.h"
#include "generator/compile.h"
#include "runtime/support/log.h"

namespace rooftile {
namespace {

constexpr std::size_t kChecksumBytes = 32;  // Length of hash_hex.
constexpr std::uint32_t kSpirvMagic = 0x07230203;

std::filesystem::path file_of(const std::filesystem::path& folder, const Shader& shader) {
  return folder / "spirv" / (shader.hash + ".spv");
}

std::optional<std::vector<std::uint32_t>> read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() <= kChecksumBytes ||
      (bytes.size() - kChecksumBytes) % sizeof(std::uint32_t) != 0)
    return std::nullopt;
  std::vector<std::uint32_t> words((bytes.size() - kChecksumBytes) / sizeof(std::uint32_t));
  std::memcpy(words.data(), bytes.data() + kChecksumBytes, words.size() * sizeof(std::uint32_t));
  if (words.front() != kSpirvMagic || hash_hex(words) != bytes.substr(0, kChecksumBytes))
    return std::nullopt;
  return words;
}

std::string message_of(int error) {
  return std::error_code(error, std::generic_category()).message();
}

/// Returns why the file is not completely written; "" when it is.
std::string write(const std::filesystem::path& path, const std::vector<std::uint32_t>& words) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::filesystem::permissions(path.parent_path(), std::filesystem::perms::owner_all, ignored);
  static std::atomic<unsigned> counter = 0;
  const std::string temporary = fmt::format("{}.{}.{}", path.string(), ::getpid(), counter++);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return message_of(errno);
  const std::string checksum = hash_hex(words);
  const auto bytes = static_cast<ssize_t>(words.size() * sizeof(std::uint32_t));
  errno = ENOSPC;  // Reported where write() stores only a part and sets no error.
  const bool written =
      ::write(fd, checksum.data(), checksum.size()) == static_cast<ssize_t>(checksum.size()) &&
      ::write(fd, words.data(), static_cast<std::size_t>(bytes)) == bytes;
  const int error = errno;
  const bool closed = ::close(fd) == 0;
  if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const std::string why = message_of(written ? errno : error);
  ::unlink(temporary.c_str());
  return why;
}

}  // namespace

std::filesystem::path default_cache_folder() {
  if (const char* folder = std::getenv("ROOFTILE_CACHE"); folder != nullptr && *folder != '\0')
    return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::filesystem::path(cache) / "rooftile";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache" / "rooftile";
  return {};
}

std::vector<std::uint32_t> ShaderCache::spirv(const Shader& shader) const {
  if (folder_.empty()) return compile(shader);
  const std::filesystem::path path = file_of(folder_, shader);
  if (auto cached = read(path)) return *std::move(cached);
  std::vector<std::uint32_t> words = compile(shader);
  if (const std::string why = write(path, words); !why.empty())
    log_warning_once(folder_.string(),
                     fmt::format("cannot write {}: {}; kernels are compiled anew in each process",
                                 path.string(), why));
  return words;
}

}  // namespace rooftile
