// Environment variables, a line each: NAME=value. Every function that reads one takes it or refuses
// it with an Error.
#include "runtime/dispatch/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "db/open/database_path.h"
#include "runtime/kernel/shader_cache.h"
#include "runtime/support/log.h"
#include "runtime/tuned/wanted_device.h"
#include "tests/fuzz/fuzz.h"

namespace rooftile {
namespace {

constexpr std::array<const char*, 15> kVariables = {"ROOFTILE_DB",
                                                    "ROOFTILE_DEVICE",
                                                    "ROOFTILE_DEVICES",
                                                    "ROOFTILE_TIER",
                                                    "ROOFTILE_PRECISION",
                                                    "ROOFTILE_BLAS",
                                                    "ROOFTILE_CACHE",
                                                    "ROOFTILE_LOG",
                                                    "ROOFTILE_DETERMINISTIC",
                                                    "ROOFTILE_VALIDATION",
                                                    "ROOFTILE_MEASURE_CALLS",
                                                    "ROOFTILE_LOG_UNTUNED",
                                                    "HOME",
                                                    "XDG_DATA_HOME",
                                                    "XDG_CACHE_HOME"};

/// The first byte of a line is the number of its variable. Values end at NUL, as the system's do.
void set_variables(std::string_view lines) {
  for (const char* variable : kVariables) ::unsetenv(variable);
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string line(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.empty()) continue;
    const char* const variable =
        kVariables[static_cast<unsigned char>(line[0]) % kVariables.size()];
    ::setenv(variable, line.c_str() + 1, 1);
  }
}

}  // namespace
}  // namespace rooftile

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  set_variables(text_of(bytes, count));
  bool is_sound = false;
  read_or_refuse([&] {
    check_environment();
    is_sound = true;
  });
  for (const char* variable : kVariables) {
    const std::string value = environment(variable);
    read_or_refuse([&] { environment_switch(variable, false); });
    is_wanted(DeviceProfile{.name = "a device", .device_uuid = "00ff"}, value);
  }
  for (const char* variable : {"ROOFTILE_DETERMINISTIC", "ROOFTILE_MEASURE_CALLS",
                               "ROOFTILE_LOG_UNTUNED", "ROOFTILE_VALIDATION"})
    if (is_sound) environment_switch(variable, false);  // A finding if it throws.
  read_or_refuse([&] { default_database_path(); });
  read_or_refuse([&] { database_exists(environment("ROOFTILE_DB")); });
  const std::filesystem::path cache = default_cache_folder();
  require(cache.empty() || cache.is_absolute() || cache == environment("ROOFTILE_CACHE"),
          "a folder that is not absolute was named by this program's own variable");
  log_level();
  return 0;
}
