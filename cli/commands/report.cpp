#include "report/report.h"

#include <unistd.h>

#include <array>

#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/runtime_view.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "core/count_text.h"
#include "core/error.h"
#include "report/charts.h"
#include "report/compare.h"
#include "report/page.h"
#include "report/problem.h"

namespace rooftile {
namespace {

struct ReportArguments {
  bool json = false, calibration = false;
  std::string html, compare;
  std::array<std::int64_t, 3> sizes = {};  // m, n, k
  ProblemOptions of_class;
};

/// Reads "512x512x512", as tables show a problem, or "512,512,512".
std::array<std::int64_t, 3> sizes_of(const std::string& text) {
  std::array<std::int64_t, 3> sizes = {};
  const std::vector<std::string> words =
      CLI::detail::split(text, text.find(',') == std::string::npos ? 'x' : ',');
  const auto refuse = [](const std::string& why) {
    throw CLI::ValidationError(
        "--problem",
        why + "; it takes MxNxK such as 512x512x512; --type, --trans-a, ... say the rest");
  };
  if (words.size() != sizes.size()) refuse(fmt::format("'{}' is not three sizes", text));
  const CLI::Validator number = whole_number(1, std::int64_t{1} << 40);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::string word = words[i];
    if (const std::string wrong = number(word); !wrong.empty()) refuse(wrong);
    sizes[i] = std::stoll(word);
  }
  return sizes;
}

Report selected(const Store& store, const Globals& globals) {
  selected_records(globals, store);  // Throws when --device selects none of the devices.
  Report report = make_report(store, runtime_view());
  std::erase_if(report.devices, [&](const DeviceReport& d) { return !globals.selects(d.profile); });
  return report;
}

/// The report of the file that is compared. Such a file may be a stranger's and is checked as one,
/// unless it is the tuning database itself.
Report other_report(const std::string& file, const Store& own) {
  std::error_code missing;
  const Store other(file, {.mode = OpenMode::kReadOnly,
                           .foreign = !std::filesystem::equivalent(file, own.path(), missing),
                           .named = " with --compare"});
  try {
    return make_report(other, runtime_view());
  } catch (const Error& error) {
    fail(ErrorCode::kDatabase, "{} cannot be compared: {}", other.path().string(), error.what());
  }
}

void write_page(const std::filesystem::path& path, const std::string& page) {
  OutputFile file(path);
  file.write(page);
  file.commit();
}

int show(const Globals& globals, ReportArguments& arguments) {
  const Store store = Store(globals.database(), OpenMode::kReadOnly);
  Report report = selected(store, globals);
  const std::size_t terminal = terminal_columns(STDOUT_FILENO);
  std::string text;
  if (!arguments.html.empty()) {
    const Charts charts = make_charts(store, runtime_view(), std::move(report));
    write_page(arguments.html, report_page(charts));
    fmt::print("{} of {} in {}\n", count_text(charts.devices.size(), "device"), charts.database,
               arguments.html);
    return kDone;
  }
  if (arguments.sizes[0] > 0) {
    ProblemOptions& options = arguments.of_class;
    options.m = arguments.sizes[0];
    options.n = arguments.sizes[1];
    options.k = arguments.sizes[2];
    const std::vector<ProblemOnDevice> found = find_problem(report, options.problem());
    text = arguments.json ? problem_json(report, found) : problem_text(found, terminal);
  } else if (!arguments.compare.empty()) {
    const Comparison comparison = compare(report, other_report(arguments.compare, store));
    text = arguments.json ? comparison_json(comparison) : comparison_text(comparison, terminal);
  } else {
    text = arguments.json ? report_json(report)
                          : report_text(report,
                                        arguments.calibration ? CalibrationDetail::kFigures
                                                              : CalibrationDetail::kDate,
                                        terminal);
  }
  if (arguments.json)
    fmt::print("{}\n", text);
  else
    print_lines(text);
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command = app.add_subcommand("report", "Show the results in the tuning database");
  command->footer(
      "Examples:\n  rooftile report\n  rooftile report --calibration\n"
      "  rooftile report --html report.html\n"
      "  rooftile report --problem 512x512x512\n  rooftile report --compare other.db --json");
  static ReportArguments arguments;
  CLI::Option* json = command->add_flag("--json", arguments.json,
                                        "Print JSON; docs/report.schema.json describes it");
  CLI::Option* html = add_file(*command, "--html", arguments.html,
                               "Write a page with charts, which needs no network, to this file");
  CLI::Option* problem =
      command
          ->add_option_function<std::string>(
              "--problem", [](const std::string& text) { arguments.sizes = sizes_of(text); },
              "Explain the tuned problem of these sizes; --type, --trans-a, ... narrow it down")
          ->type_name("MxNxK");
  CLI::Option* compare =
      add_file(*command, "--compare", arguments.compare,
               "Compare the measurements and problems of this other database with those of the "
               "tuning database; --device selects from the latter");
  arguments.of_class.add_class_to(*command);
  arguments.of_class.add_groups_to(*command);
  command
      ->add_flag(
          "--calibration", arguments.calibration,
          "List every calibration measurement below the results; JSON and page always have them")
      ->excludes(json)
      ->excludes(html)
      ->excludes(problem)
      ->excludes(compare);
  html->excludes(json);
  html->excludes(problem);
  html->excludes(compare);
  problem->excludes(compare);
  for (const char* option :
       {"--trans-a", "--trans-b", "--batch", "--type", "--epilogue", "--groups"})
    command->get_option(option)->needs(problem);
  command->callback([&] { action = [&] { return show(globals, arguments); }; });
}

}  // namespace rooftile
