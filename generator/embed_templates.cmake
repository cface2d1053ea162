# cmake -DFILES=a.comp;b.glsl -DOUTPUT=templates.cpp -P embed_templates.cmake: the files as string
# literals, found by name. Literals, not bytes: the templates are short, and a debugger shows
# them.
set(entries "")
foreach(file IN LISTS FILES)
  file(READ "${file}" text)
  get_filename_component(name "${file}" NAME)
  string(APPEND entries "    {\"${name}\", R\"glsl(${text})glsl\"},\n")
endforeach()
file(WRITE "${OUTPUT}.new" "// Generated from templates/ by generator/embed_templates.cmake.
#include \"generator/templates.h\"

namespace rooftile {

const std::vector<Template>& templates() {
  static const std::vector<Template> all = {
${entries}  };
  return all;
}

}  // namespace rooftile
")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUTPUT}.new")
file(TOUCH_NOCREATE "${OUTPUT}")
