// A GGUF file on disk, mapped into memory.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/file.h"

namespace rooftile {

/// Immutable and therefore thread-safe. A file that another program shortens meanwhile ends the
/// process with SIGBUS, as with every mapping.
class GgufFile {
 public:
  /// Errors: kIo (cannot be opened, no regular file, and those of parse_gguf), kUnsupported.
  explicit GgufFile(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// Throws kInvalidArgument, with similar names, where there is no such tensor.
  const GgufTensor& tensor(std::string_view name) const;
  /// The blocks of a tensor of this file, valid as long as the file.
  std::span<const std::uint8_t> blocks(const GgufTensor& tensor) const {
    return bytes().subspan(tensor.offset_bytes, tensor.bytes);
  }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(const std::uint8_t* bytes) const;
  };
  std::span<const std::uint8_t> bytes() const { return {map_.get(), map_.get_deleter().size}; }

  std::string name_;
  std::unique_ptr<const std::uint8_t, Unmap> map_{nullptr, Unmap{0}};
  std::vector<GgufTensor> tensors_;
};

}  // namespace rooftile
