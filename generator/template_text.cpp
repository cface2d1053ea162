#include "generator/template_text.h"

#include "core/error.h"

namespace rooftile {

std::string_view template_text(std::string_view file) {
  for (const EmbeddedText& entry : embedded_templates())
    if (entry.name == file) return entry.text;
  fail(ErrorCode::kInternal, "there is no kernel template '{}' in this build", file);
}

}  // namespace rooftile
