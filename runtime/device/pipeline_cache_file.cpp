#include "runtime/device/pipeline_cache_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/files/file_descriptor.h"
#include "core/files/private_file.h"
#include "core/hash.h"

namespace rooftile {
namespace {

// Plausible limit: drivers' caches of compute kernels have kilobytes to a few megabytes.
constexpr off_t kMaxFileBytes = off_t{256} << 20;
constexpr mode_t kOtherUsersBits = S_IRWXG | S_IRWXO;

/// Returns everything before the data. Comparing it for equality checks format, device, driver,
/// length and content at once.
std::string header(const DeviceProfile& profile, std::string_view data) {
  return fmt::format(
      "rooftile pipeline cache 1\ndevice {} vendor {} id {} driver {} version {} cache {}\nbytes "
      "{} hash {}\n",
      profile.device_uuid, profile.vendor_id, profile.device_id, profile.driver_id,
      profile.driver_version, profile.pipeline_cache_uuid, data.size(), hash_hex(data));
}

constexpr int kHeaderLines = 3;

/// Returns the offset of the data; npos when there are fewer lines than a header has.
std::size_t data_offset(std::string_view content) {
  std::size_t offset = 0;
  for (int line = 0; line < kHeaderLines; ++line) {
    offset = content.find('\n', offset);
    if (offset == std::string_view::npos) return offset;
    ++offset;
  }
  return offset;
}

/// Returns true when all `size` bytes were read.
bool read_all(int fd, char* target, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, target, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    target += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void make_private_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return;
  if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), error);
  if (error)
    fail(ErrorCode::kIo, "cannot make the cache folder {}: {}", folder.string(), error.message());
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    fail(ErrorCode::kIo, "cannot make the cache folder {}: {}", folder.string(),
         std::strerror(errno));
  }
}

}  // namespace

std::string pipeline_cache_file_name(const DeviceProfile& profile) {
  return fmt::format("pipelines-{}-{:x}-{:x}.bin", profile.device_uuid, profile.driver_id,
                     profile.driver_version);
}

LoadedPipelineCache load_pipeline_cache(const std::filesystem::path& file,
                                        const DeviceProfile& profile) {
  const auto refused = [&](std::string_view why) {
    return LoadedPipelineCache{.data = {},
                               .note = fmt::format("{} is ignored: {}", file.string(), why)};
  };
  const FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.get() < 0 && errno == ENOENT)
    return {.data = {}, .note = fmt::format("{} is not there yet", file.string()), .missing = true};
  if (fd.get() < 0) return refused(std::strerror(errno));
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return refused(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refused("not a regular file");
  if (status.st_uid != ::geteuid()) return refused("it belongs to another user");
  if ((status.st_mode & kOtherUsersBits) != 0)
    return refused("its mode lets other users in; it should be 0600");
  if (status.st_size > kMaxFileBytes) return refused("it is larger than any pipeline cache");

  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  if (!read_all(fd.get(), content.data(), content.size()))
    return refused("it cannot be read to its end");
  const std::size_t offset = data_offset(content);
  if (offset == std::string::npos) return refused("it is damaged or not a pipeline cache");
  const std::string_view data = std::string_view(content).substr(offset);
  if (std::string_view(content).substr(0, offset) != header(profile, data)) {
    return refused("it is damaged, or of another device, driver or version");
  }
  return {.data = std::string(data), .note = {}};
}

void store_pipeline_cache(const std::filesystem::path& file, const DeviceProfile& profile,
                          std::string_view data) {
  make_private_folder(file.parent_path());
  if (const int error = replace_private_file(file, {header(profile, data), data}); error != 0)
    fail(ErrorCode::kIo, "cannot write {}: {}", file.string(), std::strerror(error));
}

}  // namespace rooftile
