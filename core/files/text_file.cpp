#include "core/files/text_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/error.h"

namespace rooftile {

std::string read_text_file(const std::filesystem::path& file) {
  constexpr std::size_t kMostMiB = 64, kMostBytes = kMostMiB << 20, kPiece = 1 << 16;
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown))
    fail(ErrorCode::kIo, "{} is a folder; name a file in it", file.string());
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  while (stream && text.size() <= kMostBytes) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    stream.read(text.data() + before, kPiece);
    text.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  if (text.size() > kMostBytes)
    fail(ErrorCode::kIo, "{} is longer than {} MiB; name a text file", file.string(), kMostMiB);
  if (!stream.eof())
    fail(ErrorCode::kIo, "cannot read {}: {}", file.string(), std::strerror(errno));
  return text;
}

}  // namespace rooftile
