#include "runtime/device/timestamps.h"

namespace rooftile {

double elapsed_ns(std::uint64_t begin, std::uint64_t end, std::uint32_t valid_bits,
                  double period_ns) {
  constexpr std::uint32_t kAllBits = 64;
  const std::uint64_t mask =
      valid_bits >= kAllBits ? ~std::uint64_t{0} : (std::uint64_t{1} << valid_bits) - 1;
  // Unsigned subtraction is modulo 2^64, and the mask makes it modulo 2^valid_bits, so that one
  // wrap-around cancels out.
  return static_cast<double>((end - begin) & mask) * period_ns;
}

}  // namespace rooftile
