// OpenBLAS chooses its kernels by processor model; one that it does not know gets very old ones,
// several times slower.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rooftile {

enum class VectorUnit : std::uint8_t { kOlder, kAvx2, kAvx512 };
/// Of the processor that this runs on.
VectorUnit vector_unit();

/// What to set so that OpenBLAS uses the vector unit, or "" when its kernels
/// (openblas_get_corename) fit it, or are unknown.
std::string host_advice(std::string_view core_name, VectorUnit unit);

}  // namespace rooftile
