#include "cli/npy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/error.h"
#include "core/half.h"

namespace rooftile {
namespace {

constexpr std::size_t kChunkElements =
    1 << 16;  // Converted at a time, so that they stay in the second-level cache.

/// Reads exactly size bytes. Returns false when the file ends before.
bool read_exactly(int fd, void* to, std::size_t size, std::string_view name) {
  char* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorCode::kIo, "cannot read {}: {}", name, std::strerror(errno));
    if (got == 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

template <typename T>
T byte_swapped(T value) {
  auto* const bytes = reinterpret_cast<unsigned char*>(&value);
  std::reverse(bytes, bytes + sizeof value);
  return value;
}

/// float16 element of a file.
struct Half {
  std::uint16_t bits;
  explicit operator float() const { return from_f16(bits); }
  explicit operator double() const { return static_cast<double>(from_f16(bits)); }
};

}  // namespace

NpyReader::NpyReader(const std::filesystem::path& path) : name_(path.string()) {
  file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file_) fail(ErrorCode::kIo, "cannot open {}: {}", name_, std::strerror(errno));
  struct stat status = {};
  if (::fstat(file_.get(), &status) != 0)
    fail(ErrorCode::kIo, "cannot read {}: {}", name_, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(ErrorCode::kIo, "{} is a folder, not a .npy file", name_);
  if (!S_ISREG(status.st_mode))
    fail(ErrorCode::kIo, "{} is no regular file: its size must be known; save it to a disk first",
         name_);
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);

  std::string start(std::min<std::uint64_t>(file_bytes, kMaxNpyHeaderBytes), '\0');
  if (!read_exactly(file_.get(), start.data(), start.size(), name_))
    fail(ErrorCode::kIo, "{} became shorter while it was read", name_);
  header_ = parse_npy_header(start, name_);

  const std::uint64_t present = file_bytes - header_.data_offset_bytes;
  const std::uint64_t expected = data_bytes(header_);
  if (present < expected)
    fail(ErrorCode::kIo,
         "{} is cut short: its shape {} takes {} bytes of data and {} are there; copy or write it "
         "again",
         name_, shape_text(header_.shape), expected, present);
  if (present > expected)
    fail(ErrorCode::kIo,
         "{} has {} bytes after the data that its shape {} takes: it is damaged, or several arrays "
         "in one file; save one array a file",
         name_, present - expected, shape_text(header_.shape));
  if (::lseek(file_.get(), static_cast<off_t>(header_.data_offset_bytes), SEEK_SET) < 0)
    fail(ErrorCode::kIo, "cannot read {}: {}", name_, std::strerror(errno));
}

template <typename Stored, typename Value>
void NpyReader::read_as(std::span<Value> values) {
  std::vector<Stored> chunk(std::min(values.size(), kChunkElements));
  for (std::size_t done = 0; done < values.size();) {
    const std::size_t count = std::min(values.size() - done, kChunkElements);
    if (!read_exactly(file_.get(), chunk.data(), count * sizeof(Stored), name_))
      fail(ErrorCode::kIo, "{} became shorter while it was read", name_);
    for (std::size_t i = 0; i < count; ++i) {
      const Stored stored =
          header_.byte_order == std::endian::native ? chunk[i] : byte_swapped(chunk[i]);
      const auto value = static_cast<Value>(stored);
      if constexpr (std::is_floating_point_v<Stored> && sizeof(Value) < sizeof(Stored)) {
        if (std::isinf(value) && std::isfinite(stored))
          fail(ErrorCode::kUnsupported, "{}{} is {}, beyond float32: scale the array", name_,
               index_text(header_, static_cast<std::int64_t>(done + i)), stored);
      }
      values[done + i] = value;
    }
    done += count;
  }
}

template <typename Value>
void NpyReader::read_any(std::span<Value> values) {
  switch (header_.type) {
    case NpyType::kF32:
      return read_as<float>(values);
    case NpyType::kF64:
      return read_as<double>(values);
    case NpyType::kF16:
      return read_as<Half>(values);
    case NpyType::kI8:
      return read_as<std::int8_t>(values);
    case NpyType::kU8:
      return read_as<std::uint8_t>(values);
    case NpyType::kI32:
      return read_as<std::int32_t>(values);
  }
}
void NpyReader::read(std::span<float> values) { read_any(values); }
void NpyReader::read(std::span<double> values) { read_any(values); }

std::vector<char> NpyReader::read_bytes() {
  std::vector<char> bytes(data_bytes(header_));
  if (!read_exactly(file_.get(), bytes.data(), bytes.size(), name_))
    fail(ErrorCode::kIo, "{} became shorter while it was read", name_);
  const auto element = static_cast<std::size_t>(bytes_of(header_.type));
  if (header_.byte_order != std::endian::native)
    for (std::size_t at = 0; at < bytes.size(); at += element)
      std::reverse(bytes.data() + at, bytes.data() + at + element);
  return bytes;
}

}  // namespace rooftile
