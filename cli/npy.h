// NumPy's .npy files: format versions 1.0, 2.0 and 3.0, the element types of NpyType.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/file_descriptor.h"

namespace rooftile {

enum class NpyType : std::uint8_t { kF32, kF64, kF16, kI8, kU8, kI32 };
std::string_view numpy_name(NpyType type);              // "float32"
std::int64_t bytes_of(NpyType type);                    // of one element
enum class ArrayOrder : std::uint8_t { kC, kFortran };  // last, first index fastest

struct NpyHeader {
  NpyType type = NpyType::kF32;
  std::endian byte_order = std::endian::little;
  ArrayOrder order = ArrayOrder::kC;
  std::vector<std::int64_t> shape;      // () is a single number
  std::uint64_t data_offset_bytes = 0;  // of the first element, from the start of the file

  bool operator==(const NpyHeader&) const = default;
};

std::int64_t element_count(const NpyHeader& header);
std::uint64_t data_bytes(const NpyHeader& header);
/// As NumPy writes it: "(3, 4)", "(3,)", "()".
std::string shape_text(std::span<const std::int64_t> shape);

/// No supported array needs a longer header; the limit protects against hostile files.
inline constexpr std::size_t kMaxNpyHeaderBytes = 1 << 20;

/// bytes: the file's beginning, up to its end or kMaxNpyHeaderBytes. The parser accepts only
/// dictionaries of strings, truth values and tuples of whole numbers; no Python is evaluated. file:
/// its name for messages.
/// Errors: kIo (no .npy, cut short, damaged), kUnsupported (another element type, a version of the
/// future).
NpyHeader parse_npy_header(std::string_view bytes, std::string_view file);

/// Everything before the first element, padded to 64 bytes, exactly as numpy.save writes it.
/// C order, little-endian.
std::string npy_header_bytes(NpyType type, std::span<const std::int64_t> shape);

/// An open .npy file whose size matches its header, so that nothing is allocated for missing data.
class NpyReader {
 public:
  /// Errors: kIo (cannot be opened, no regular file, damaged, cut short, bytes after the data),
  /// kUnsupported as above.
  explicit NpyReader(const std::filesystem::path& path);

  const NpyHeader& header() const { return header_; }
  const std::string& name() const { return name_; }  // as given, for messages

  /// All elements in the order of the file, converted to this machine's byte order. values has
  /// element_count() of them. float64 to float32 rounds to nearest; a finite number whose rounding
  /// is not finite is refused with its index (kUnsupported). Errors: kIo. Once only.
  void read(std::span<float> values);
  void read(std::span<double> values);
  /// The same as the bytes of the file's own type, in this machine's order: data_bytes() of them.
  std::vector<char> read_bytes();

 private:
  template <typename Stored, typename Value>
  void read_as(std::span<Value> values);
  template <typename Value>
  void read_any(std::span<Value> values);

  std::string name_;
  FileDescriptor file_;
  NpyHeader header_;
};

/// The index of an element of the file's order: "[2, 7]".
std::string index_text(const NpyHeader& header, std::int64_t position);

}  // namespace rooftile
