#include "gguf/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::size_t kMostSimilar = 5;

}  // namespace

void GgufFile::Unmap::operator()(const std::uint8_t* bytes) const {
  ::munmap(const_cast<std::uint8_t*>(bytes), size);
}

GgufFile::GgufFile(const std::filesystem::path& path) : name_(path.string()) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(ErrorCode::kIo, "cannot open {}: {}", name_, std::strerror(errno));
  struct stat about = {};
  const bool regular = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const auto size = static_cast<std::size_t>(about.st_size);
  void* const map =
      regular && size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  const int why = errno;
  ::close(file);
  if (!regular) fail(ErrorCode::kIo, "{} is no regular file", name_);
  if (size == 0) fail(ErrorCode::kIo, "{} is no GGUF file: it is empty", name_);
  if (map == MAP_FAILED) fail(ErrorCode::kIo, "cannot map {}: {}", name_, std::strerror(why));
  map_ = {static_cast<const std::uint8_t*>(map), Unmap{size}};
  tensors_ = parse_gguf(bytes(), name_);
}

const GgufTensor& GgufFile::tensor(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, &GgufTensor::name);
  if (found != tensors_.end()) return *found;
  std::string similar;
  std::size_t count = 0;
  for (const GgufTensor& other : tensors_)
    if (other.name.find(name) != std::string::npos && count++ < kMostSimilar)
      similar += (similar.empty() ? "; similar: " : ", ") + other.name;
  fail(ErrorCode::kInvalidArgument, "{} has no tensor '{}'{}", name_, name, similar);
}

}  // namespace rooftile
