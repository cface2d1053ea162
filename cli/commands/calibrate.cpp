#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/budget.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "core/numbers/statistics.h"
#include "core/text_table.h"
#include "runtime/model/calibration_drift.h"
#include "tuner/worker/calibration_run.h"

namespace rooftile {
namespace {

// Hundreds of measurements, which are summarised instead of listed.
bool is_grid(const Figure& figure) { return figure.name.starts_with(kHostGridPrefix); }

std::string percent(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:+.1f} %", 100 * (ratio - 1)) : "new";
}

void print_figures(const CalibrationRun& run) {
  TextTable table(
      {{"figure", Align::kLeft}, {"median"}, {"unit", Align::kLeft}, {"+-"}, {"samples"}});
  for (const Figure& f : run.figures)
    if (!is_grid(f))
      table.add({f.name, fmt::format("{:.6g}", f.value), f.unit, fmt::format("{:.3g}", f.mad),
                 fmt::to_string(f.count)});
  table.add({"host.gemm.*", fmt::to_string(std::ranges::count_if(run.figures, is_grid)), "points"});
  print_table(table, "  ");
  const CalibrationRatios ratios = calibration_ratios(calibration_from_figures(run.figures));
  fmt::print(
      "calibration ratios, device : host   compute {:.3f}, bandwidth {:.3f}, latency {:.4f}\n",
      ratios.compute, ratios.bandwidth, ratios.latency);
}

std::string where_time_went(const CalibrationRun& run) {
  std::string text;
  for (const CalibrationPart& part : run.parts)
    text += fmt::format("{}{} {:.1f}", text.empty() ? "" : ", ", part.name, part.seconds);
  return text;
}

nlohmann::json json_of(const Figure& f) {
  return {
      {"name", f.name}, {"unit", f.unit}, {"value", f.value}, {"mad", f.mad}, {"count", f.count}};
}

nlohmann::json json_of(const DeviceProfile& device, const CalibrationRun& run) {
  nlohmann::json figures = nlohmann::json::array();
  const std::vector<FigureDrift> drifts = calibration_drift(run.figures, run.before);
  for (const Figure& figure : run.figures) {
    nlohmann::json& entry = figures.emplace_back(json_of(figure));
    const auto drift =
        std::ranges::find(drifts, figure.name, [](const FigureDrift& d) { return d.now.name; });
    if (drift == drifts.end()) continue;
    entry["before"] = {
        {"value", drift->before.value}, {"mad", drift->before.mad}, {"count", drift->before.count}};
    entry["ratio"] = drift->ratio;
    entry["beyond_spread"] = drift->beyond_spread;
  }
  nlohmann::json parts = nlohmann::json::array();
  for (const CalibrationPart& part : run.parts)
    parts.push_back({{"name", part.name}, {"seconds", part.seconds}});
  const CalibrationRatios ratios = calibration_ratios(calibration_from_figures(run.figures));
  return {{"name", device.name},
          {"uuid", device.device_uuid},
          {"driver", device.driver_info},
          {"elapsed_s", run.elapsed_s},
          {"parts", parts},
          {"figures", figures},
          {"calibration_ratios",
           {{"compute", ratios.compute},
            {"bandwidth", ratios.bandwidth},
            {"latency", ratios.latency}}}};
}

int calibrate_all(const Globals& globals, bool json, double seconds) {
  const std::vector<DeviceProfile> devices = selected_devices(globals);
  Store store(globals.database());
  if (!store.note().empty()) fmt::print(stderr, "rooftile: {}\n", store.note());
  print_host_advice();
  const std::atomic<bool>& stop = stop_on_signals();
  const auto message = [](const std::string& text) { fmt::print(stderr, "rooftile: {}\n", text); };
  nlohmann::json list = nlohmann::json::array();
  for (const DeviceProfile& device : devices) {
    if (!json) fmt::print("calibrating {} ({})\n", device.name, device.driver_info);
    std::fflush(stdout);
    const std::optional<CalibrationRun> run = calibrate(store, device, message, stop, seconds);
    if (!run) {
      message("interrupted: nothing was stored");
      return kInterrupted;
    }
    if (json) {
      list.push_back(json_of(device, *run));
      continue;
    }
    print_figures(*run);
    print_drift(*run);
    fmt::print("calibrated in {:.1f} s: {}\n", run->elapsed_s, where_time_went(*run));
  }
  if (json) {
    const nlohmann::json all = {{"database", store.path().string()}, {"devices", list}};
    print_json(all);
  } else {
    fmt::print("stored in {}\n", store.path().string());
  }
  return kDone;
}

}  // namespace

void print_drift(const CalibrationRun& run) {
  std::vector<double> grid;
  std::size_t grid_beyond = 0;
  const std::vector<FigureDrift> drifts = calibration_drift(run.figures, run.before);
  if (drifts.empty()) return;
  fmt::print("drift since the last calibration; * beyond the joint spread\n");
  TextTable table({{"", Align::kLeft},
                   {"figure", Align::kLeft},
                   {"change"},
                   {"now"},
                   {"+-"},
                   {"before"},
                   {"+-"},
                   {"unit", Align::kLeft}});
  for (const FigureDrift& drift : drifts) {
    if (is_grid(drift.now)) {
      grid.push_back(drift.ratio);
      grid_beyond += drift.beyond_spread ? 1 : 0;
      continue;
    }
    const auto text = [](double x, int digits) { return fmt::format("{:.{}g}", x, digits); };
    table.add({drift.beyond_spread ? "*" : "", drift.now.name, percent(drift.ratio),
               text(drift.now.value, 6), text(drift.now.mad, 3), text(drift.before.value, 6),
               text(drift.before.mad, 3), drift.now.unit});
  }
  if (!grid.empty()) table.add({grid_beyond > 0 ? "*" : "", "host.gemm.*", percent(median(grid))});
  print_table(table);
  if (!grid.empty())
    fmt::print("host.gemm.*: the median; {} of {} points moved beyond their spread\n", grid_beyond,
               grid.size());
}

void add_calibrate(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure the rates of this machine's devices and host, and their drift");
  command->footer(
      "Each measurement is a median with its median absolute deviation and sample\n"
      "count, stored in the database. `rooftile tune` first calibrates a device that\n"
      "has no measurements yet.\n"
      "Examples:\n  rooftile calibrate --json\n  rooftile calibrate --budget 60s");
  static bool json = false;
  static std::string budget;
  add_budget(*command, budget,
             "Wall time for a device and the host: 30s, 2m (default 14s); more of it takes more "
             "samples, for machines that are busy");
  add_json(*command, json);
  command->callback([&] {
    action = [&] {
      return calibrate_all(globals, json, budget.empty() ? kCalibrationS : parse_budget_s(budget));
    };
  });
}

}  // namespace rooftile
