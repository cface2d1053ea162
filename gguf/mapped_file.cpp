#include "gguf/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::size_t kMostSimilar = 5;

/// How many characters have to be inserted, removed or replaced to make one name of the other.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // from the read part of a to each beginning of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char in_a : a) {
    std::size_t before = std::exchange(row[0], row[0] + 1);
    for (std::size_t i = 0; i < b.size(); ++i) {
      const std::size_t replaced = before + (in_a != b[i] ? 1 : 0);
      before = row[i + 1];
      row[i + 1] = std::min({replaced, before + 1, row[i] + 1});
    }
  }
  return row.back();
}

/// The names that contain this one, and those that a few edits make of it, closest first.
std::string similar_names(std::string_view name, const std::vector<GgufTensor>& tensors) {
  const std::size_t most = std::max<std::size_t>(2, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> similar;
  for (const GgufTensor& tensor : tensors) {
    const std::string_view other = tensor.name;
    if (other.find(name) != std::string_view::npos)
      similar.emplace_back(0, other);
    else if (const auto [shorter, longer] = std::minmax({other.size(), name.size()});
             longer - shorter <= most)
      similar.emplace_back(edits(name, other), other);
  }
  std::erase_if(similar, [&](const auto& other) { return other.first > most; });
  std::ranges::stable_sort(similar, {}, [](const auto& other) { return other.first; });
  similar.resize(std::min(similar.size(), kMostSimilar));
  std::string text;
  for (const auto& [unused, other] : similar)
    text += fmt::format("{}{}", text.empty() ? "; similar: " : ", ", other);
  return text;
}

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
  fail(ErrorCode::kInvalidArgument, "{} has no tensor '{}'{}; `rooftile gguf {}` lists them", name_,
       name, similar_names(name, tensors_), name_);
}

}  // namespace rooftile
