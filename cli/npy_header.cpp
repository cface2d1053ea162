#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "cli/npy.h"
#include "core/error.h"

namespace rooftile {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;     // major, minor
constexpr std::size_t kLengthBytes1 = 2;     // of the header's length in version 1.0
constexpr std::size_t kLengthBytes2 = 4;     // and since 2.0, little-endian both
constexpr std::size_t kAlignmentBytes = 64;  // of the first element in files that NumPy writes

struct TypeNames {
  std::string_view descr, numpy;
  std::int64_t bytes;
};
constexpr std::array<TypeNames, 6> kTypes = {{{"f4", "float32", 4},
                                              {"f8", "float64", 8},
                                              {"f2", "float16", 2},
                                              {"i1", "int8", 1},
                                              {"u1", "uint8", 1},
                                              {"i4", "int32", 4}}};

const TypeNames& names(NpyType type) { return kTypes[static_cast<std::size_t>(type)]; }

/// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and nothing else.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        if (descr_) damaged("'descr' comes twice");
        descr_ = descr();
      } else if (key == "fortran_order") {
        if (order_) damaged("'fortran_order' comes twice");
        order_ = truth() ? ArrayOrder::kFortran : ArrayOrder::kC;
      } else if (key == "shape") {
        if (shape_) damaged("'shape' comes twice");
        shape_ = shape();
      } else {
        damaged(fmt::format("unknown key '{}'", key.substr(0, kQuotedCharacters)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty()) damaged("something follows its closing brace");
    if (!descr_ || !order_ || !shape_)
      damaged("one of 'descr', 'fortran_order' and 'shape' is missing");

    NpyHeader header = element_type(*descr_);
    header.order = *order_;
    header.shape = std::move(*shape_);
    return header;
  }

 private:
  static constexpr std::size_t kQuotedCharacters =
      40;  // Limit for text from the file in a message.

  [[noreturn]] void damaged(std::string_view what) const {
    fail(ErrorCode::kIo, "{}: the .npy header is damaged: {}; write the file again with numpy.save",
         file_, what);
  }

  void skip_space() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t' ||
                              text_.front() == '\n' || text_.front() == '\r'))
      text_.remove_prefix(1);
  }

  bool accept(char expected) {
    skip_space();
    if (text_.empty() || text_.front() != expected) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char expected) {
    if (!accept(expected)) damaged(fmt::format("'{}' expected", expected));
  }

  std::string string() {
    skip_space();
    const char quote = text_.empty() ? '\0' : text_.front();
    if (quote != '\'' && quote != '"') damaged("a string expected");
    text_.remove_prefix(1);
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) damaged("a string does not end");
    const std::string value(text_.substr(0, end));
    for (const char c : value)
      if (c == '\\' || c < ' ' || c > '~') damaged("a string holds an escape or control character");
    text_.remove_prefix(end + 1);
    return value;
  }

  std::string descr() {
    skip_space();
    if (!text_.empty() && (text_.front() == '[' || text_.front() == '('))
      fail(ErrorCode::kUnsupported,
           "{} holds records (a structured type): only float32 and float64 arrays can be "
           "multiplied; save one field as an array of its own",
           file_);
    return string();
  }

  bool truth() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true},
                                      std::pair<std::string_view, bool>{"False", false}}) {
      if (text_.substr(0, word.size()) != word) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    damaged("True or False expected");
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(size());
      if (accept(',')) continue;
      expect(')');
      if (sizes.size() == 1) damaged("its shape is a number, not a tuple");
      break;
    }
    return sizes;
  }

  std::int64_t size() {
    skip_space();
    if (text_.empty() || text_.front() < '0' || text_.front() > '9')
      damaged("its shape holds something other than whole numbers from 0 on");
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) damaged("its shape holds a number beyond 64 bits");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (!text_.empty() && text_.front() == 'L') text_.remove_prefix(1);  // a Python 2 long
    return value;
  }

  NpyHeader element_type(std::string_view descr) const {
    std::string_view type = descr;
    NpyHeader header{.byte_order = std::endian::native};
    if (type.starts_with('<')) header.byte_order = std::endian::little;
    if (type.starts_with('>')) header.byte_order = std::endian::big;
    // Bytes have no order: NumPy writes '|'.
    if (type.starts_with('<') || type.starts_with('>') || type.starts_with('=') ||
        type.starts_with('|'))
      type.remove_prefix(1);
    const auto known = std::ranges::find(kTypes, type, &TypeNames::descr);
    if (known == kTypes.end() || (descr.starts_with('|') && known->bytes > 1))
      fail(ErrorCode::kUnsupported,
           "{} holds elements of type '{}': only float32, float64, float16, int8, uint8 and int32 "
           "can be read; convert with a.astype(numpy.float32)",
           file_, descr.substr(0, kQuotedCharacters));
    header.type = static_cast<NpyType>(known - kTypes.begin());
    return header;
  }

  std::string_view text_, file_;
  std::optional<std::string> descr_;
  std::optional<ArrayOrder> order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Checks that the number of bytes fits into 63 bits; no file can be larger.
