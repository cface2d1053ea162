// Advice for OpenBLAS, which chooses its kernels by processor model. For an unknown model it
// chooses very old kernels that are several times slower.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rooftile {

enum class VectorUnit : std::uint8_t { kOlder, kAvx2, kAvx512 };
/// Vector unit of the processor that this code runs on.
VectorUnit vector_unit();

/// Returns what to set so that OpenBLAS uses the vector unit, or "" when its kernels
/// (openblas_get_corename) fit the unit or are unknown.
std::string host_advice(std::string_view core_name, VectorUnit unit);

}  // namespace rooftile
