#include "runtime/kernel/shader_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "core/error.h"
#include "core/files/private_file.h"
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

/// The bytes of a file that only this user or root can have written, since drivers take SPIR-V
/// without checking it; nothing for any other. Neither a link nor a pipe is followed or waited for.
std::optional<std::string> trusted_bytes(const std::filesystem::path& path) {
  constexpr off_t kMostBytes = 64 << 20;  // The largest kernels have some 100 KiB.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat status = {};
  std::optional<std::string> bytes;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
      (status.st_uid == ::geteuid() || status.st_uid == 0) &&
      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && status.st_size <= kMostBytes) {
    bytes.emplace(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t at = 0;
    for (ssize_t got = 1; got > 0 && at < bytes->size(); at += static_cast<std::size_t>(got)) {
      got = ::read(fd, bytes->data() + at, bytes->size() - at);
      if (got < 0) break;
    }
    if (at != bytes->size()) bytes.reset();
  }
  ::close(fd);
  return bytes;
}

std::string message_of(int error) {
  return std::error_code(error, std::generic_category()).message();
}

/// Returns why the file is not completely written; "" when it is.
std::string write(const std::filesystem::path& path, const std::vector<std::uint32_t>& words) {
  std::error_code error_of_folder, ignored;
  std::filesystem::create_directories(path.parent_path(), error_of_folder);
  if (error_of_folder)
    return fmt::format("the folder {} cannot be made: {}", path.parent_path().string(),
                       error_of_folder.message());
  std::filesystem::permissions(path.parent_path(), std::filesystem::perms::owner_all, ignored);
  const std::string_view code(reinterpret_cast<const char*>(words.data()),
                              words.size() * sizeof(std::uint32_t));
  const int error = replace_private_file(path, {hash_hex(words), code});
  return error == 0 ? std::string() : message_of(error);
}

}  // namespace

std::filesystem::path default_cache_folder() {
  if (const char* folder = ::secure_getenv("ROOFTILE_CACHE"); folder != nullptr && *folder != '\0')
    return folder;
  if (const char* cache = ::secure_getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::filesystem::path(cache) / "rooftile";
  if (const char* home = ::secure_getenv("HOME"); home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache" / "rooftile";
  return {};
}

std::optional<std::vector<std::uint32_t>> stored_spirv(const std::filesystem::path& file) {
  const std::optional<std::string> bytes = trusted_bytes(file);
  if (!bytes || bytes->size() <= kChecksumBytes ||
      (bytes->size() - kChecksumBytes) % sizeof(std::uint32_t) != 0)
    return std::nullopt;
  std::vector<std::uint32_t> words((bytes->size() - kChecksumBytes) / sizeof(std::uint32_t));
  std::memcpy(words.data(), bytes->data() + kChecksumBytes, words.size() * sizeof(std::uint32_t));
  if (words.front() != kSpirvMagic || hash_hex(words) != bytes->substr(0, kChecksumBytes))
    return std::nullopt;
  return words;
}

std::vector<std::uint32_t> ShaderCache::spirv(const Shader& shader) const {
  if (folder_.empty()) return compile(shader);
  const std::filesystem::path path = file_of(folder_, shader);
  if (auto cached = stored_spirv(path)) return *std::move(cached);
  std::vector<std::uint32_t> words = compile(shader);
  if (const std::string why = write(path, words); !why.empty())
    log_warning_once(folder_.string(),
                     fmt::format("cannot write {}: {}; kernels are compiled anew in each process",
                                 path.string(), why));
  return words;
}

}  // namespace rooftile
