// plant_database FILE: a tuning database of this machine's first device, by which the device wins
// every product that is asked for.
#include <cstdio>
#include <exception>

#include "core/error.h"
#include "generator/space.h"
#include "runtime/device/device.h"
#include "tests/runtime/planted_database.h"

int main(int argc, char** argv) try {
  using namespace rooftile;
  if (argc != 2) return 2;
  const Enumeration found = enumerate_devices();
  if (found.devices.empty()) fail(ErrorCode::kDevice, "no Vulkan device: {}", found.note);
  const DeviceProfile& device = found.devices.front();
  plant_database(argv[1], device, {default_variant(device), fallback_variant()}, {}, {},
                 slow_host());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "plant_database: %s\n", error.what());
  return 1;
}
