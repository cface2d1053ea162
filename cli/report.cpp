#include "report/report.h"

#include "cli/command.h"
#include "core/error.h"
#include "generator/version.h"

namespace rooftile {

void add_report(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("report", "Show what the tuning database knows");
  command->footer("Example: rooftile report --json");
  static bool json = false;
  command->add_flag("--json", json, "As JSON; docs/report.md describes it");
  command->callback([&] {
    action = [&] {
      const std::filesystem::path database = globals.database();
      if (!std::filesystem::exists(database))
        fail(ErrorCode::kDatabase, "no tuning database at {}; run `rooftile tune`",
             database.string());
      Report report = make_report(Store(database, OpenMode::kReadOnly), kGeneratorVersion);
      std::erase_if(report.devices,
                    [&](const DeviceReport& d) { return !globals.selects(d.profile); });
      fmt::print("{}{}", json ? report_json(report) : report_text(report), json ? "\n" : "");
      return kDone;
    };
  });
}

}  // namespace rooftile
