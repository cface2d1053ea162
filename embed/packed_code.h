// SPIR-V modules as few bytes, which embed/header/unpack.h makes modules of again. Kernels of one
// class differ in little: those of float32 for an H200 take an eleventh.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "embed/embedded_shader.h"

namespace rooftile {

struct PackedCode {
  std::string bytes;
  std::vector<std::size_t> first;  ///< Where each module begins in what is unpacked, in bytes.
  std::size_t unpacked = 0;        ///< Its length.
};

/// First each word becomes its difference from the last word in the same place of an instruction of
/// the same kind, as a number of 7 bits a byte. Then repetitions become lengths and distances.
PackedCode packed_code(const std::vector<EmbeddedShader>& shaders);

}  // namespace rooftile
