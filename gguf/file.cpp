#include "gguf/file.h"

#include <algorithm>
#include <bit>
#include <set>

#include "core/error.h"
#include "core/round.h"
#include "core/text_table.h"

namespace rooftile {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint32_t kOldest = 2, kNewest = 3;
constexpr std::uint64_t kUsualAlignment = 32, kLeastAlignment = 8;
// As ggml's reader has them: bounds of alignments, of names (GGML_MAX_NAME) and of sizes.
constexpr std::uint64_t kMostAlignment = 1 << 20;
constexpr std::size_t kLongestName = 63, kMostSizes = 4;

// Numbers of metadata types, and the bytes of those of fixed size.
constexpr std::uint32_t kUint32 = 4, kString = 8, kArray = 9;
constexpr std::array<std::uint64_t, 13> kValueBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/// Reads from the front, never beyond the end.
class Cursor {
 public:
  Cursor(std::span<const std::uint8_t> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }
  void skip(std::uint64_t count) {
    if (count > left()) fail(ErrorCode::kIo, "{} is cut short: it ends within its header", file_);
    at_ += count;
  }
  std::uint64_t number(int size) {
    skip(static_cast<std::uint64_t>(size));
    std::uint64_t value = 0;
    for (int byte = 0; byte < size; ++byte)
      value |=
          static_cast<std::uint64_t>(
              bytes_[at_ - static_cast<std::uint64_t>(size) + static_cast<std::uint64_t>(byte)])
          << 8 * byte;
    return value;
  }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number(4)); }
  std::string_view text() {
    const std::uint64_t size = number(8);
    skip(size);
    return {reinterpret_cast<const char*>(&bytes_[0]) + (at_ - size), size};
  }
  [[noreturn]] void damaged(std::string_view what) const {
    fail(ErrorCode::kIo, "{} is damaged: {}", file_, what);
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::string_view file_;
  std::uint64_t at_ = 0;
};

void skip_value(Cursor& cursor, std::uint32_t type) {
  std::uint64_t count = 1;
  if (type == kArray) {
    type = cursor.number32();
    count = cursor.number(8);
  }
  if (type == kArray) cursor.damaged("its metadata has an array of arrays");
  if (type >= kValueBytes.size())
    cursor.damaged(fmt::format("metadata of the unknown type {}", type));
  if (count > cursor.left() / std::max<std::uint64_t>(kValueBytes[type], 1))
    cursor.damaged("an array of its metadata exceeds the file");
  cursor.skip(count * kValueBytes[type]);
  for (std::uint64_t i = 0; type == kString && i < count; ++i) cursor.text();
}

/// Skips the metadata; returns the alignment of the tensors, which it may name.
std::uint64_t alignment_of(Cursor& cursor, std::uint64_t count) {
  std::uint64_t alignment = kUsualAlignment;
  std::set<std::string_view> keys;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view key = cursor.text();
    if (!keys.insert(key).second) cursor.damaged("two values of its metadata have the same key");
    const std::uint32_t type = cursor.number32();
    if (key == "general.alignment") {
      if (type != kUint32) cursor.damaged("its alignment is no unsigned integer of 32 bits");
      alignment = cursor.number32();
      if (alignment < kLeastAlignment || alignment > kMostAlignment ||
          !std::has_single_bit(alignment))
        cursor.damaged(fmt::format("its alignment is {}, no power of two from {} to {}", alignment,
                                   kLeastAlignment, kMostAlignment));
    } else {
      skip_value(cursor, type);
    }
  }
  return alignment;
}

GgufTensor tensor_of(Cursor& cursor) {
  GgufTensor tensor;
  const std::string_view name = cursor.text();
  if (name.empty() || name.size() > kLongestName || !is_printable(name))
    cursor.damaged(
        fmt::format("a tensor's name is not 1 to {} bytes of printable UTF-8", kLongestName));
  tensor.name = name;
  const std::uint32_t sizes = cursor.number32();
  if (sizes > kMostSizes)
    cursor.damaged(fmt::format("tensor {} has {} sizes; four are possible", name, sizes));
  for (std::uint32_t i = 0; i < sizes; ++i) {
    const std::uint64_t size = cursor.number(8);
    if (size > INT64_MAX) cursor.damaged(fmt::format("tensor {} has a size of {}", name, size));
    tensor.sizes.insert(tensor.sizes.begin(), static_cast<std::int64_t>(size));
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.sizes)
    if (__builtin_mul_overflow(elements, size, &elements))
      cursor.damaged(fmt::format("tensor {} has more elements than can be counted", name));
  tensor.format = cursor.number32();
  tensor.offset_bytes = cursor.number(8);
  return tensor;
}

