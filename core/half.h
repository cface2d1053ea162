// Elements other than float32. 16-bit floats are IEEE half precision and bfloat16: conversions
// round to nearest even, keep infinities and NaN, and keep denormals.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace rooftile {

float from_f16(std::uint16_t bits);
std::uint16_t to_f16(float x);  // beyond 65504: infinity
float from_bf16(std::uint16_t bits);
std::uint16_t to_bf16(float x);

/// Elements of a type (as it lies in memory) to and from float32. count of each. Integers are
/// rounded to nearest even and held inside their range; NaN becomes 0.
void widen(DataType type, const void* elements, float* values, std::int64_t count);
void narrow(DataType type, const float* values, void* elements, std::int64_t count);
/// The same from float64 for the floating-point types, rounded once to nearest even.
void narrow(DataType type, const double* values, void* elements, std::int64_t count);
/// The same to float64; every type's elements are exact there.
void widen(DataType type, const void* elements, double* values, std::int64_t count);
/// The index-th element, exactly.
double element(DataType type, const void* elements, std::int64_t index);

}  // namespace rooftile
