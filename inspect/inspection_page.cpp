#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "core/embedded_text.h"
#include "core/error.h"
#include "inspect/inspection.h"
#include "inspect/inspection_words.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_inspection_page();  // inspect/page/

namespace {

std::string_view file(std::string_view name) {
  const std::span<const EmbeddedText> files = embedded_inspection_page();
  const auto found = std::ranges::find(files, name, &EmbeddedText::name);
  if (found == files.end()) fail(ErrorCode::kInternal, "{} is not embedded", name);
  return found->text;
}

/// Names and messages are a driver's text, which may contain anything.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '{':  // of the page's own places
        safe += "&#123;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string fact_text(const char* what, const std::optional<std::int64_t>& fact) {
  return fact ? fmt::format("{} {}<br>", *fact, what) : std::string();
}

std::string facts_of(const CompilerFacts& facts) {
  std::string text = fact_text("registers", facts.registers);
  const auto stored = spilled(facts);
  if (stored.value_or(0) > 0) text += fmt::format("<em>{} spilled</em><br>", *stored);
  if (facts.scratch_bytes.value_or(0) > 0)
    text += fmt::format("<em>{} bytes of scratch</em><br>", *facts.scratch_bytes);
  text += fact_text("bytes shared", facts.shared_bytes);
  text += fact_text("subgroups in flight", facts.subgroups_per_unit);
  return text;
}

std::string cell_of(const KernelInspection& kernel) {
  if (kernel.compilation != Compilation::kCompiled)
    return fmt::format("<td class=\"missing\" title=\"{}\">{}</td>", escaped(kernel.kernel),
                       escaped(compilation_sentence(kernel)));
  const bool memory = uses_memory_for_registers(kernel.facts);
  std::string cell =
      fmt::format("<td{} title=\"{}\">", memory ? " class=\"memory\"" : "", escaped(kernel.kernel));
  if (kernel.main_loop)
    cell += fmt::format("<strong>{}</strong> o/m<br><small>{}</small>",
                        ratio_text(kernel.main_loop->counts), loop_notes(*kernel.main_loop));
  if (kernel.subgroup_size > 0) cell += fmt::format("subgroups of {}<br>", kernel.subgroup_size);
  cell += facts_of(kernel.facts);
  if (!kernel.main_loop)
    return cell + fmt::format("<small>{}</small></td>", escaped(loop_sentence(kernel)));
  cell += "<details><summary>main loop</summary><dl>";
  for (const auto& [what, count] : instruction_lines(kernel.main_loop->counts))
    cell += fmt::format("<dt>{}</dt><dd>{}</dd>", count, escaped(what));
  return cell + fmt::format(
                    "<dt>{:.0f}</dt><dd>multiply-adds of a subgroup in a trip</dd></dl>"
                    "</details></td>",
                    kernel.main_loop->counts.multiply_adds);
}

/// One kernel on each of the devices, in their order; null where a device has not got it.
using Row = std::vector<const KernelInspection*>;

const KernelInspection& any_of(const Row& row) {
  return **std::ranges::find_if(row, [](const KernelInspection* k) { return k != nullptr; });
}

bool same_kernel(const KernelInspection& x, const KernelInspection& y) {
  return x.kernel == y.kernel && x.signature == y.signature;
}

/// Whether no device has both, and only parameters differ that a short name leaves out, such as the
/// size of subgroups, which vendors' kernels do not share.
bool alike(const Row& x, const Row& y) {
  if (any_of(x).short_name != any_of(y).short_name || any_of(x).signature != any_of(y).signature)
    return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != nullptr && y[i] != nullptr) return false;
  return true;
}

std::ptrdiff_t devices_with(const Row& row) {
  return std::ranges::count_if(row, [](const KernelInspection* k) { return k != nullptr; });
}

/// Each kernel once, those of most devices first, then in the order of the first device that has
/// it.
std::vector<Row> rows_of(const std::vector<Inspection>& devices) {
  std::vector<Row> exact;
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (const KernelInspection& kernel : devices[i].kernels) {
      auto row = std::ranges::find_if(
          exact, [&](const Row& other) { return same_kernel(any_of(other), kernel); });
      if (row == exact.end()) row = exact.insert(exact.end(), Row(devices.size()));
      if ((*row)[i] == nullptr) (*row)[i] = &kernel;
    }
  std::vector<Row> rows;
  for (const Row& row : exact) {
    const auto known =
        std::ranges::find_if(rows, [&](const Row& other) { return alike(other, row); });
    if (known == rows.end()) {
      rows.push_back(row);
      continue;
    }
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i] != nullptr) (*known)[i] = row[i];
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), devices_with);
  return rows;
}

/// The template with every {{name}} replaced.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string text(page);
  for (const auto& [name, content] : parts) {
    const std::string place = fmt::format("{{{{{}}}}}", name);
    const std::size_t at = text.find(place);
    if (at == std::string::npos) fail(ErrorCode::kInternal, "the page has no place for {}", name);
    text.replace(at, place.size(), content);
  }
  return text;
}

}  // namespace

std::string inspection_page(const std::vector<Inspection>& devices) {
  std::string heads, rows;
  for (const Inspection& device : devices)
    heads += fmt::format("<th scope=\"col\">{}{}{}<br><small>{}</small></th>",
                         escaped(device.label), device.label.empty() ? "" : "<br>",
                         escaped(device.device), escaped(device.driver));
  for (const Row& row : rows_of(devices)) {
    rows += fmt::format("<tr><th scope=\"row\">{}<br><small>{}</small></th>",
                        escaped(any_of(row).short_name), escaped(any_of(row).signature));
    for (const KernelInspection* kernel : row)
      rows += kernel == nullptr ? "<td class=\"missing\">not inspected</td>" : cell_of(*kernel);
    rows += "</tr>\n";
  }
  // The rows come last: their text is not searched for places of other parts.
  return filled(file("page.html"),
                {{"style", std::string(file("page.css"))}, {"devices", heads}, {"rows", rows}});
}

}  // namespace rooftile