/// Bytes of a tensor of a format that ggml has.
std::uint64_t bytes_of(const GgufTensor& tensor, const GgufBlock& block, const Cursor& cursor) {
  if (tensor.row() % block.elements != 0)
    cursor.damaged(fmt::format("a row of tensor {} has {} elements, no multiple of the {} of {}",
                               tensor.name, tensor.row(), block.elements, block.name));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.rows() * (tensor.row() / block.elements), block.bytes, &bytes))
    cursor.damaged(fmt::format("tensor {} has more bytes than can be counted", tensor.name));
  return static_cast<std::uint64_t>(bytes);
}

/// Where tensors must lie, as ggml's reader has it: side by side in their order, each at the next
/// multiple of the alignment. Only the last one may be of a format, and thus a size, that is not
/// known.
/// data: where they begin in a file of so many bytes.
void place(std::vector<GgufTensor>& tensors, std::uint64_t data, std::uint64_t file,
           std::uint64_t alignment, const Cursor& cursor) {
  std::uint64_t next = 0;
  for (GgufTensor& tensor : tensors) {
    const std::uint64_t offset = tensor.offset_bytes;
    if (offset != next)
      cursor.damaged(
          fmt::format("tensor {} begins at byte {} of the data instead of at {}: tensors follow "
                      "each other, at multiples of {}",
                      tensor.name, offset, next, alignment));
    if (const auto block = ggml_block(tensor.format))
      tensor.bytes = bytes_of(tensor, *block, cursor);
    else if (&tensor != &tensors.back())
      cursor.damaged(fmt::format(
          "tensor {} has the unknown {}, so that where the next one begins is not known",
          tensor.name, format_text(tensor)));
    if (data > file || offset > file - data || tensor.bytes > file - data - offset)
      cursor.damaged(fmt::format("tensor {} lies beyond the end of the file", tensor.name));
    next = offset + round_up(tensor.bytes, alignment);
    tensor.offset_bytes += data;
  }
}

}  // namespace

std::int64_t GgufTensor::rows() const {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
  return rows;
}

std::string format_text(const GgufTensor& tensor) {
  const std::string_view name = gguf_format_name(tensor.format);
  return name.empty() ? fmt::format("format {}", tensor.format) : std::string(name);
}

std::vector<GgufTensor> parse_gguf(std::span<const std::uint8_t> bytes, std::string_view name) {
  Cursor cursor(bytes, name);
  if (bytes.size() < 24 || cursor.number32() != kMagic)
    fail(ErrorCode::kIo, "{} is no GGUF file", name);
  const std::uint32_t version = cursor.number32();
  if (version < kOldest || version > kNewest)
    fail(ErrorCode::kUnsupported,
         "{} is a GGUF file of version {} (or of another byte order); known: {} and {}", name,
         version, kOldest, kNewest);
  const std::uint64_t tensor_count = cursor.number(8), pair_count = cursor.number(8);
  const std::uint64_t alignment = alignment_of(cursor, pair_count);
  // The shortest description: length and letter of the name, number of sizes, format, offset.
  constexpr std::uint64_t kShortest = 8 + 1 + 4 + 4 + 8;
  if (tensor_count > cursor.left() / kShortest)
    cursor.damaged(fmt::format("it is cut short: it has no room for its {} tensors", tensor_count));
  std::vector<GgufTensor> tensors;
  std::set<std::string_view> names;
  tensors.reserve(tensor_count);
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    tensors.push_back(tensor_of(cursor));
    if (!names.insert(tensors.back().name).second)
      cursor.damaged(fmt::format("two tensors have the name {}", tensors.back().name));
  }
  place(tensors, round_up(cursor.at(), alignment), bytes.size(), alignment, cursor);
  return tensors;
}

}  // namespace rooftile
