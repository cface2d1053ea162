// Conversions between float32 and the other element types. The 16-bit floats are IEEE half
// precision and bfloat16: conversions to them round to nearest even and keep infinities, NaN and
// denormals.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace rooftile {

/// The largest finite float16. A conversion of 65520 or more gives infinity.
inline constexpr float kLargestF16 = 65504;

float from_f16(std::uint16_t bits);
std::uint16_t to_f16(float x);
float from_bf16(std::uint16_t bits);
std::uint16_t to_bf16(float x);

/// Converts count elements between a type, as it lies in memory, and float32. Float64 is rounded to
/// nearest even. Conversions to integers round to nearest even and saturate; NaN becomes 0.
void widen(DataType type, const void* elements, float* values, std::int64_t count);
void narrow(DataType type, const float* values, void* elements, std::int64_t count);
/// Converts from float64 to a floating-point type with a single rounding to nearest even.
void narrow(DataType type, const double* values, void* elements, std::int64_t count);
/// Converts to float64, which represents the elements of every type exactly.
void widen(DataType type, const void* elements, double* values, std::int64_t count);
/// The element at index, exactly.
double element(DataType type, const void* elements, std::int64_t index);

}  // namespace rooftile
