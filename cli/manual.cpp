#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "cli/option_text.h"
#include "cli/output_file.h"
#include "core/embedded_text.h"
#include "core/error.h"

namespace rooftile {

/// docs/environment.md, whose tables are sections of the first page: variables come first.
std::span<const EmbeddedText> embedded_manual();

namespace {

/// Text of a page: nothing in it is a request to the formatter.
std::string escaped(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '`')
      result += "\\(ga";
    else
      result += c;
    line_begins = c == '\n';
  }
  return result;
}

std::string section(std::string_view heading, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", heading, text);
}

std::string entry(std::string_view name, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", escaped(name), escaped(text));
}

std::string entries(const CLI::App& app, const std::string* group) {
  std::string text;
  for (const CLI::Option* option : app.get_options({}))
    if (option->get_positional() == (group == nullptr) &&
        (group == nullptr || option->get_group() == *group))
      text += entry(shown_name(*option), full_description(app, *option));
  return text;
}

std::string options(const CLI::App& app) {
  std::string text;
  for (const std::string& group : app.get_groups()) {
    const std::string of_group = entries(app, &group);
    if (of_group.empty()) continue;
    if (group != "Options") text += fmt::format(".SS {}\n", escaped(group));
    text += of_group;
  }
  return text;
}

/// The names of the program and of the commands below it: "rooftile-db-import".
std::string joined_names(const CLI::App& app, std::string_view by) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? app.get_name()
                           : fmt::format("{}{}{}", joined_names(*parent, by), by, app.get_name());
}
std::string page_name(const CLI::App& app) { return joined_names(app, "-"); }

std::string commands(const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : public_commands(app))
    text += fmt::format(".TP\n.BR {} (1)\n{}\n", escaped(page_name(*command)),
                        escaped(command->get_description()));
  return text;
}

/// The text of a table's cell without marks: "[tiers](score.md)" becomes "tiers", and
/// "[how](score.md)", which says nothing without its link, the page's name.
std::string plain_cell(std::string_view cell) {
  constexpr std::string_view kHow = "[how](";
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell.substr(i).starts_with(kHow)) {
      const std::size_t end = std::min(cell.find(')', i), cell.size());
      const std::string_view page = cell.substr(i + kHow.size(), end - i - kHow.size());
      text += fmt::format("docs/{}", page.substr(0, page.find('#')));
      i = end;
      continue;
    }
    if (cell[i] == '`' || cell[i] == '[') continue;
    if (cell[i] == ']' && cell.substr(i).starts_with("](")) {
      i = std::min(cell.find(')', i), cell.size());
      continue;
    }
    text += cell[i];
  }
  return CLI::detail::trim_copy(text);
}

/// The rows of the first table of a document.
std::string table_entries(std::string_view document) {
  std::string text;
  std::size_t row = 0;
  for (const std::string& line : CLI::detail::split(std::string(document), '\n')) {
    if (!line.starts_with("|")) {
      if (row > 0) break;
      continue;
    }
    if (++row <= 2) continue;  // the header
    const std::size_t middle = line.find(" | ");
    const std::size_t end = line.rfind('|');
    if (middle == std::string::npos || end <= middle) continue;
    const std::string first = plain_cell(line.substr(1, middle - 1)),
                      second = plain_cell(line.substr(middle + 3, end - middle - 3));
    text += entry(first, second);
  }
  return text;
}

