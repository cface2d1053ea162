#include "gguf/write.h"

#include "core/round.h"

namespace rooftile {
namespace {

constexpr std::uint32_t kVersion = 3, kUnsignedInteger = 4, kQuantizationVersion = 2;
constexpr std::uint64_t kAlignment = 32;  // of tensors, by default

class Header {
 public:
  template <typename Number>
  Header& number(Number value) {
    for (std::size_t byte = 0; byte < sizeof value; ++byte)
      bytes_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> 8 * byte));
    return *this;
  }
  Header& text(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  std::vector<std::uint8_t> aligned() && {
    bytes_.resize(round_up(bytes_.size(), kAlignment));
    return std::move(bytes_);
  }

 private:
  std::vector<std::uint8_t> bytes_ = {'G', 'G', 'U', 'F'};
};

}  // namespace

std::vector<std::uint8_t> gguf_header(std::string_view tensor, BlockFormat format, std::int64_t n,
                                      std::int64_t k) {
  Header header;
  header.number(kVersion).number<std::uint64_t>(1).number<std::uint64_t>(1);
  header.text("general.quantization_version").number(kUnsignedInteger).number(kQuantizationVersion);
  header.text(tensor).number<std::uint32_t>(2);
  header.number(static_cast<std::uint64_t>(k)).number(static_cast<std::uint64_t>(n));
  header.number(layout_of(format).number).number<std::uint64_t>(0);
  return std::move(header).aligned();
}

std::vector<std::uint8_t> gguf_padding(std::size_t bytes) {
  return std::vector<std::uint8_t>(round_up(bytes, kAlignment) - bytes);
}

}  // namespace rooftile
