// Usage: write_tuned_database FILE fast|even|slow [TYPES[:EPILOGUE]...]
//
// Writes a tuned database for the first device of this machine, with a host that is usually faster
// than the device (fast), faster for small problems only (even), or never (slow). The database has
// kernels for float32 calls without an epilogue, and the fallback kernel for all types and
// epilogues that are named.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string_view>

#include "generator/space.h"
#include "runtime/device/device.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/synthetic_database.h"

namespace {

rooftile::Calibration host_named(std::string_view name) {
  if (name == "fast") return rooftile::fast_host();
  if (name == "even") return rooftile::even_host();
  if (name == "slow") return rooftile::slow_host();
  throw std::runtime_error("FILE fast|even|slow");
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace rooftile;
  if (argc < 3) throw std::runtime_error("FILE fast|even|slow [TYPES[:EPILOGUE]...]");
  const Enumeration found = enumerate_devices();
  if (found.devices.empty()) throw std::runtime_error(found.note);
  const DeviceProfile& device = found.devices.front();
  write_test_database(argv[1], device, {fast_kernel(device), fallback_variant()}, {}, {},
                      host_named(argv[2]));
  for (const std::string_view named : std::span(argv + 3, argv + argc)) {
    const std::size_t colon = std::min(named.find(':'), named.size());
    const std::string_view epilogue = named.substr(std::min(colon + 1, named.size()));
    const Types types = parse_types(named.substr(0, colon));
    // Calls use kernels that may round only where these are faster than those for float32.
    write_test_database(argv[1], device, {fallback_variant()},
                        epilogue.empty() ? Epilogue{} : parse_epilogue(epilogue), types,
                        host_named(argv[2]), types.rounding == Rounding::kNone ? 1e5 : 0.9e5);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "write_tuned_database: %s\n", error.what());
  return 1;
}
