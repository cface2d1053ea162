// Push constants as the bytes of a dispatch.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace rooftile {

/// Returns the bytes of a block of core/shader_interface.h.
template <typename T>
std::vector<std::byte> bytes_of_block(const T& block) {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(
      !requires { T::kWordsBefore; }, "shader_block() knows its scalars");
  std::vector<std::byte> bytes(sizeof block);
  std::memcpy(bytes.data(), &block, sizeof block);
  return bytes;
}

}  // namespace rooftile
