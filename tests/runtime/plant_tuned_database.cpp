// plant_tuned_database FILE fast|even: a tuned database for the first device that is here, with a
// host that usually wins (fast) or wins small problems (even).
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "generator/space.h"
#include "runtime/device/device.h"
#include "tests/runtime/planted_database.h"

int main(int argc, char** argv) try {
  using namespace rooftile;
  if (argc != 3) throw std::runtime_error("FILE fast|even");
  const Enumeration found = enumerate_devices();
  if (found.devices.empty()) throw std::runtime_error(found.note);
  const DeviceProfile& device = found.devices.front();
  plant_database(argv[1], device, {default_variant(device), fallback_variant()}, {}, {},
                 std::string_view(argv[2]) == "even" ? even_host() : fast_host());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "plant_tuned_database: %s\n", error.what());
  return 1;
}