/// Causes of one exit code stand in one entry.
std::string exit_codes(std::string_view document) {
  std::vector<std::pair<std::string, std::string>> codes;
  for (const std::string& line : CLI::detail::split(std::string(document), '\n')) {
    const std::size_t end = line.rfind(" |"), middle = line.rfind(" | ", end - 1);
    if (!line.starts_with("| ") || end == std::string::npos || middle == std::string::npos)
      continue;
    const std::string cause = plain_cell(line.substr(2, middle - 2)),
                      code = plain_cell(line.substr(middle + 3, end - middle - 3));
    if (code.empty() || code.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto known = std::ranges::find(codes, code, &std::pair<std::string, std::string>::first);
    if (known == codes.end())
      codes.emplace_back(code, cause);
    else
      known->second += "; " + cause;
  }
  std::string text;
  for (const auto& [code, causes] : codes) text += entry(code, causes);
  return text;
}

std::string_view document(std::string_view name) {
  for (const EmbeddedText& text : embedded_manual())
    if (text.name == name) return text.text;
  fail(ErrorCode::kInternal, "{} is not in the program", name);
}

std::string footer(const CLI::App& app) {
  std::string text, examples;
  for (const FooterPart& part : footer_parts(app)) {
    if (part.is_prose && !part.text.empty()) text += ".PP\n" + escaped(part.text) + "\n";
    if (part.is_prose) continue;
    const std::string line =
        part.text.starts_with("Example") && part.text.find(": ") != std::string::npos
            ? part.text.substr(part.text.find(": ") + 2)
            : part.text;
    if (!line.starts_with("Example")) examples += escaped(CLI::detail::trim_copy(line)) + "\n";
  }
  if (!examples.empty()) examples = ".nf\n" + examples + ".fi\n";
  return text + section("EXAMPLES", examples);
}

/// The day of this build, or of $SOURCE_DATE_EPOCH, so that builds can be repeated.
std::string date() {
  const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t at =
      epoch != nullptr && *epoch != '\0' ? std::strtoll(epoch, nullptr, 10) : std::time(nullptr);
  std::tm day = {};
  if (::gmtime_r(&at, &day) == nullptr) return "1970-01-01";
  return fmt::format("{:04}-{:02}-{:02}", 1900L + day.tm_year, day.tm_mon + 1, day.tm_mday);
}

std::string page(const CLI::App& app) {
  const std::string name = page_name(app);
  const CLI::App* const parent = app.get_parent();
  const std::vector<std::string> lines = CLI::detail::split(app.get_description(), '\n');
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string text = fmt::format(".TH {} 1 {} \"rooftile {}\" \"User Commands\"\n", escaped(upper),
                                 date(), ROOFTILE_VERSION);
  // Of the program's two lines the first begins with its name.
  std::string what = lines.front();
  if (what.starts_with("Rooftile: ")) what = what.substr(10);
  if (what.ends_with('.')) what.pop_back();
  text += section("NAME", fmt::format("{} \\- {}\n", escaped(name), escaped(what)));
  text += section("SYNOPSIS", ".B " + escaped(usage_line(app, joined_names(app, " "))) + "\n");
  std::string description = escaped(lines.back()) + "\n";
  if (parent != nullptr)
    description =
        fmt::format("{}.\n.PP\nEvery command takes the options of\n.BR rooftile (1),\ntoo.\n",
                    escaped(app.get_description()));
  text += section("DESCRIPTION", description);
  text += section("COMMANDS", commands(app));
  text += section("ARGUMENTS", entries(app, nullptr));
  text += section("OPTIONS", options(app));
  text += footer(app);
  if (parent == nullptr) {
    text += section("EXIT STATUS", exit_codes(document("environment.md")));
    text += section("ENVIRONMENT", table_entries(document("environment.md")));
    text += section("SEE ALSO", ".I /usr/share/doc/rooftile/docs/README.md\n");
  } else {
    text += section("SEE ALSO", fmt::format(".BR {} (1)\n", escaped(page_name(*parent))));
  }
  return text;
}

void write_pages(const CLI::App& app, const std::filesystem::path& folder) {
  OutputFile file(folder / (page_name(app) + ".1"));
  file.write(page(app));
  file.commit();
  for (const CLI::App* command : public_commands(app)) write_pages(*command, folder);
}

}  // namespace

void write_manual(const CLI::App& app, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorCode::kIo, "cannot make {}: {}", folder.string(), error.message());
  write_pages(app, folder);
}

}  // namespace rooftile
