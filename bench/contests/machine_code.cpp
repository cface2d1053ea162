// No document of NVIDIA's describes the format; this is what the driver 580.159 writes. After the
// headers comes a frame of zstd with a container, all in little-endian order:
//
//     0x00  "NVDANVVM"
//     0x08  "NVuc"; from here on offsets are counted
//     0x0c  u32 version, 1
//     0x10  u16 number of sections
//     0x28  for each section 32 bytes: u32 type, u32 bytes, u32 offset, ...
//
// The section of type 1 is the code.
#include "bench/contests/machine_code.h"

#include <zstd.h>

#include <cstdint>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::string_view kFrame = "\x28\xb5\x2f\xfd";
constexpr std::string_view kContainer("NVDANVVMNVuc\1\0\0\0", 16);
// No container is larger: that of one kernel has some 100 kB.
constexpr std::uint64_t kMostBytes = 64 << 20;
constexpr std::uint64_t kOrigin = 0x08, kSections = 0x10, kTable = 0x28, kSectionBytes = 32;
constexpr std::uint64_t kCode = 1;
constexpr std::uint64_t kInstructionBytes = 16;

std::uint64_t number(std::string_view bytes, std::uint64_t at, std::uint64_t count) {
  std::uint64_t value = 0;
  while (count-- > 0) value = value << 8 | static_cast<unsigned char>(bytes[at + count]);
  return value;
}

std::string container_in(std::string_view cache) {
  const std::size_t at = cache.find(kFrame);
  if (at == std::string_view::npos) fail(ErrorCode::kUnsupported, "the cache has no frame of zstd");
  const std::string_view frame = cache.substr(at);
  const std::uint64_t bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (bytes > kMostBytes)  // So are the values that stand for errors.
    fail(ErrorCode::kUnsupported, "the cache's frame of zstd does not tell a size of at most {} B",
         kMostBytes);
  std::string container(bytes, '\0');
  std::size_t end = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
  if (!ZSTD_isError(end)) end = ZSTD_decompress(container.data(), bytes, frame.data(), end);
  if (ZSTD_isError(end))
    fail(ErrorCode::kUnsupported, "the cache's frame of zstd is damaged: {}",
         ZSTD_getErrorName(end));
  return container;
}

}  // namespace

std::string machine_code(std::string_view cache) {
  const std::string container = container_in(cache);
  if (!container.starts_with(kContainer) || container.size() < kTable)
    fail(ErrorCode::kUnsupported, "the cache holds no container NVuc of version 1");
  const std::uint64_t sections = number(container, kSections, 2);
  if (kTable + sections * kSectionBytes > container.size())
    fail(ErrorCode::kUnsupported, "the container's {} B end before its table of {} sections does",
         container.size(), sections);
  for (std::uint64_t i = 0; i < sections; ++i) {
    const std::uint64_t entry = kTable + i * kSectionBytes;
    if (number(container, entry, 4) != kCode) continue;
    const std::uint64_t bytes = number(container, entry + 4, 4);
    const std::uint64_t from = kOrigin + number(container, entry + 8, 4);
    if (bytes == 0 || bytes % kInstructionBytes != 0 || from + bytes > container.size())
      fail(ErrorCode::kUnsupported, "the container of {} B claims {} B of code from byte {} on",
           container.size(), bytes, from);
    return container.substr(from, bytes);
  }
  fail(ErrorCode::kUnsupported, "none of the container's {} sections is code", sections);
}

}  // namespace rooftile
