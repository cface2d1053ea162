#include "report/page.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "core/embedded_text.h"
#include "core/error.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_page();     // report/page/
std::span<const EmbeddedText> embedded_library();  // Chart.js

namespace {

std::string_view file(std::string_view name) {
  const std::span<const EmbeddedText> files = embedded_page();
  const auto found = std::ranges::find(files, name, &EmbeddedText::name);
  if (found == files.end()) fail(ErrorCode::kInternal, "{} is not embedded", name);
  return found->text;
}

/// The page's scripts as one text.
std::string scripts() {
  std::string text;
  for (const EmbeddedText& part : embedded_page())
    if (part.name.ends_with(".js")) text += part.text;
  return text;
}

/// Escapes JSON for a script element: without "<" no text can end the element or begin a comment.
/// In JSON, "<" occurs in strings only.
std::string escaped(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

/// The template with every {{name}} replaced.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string text;
  while (!page.empty()) {
    const std::size_t at = page.find("{{"), end = page.find("}}", at);
    text += page.substr(0, at);
    if (at == std::string_view::npos || end == std::string_view::npos) break;
    const std::string_view name = page.substr(at + 2, end - at - 2);
    const auto part = std::ranges::find(parts, name, [](const auto& p) { return p.first; });
    if (part == parts.end()) fail(ErrorCode::kInternal, "the page has no part '{}'", name);
    text += part->second;
    page.remove_prefix(end + 2);
  }
  return text;
}

}  // namespace

std::string report_page(const Charts& charts) {
  return filled(file("page.html"), {{"style", std::string(file("page.css"))},
                                    {"library", std::string(embedded_library().front().text)},
                                    {"data", escaped(page_data(charts))},
                                    {"script", scripts()}});
}

}  // namespace rooftile
