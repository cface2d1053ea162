// Arithmetic of device timestamps.
#pragma once

#include <cstdint>

namespace rooftile {

/// Returns the nanoseconds from begin to end, which are raw values of a counter with valid_bits (1
/// to 64) bits and a period of period_ns, which may be fractional. The counter may have wrapped
/// once in between; bits above valid_bits are ignored.
double elapsed_ns(std::uint64_t begin, std::uint64_t end, std::uint32_t valid_bits,
                  double period_ns);

}  // namespace rooftile
