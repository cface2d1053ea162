// Arithmetic of device timestamps.
#pragma once

#include <cstdint>

namespace rooftile {

/// Nanoseconds from begin to end, raw values of a counter of valid_bits (1 to 64) that ticks every
/// period_ns, which may be fractional. The counter may have wrapped once in between; bits above
/// valid_bits are ignored.
double elapsed_ns(std::uint64_t begin, std::uint64_t end, std::uint32_t valid_bits,
                  double period_ns);

}  // namespace rooftile
