// Use of a buffer, which determines its memory type.
#pragma once

#include <cstdint>

namespace rooftile {

enum class BufferUse : std::uint8_t {
  kDevice,    ///< Fastest for kernels; mapped only on unified memory.
  kUpload,    ///< The host writes, the device reads; always mapped.
  kDownload,  ///< The device writes, the host reads; always mapped, cached.
};

}  // namespace rooftile
