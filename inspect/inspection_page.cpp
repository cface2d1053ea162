#include <fmt/format.h>

#include <algorithm>
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
  text += fact_text("subgroups at once", facts.subgroups_per_unit);
  return text;
}

std::string cell_of(const KernelInspection& kernel) {
  if (kernel.compilation != Compilation::kCompiled)
    return fmt::format("<td class=\"missing\">{}</td>", escaped(compilation_sentence(kernel)));
  const bool memory = uses_memory_for_registers(kernel.facts);
  std::string cell = fmt::format("<td{}>", memory ? " class=\"memory\"" : "");
  if (kernel.main_loop)
    cell += fmt::format("<strong>{}</strong> o/m<br><small>{}</small>",
                        ratio_text(kernel.main_loop->counts), loop_notes(*kernel.main_loop));
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

bool same_kernel(const KernelInspection& x, const KernelInspection& y) {
  return x.kernel == y.kernel && x.signature == y.signature;
}

/// Each kernel once, in the order of the first device that has it.
std::vector<const KernelInspection*> rows_of(const std::vector<Inspection>& devices) {
  std::vector<const KernelInspection*> rows;
  for (const Inspection& device : devices)
    for (const KernelInspection& kernel : device.kernels)
      if (std::ranges::none_of(rows, [&](const auto* row) { return same_kernel(*row, kernel); }))
        rows.push_back(&kernel);
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
  for (const KernelInspection* row : rows_of(devices)) {
    rows += fmt::format("<tr><th scope=\"row\" title=\"{}\">{}<br><small>{}</small></th>",
                        escaped(row->kernel), escaped(row->short_name), escaped(row->signature));
    for (const Inspection& device : devices) {
      const auto kernel = std::ranges::find_if(
          device.kernels, [&](const KernelInspection& k) { return same_kernel(k, *row); });
      rows += kernel == device.kernels.end() ? "<td class=\"missing\">not inspected</td>"
                                             : cell_of(*kernel);
    }
    rows += "</tr>\n";
  }
  // The rows come last: their text is not searched for places of other parts.
  return filled(file("page.html"),
                {{"style", std::string(file("page.css"))}, {"devices", heads}, {"rows", rows}});
}

}  // namespace rooftile
