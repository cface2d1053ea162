#include "runtime/dispatch/environment.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "core/error.h"
#include "runtime/call/call.h"
#include "runtime/support/log.h"

namespace rooftile {
namespace {

constexpr std::array<std::string_view, 4> kSwitchValues = {"0", "off", "1", "on"};

struct Setting {
  const char* variable;
  std::span<const std::string_view> values;
};

void check(const Setting& setting) {
  const std::string value = environment(setting.variable);
  if (!value.empty() && std::ranges::find(setting.values, value) == setting.values.end())
    fail(ErrorCode::kInvalidArgument, "{} is '{}'; known: {}", setting.variable, value,
         fmt::join(setting.values, ", "));
}

}  // namespace

std::string environment(const char* variable) {
  const char* value = ::secure_getenv(variable);
  return value != nullptr ? value : "";
}

bool environment_switch(const char* variable, bool otherwise) {
  check({variable, kSwitchValues});
  const std::string value = environment(variable);
  return value.empty() ? otherwise : value == "1" || value == "on";
}

int mpi_ranks() {
  int ranks = 1;
  // SLURM_NTASKS is that of an allocation, in which programs of one process run as well.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    ranks = std::max(ranks, std::atoi(environment(variable).c_str()));
  return ranks;
}

void check_environment() {
  for (const Setting& setting :
       {Setting{"ROOFTILE_TIER", tier_choice_names()}, Setting{"ROOFTILE_DEVICES", devices_names()},
        Setting{"ROOFTILE_PRECISION", precision_names()},
        Setting{"ROOFTILE_DETERMINISTIC", kSwitchValues},
        Setting{"ROOFTILE_MEASURE_CALLS", kSwitchValues},
        Setting{"ROOFTILE_LOG_UNTUNED", kSwitchValues},
        Setting{"ROOFTILE_VALIDATION", kSwitchValues}})
    check(setting);
  if (const std::string level = environment("ROOFTILE_LOG"); !is_log_level(level))
    log_warning_once("ROOFTILE_LOG",
                     fmt::format("ROOFTILE_LOG is '{}'; known: off, warnings, decisions. Warnings "
                                 "are shown, as when it is not set",
                                 level));
}

}  // namespace rooftile
