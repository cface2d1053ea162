#include "runtime/dispatch/settings.h"

#include "db/store.h"
#include "runtime/dispatch/environment.h"
#include "runtime/kernel/shader_cache.h"

namespace rooftile {
namespace {

/// The option, else what the environment says, else `otherwise`.
template <typename Value, typename Parse>
Value choice_of(const std::optional<Value>& option, const char* variable, Value otherwise,
                Parse parse) {
  if (option) return *option;
  const std::string text = environment(variable);
  return text.empty() ? otherwise : parse(text);
}

}  // namespace

Settings settings_of(const ContextOptions& options) {
  check_environment();
  Settings s = {
      .database = options.database.empty() ? default_database_path() : options.database,
      .cache_folder = options.cache_folder.empty() ? default_cache_folder() : options.cache_folder,
      .device = options.device.empty() ? environment("ROOFTILE_DEVICE") : options.device,
      .names_database = !options.database.empty() || !environment("ROOFTILE_DB").empty(),
      .tier = choice_of(options.tier, "ROOFTILE_TIER", TierChoice::kAuto, parse_tier_choice),
      .precision =
          choice_of(options.precision, "ROOFTILE_PRECISION", Precision::kStandard, parse_precision),
      .devices = choice_of(options.devices, "ROOFTILE_DEVICES", Devices::kOne, parse_devices),
      .split_always = options.split_always,
      .adopts_device = options.adopted != nullptr};
  const auto switched = [](const char* variable, auto yes, auto no, auto otherwise) {
    return environment_switch(variable, otherwise == yes) ? yes : no;
  };
  s.deterministic = options.deterministic.value_or(switched(
      "ROOFTILE_DETERMINISTIC", Deterministic::kYes, Deterministic::kNo, Deterministic::kNo));
  s.log_untuned = options.log_untuned.value_or(
      switched("ROOFTILE_LOG_UNTUNED", LogUntuned::kYes, LogUntuned::kNo, LogUntuned::kYes));
  s.agrees_with_ranks =
      mpi_ranks() > 1 && !options.deterministic && environment("ROOFTILE_DETERMINISTIC").empty();
  const bool deterministic = s.deterministic == Deterministic::kYes;
  s.while_compiling =
      s.agrees_with_ranks || deterministic ? WhileCompiling::kWait : options.while_compiling;
  s.measure_calls = options.measure_calls.value_or(
      switched("ROOFTILE_MEASURE_CALLS", MeasureCalls::kYes, MeasureCalls::kNo,
               s.agrees_with_ranks ? MeasureCalls::kNo : MeasureCalls::kYes));
  if (deterministic) s.measure_calls = MeasureCalls::kNo;
  return s;
}

}  // namespace rooftile