void check_countable(const NpyHeader& header, std::string_view file) {
  if (std::ranges::find(header.shape, 0) != header.shape.end()) return;
  std::int64_t bytes = bytes_of(header.type);
  for (const std::int64_t size : header.shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      fail(ErrorCode::kIo, "{}: its shape {} needs more than 2^63 bytes: the header is damaged",
           file, shape_text(header.shape));
}

}  // namespace

std::string_view numpy_name(NpyType type) { return names(type).numpy; }
std::int64_t bytes_of(NpyType type) { return names(type).bytes; }

std::int64_t element_count(const NpyHeader& header) {
  if (std::ranges::find(header.shape, 0) != header.shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : header.shape) count *= size;
  return count;
}

std::uint64_t data_bytes(const NpyHeader& header) {
  return static_cast<std::uint64_t>(element_count(header) * bytes_of(header.type));
}

std::string shape_text(std::span<const std::int64_t> shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  std::string text = "(";
  for (const std::int64_t size : shape)
    text += fmt::format("{}{}", text.size() == 1 ? "" : ", ", size);
  return text + ")";
}

std::string index_text(const NpyHeader& header, std::int64_t position) {
  std::vector<std::int64_t> index(header.shape.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::size_t axis = header.order == ArrayOrder::kC ? index.size() - 1 - i : i;
    index[axis] = position % header.shape[axis];
    position /= header.shape[axis];
  }
  std::string text = "[";
  for (const std::int64_t i : index) text += fmt::format("{}{}", text.size() == 1 ? "" : ", ", i);
  return text + "]";
}

NpyHeader parse_npy_header(std::string_view bytes, std::string_view file) {
  if (bytes.starts_with("GGUF"))
    fail(ErrorCode::kIo,
         "{0} is a GGUF file; `rooftile gguf {0}` lists its tensors, `rooftile gemm A.npy "
         "{0}:TENSOR` multiplies with one, and `rooftile gguf {0} --tensor TENSOR -o W.npy` writes "
         "one as .npy",
         file);
  if (!bytes.starts_with(kMagic))
    fail(ErrorCode::kIo, "{} is not a .npy file{}; write one with numpy.save", file,
         bytes.empty() ? " (it is empty)" : "");
  const auto cut_short = [&] {
    fail(ErrorCode::kIo,
         "{}: the .npy header is cut short: the file is incomplete; copy or write it again", file);
  };
  std::size_t at = kMagic.size();
  if (bytes.size() < at + kVersionBytes) cut_short();
  const int major = static_cast<unsigned char>(bytes[at]);
  const int minor = static_cast<unsigned char>(bytes[at + 1]);
  at += kVersionBytes;
  if (major < 1 || major > 3 || minor != 0)
    fail(ErrorCode::kUnsupported,
         "{} has .npy format version {}.{}: 1.0, 2.0 and 3.0 can be read; write it with numpy.save",
         file, major, minor);

  const std::size_t length_bytes = major == 1 ? kLengthBytes1 : kLengthBytes2;
  if (bytes.size() < at + length_bytes) cut_short();
  const std::size_t length = little_endian(bytes.substr(at, length_bytes));
  at += length_bytes;
  if (length > kMaxNpyHeaderBytes - at)
    fail(ErrorCode::kIo,
         "{}: the .npy header claims {} bytes, far more than an array needs: the file is damaged",
         file, length);
  if (bytes.size() - at < length) cut_short();

  NpyHeader header = HeaderParser(bytes.substr(at, length), file).parse();
  header.data_offset_bytes = at + length;
  check_countable(header, file);
  return header;
}

std::string npy_header_bytes(NpyType type, std::span<const std::int64_t> shape) {
  const TypeNames& t = names(type);
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                 t.bytes == 1 ? '|' : '<', t.descr, shape_text(shape));
  const std::size_t before = kMagic.size() + kVersionBytes + kLengthBytes1;
  const std::size_t unpadded = before + text.size() + 1;  // and the closing line end
  text.append((kAlignmentBytes - unpadded % kAlignmentBytes) % kAlignmentBytes, ' ');
  text += '\n';
  std::string bytes(kMagic);
  bytes +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return bytes + text;
}

}  // namespace rooftile
