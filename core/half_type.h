// float16 as the compiler has it, where it has it.
#pragma once

namespace rooftile {

#if defined(__aarch64__)
#define ROOFTILE_HAS_HALF_TYPE
using HalfType = __fp16;  // of the same format; GCC 12 has no _Float16 in C++ on arm64
#elif defined(__FLT16_MANT_DIG__)
#define ROOFTILE_HAS_HALF_TYPE
using HalfType = _Float16;
#endif

}  // namespace rooftile
