#include "tests/architecture/layers.h"

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace rooftile {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.push_back((*at)[1].str());
  return found;
}

bool is_source(const std::filesystem::path& file) {
  return file.extension() == ".h" || file.extension() == ".cpp" || file.extension() == ".c" ||
         file.extension() == ".hpp";
}

}  // namespace

Layers Layers::from_table(const std::filesystem::path& markdown) {
  static const std::regex row(R"(^\|([^|]*`[a-z/]+/`[^|]*)\|[^|]*\|([^|]*)\|$)");
  static const std::regex folder(R"(`([a-z/]+)/`)"), word(R"(([a-z/]+))");
  Layers layers;
  for (const std::string& line : lines_of(markdown)) {
    std::smatch columns;
    if (!std::regex_match(line, columns, row)) continue;
    std::set<std::string> uses;
    for (const std::string& name : matches(columns[2].str(), word)) {
      if (name == "nothing") continue;
      bool known = false;
      for (const std::string& other : layers.folders_) {
        if (name != "all" && name != other && !other.ends_with("/" + name)) continue;
        known = true;
        uses.insert(other);
        uses.insert(layers.may_use_[other].begin(), layers.may_use_[other].end());
      }
      if (!known)
        throw std::runtime_error(fmt::format("{}: no row above is called '{}'", line, name));
    }
    // Folders of one row may not use each other: each of them sees only the rows above.
    for (const std::string& name : matches(columns[1].str(), folder)) {
      layers.folders_.push_back(name);
      layers.may_use_[name] = uses;
    }
  }
  return layers;
}

std::string Layers::layer_of(const std::string& path) const {
  std::string best;
  for (const std::string& folder : folders_)
    if ((path + "/").starts_with(folder + "/") && folder.size() > best.size()) best = folder;
  return best;
}

bool Layers::allowed(const std::string& user, const std::string& used) const {
  const auto row = may_use_.find(user);
  return user == used || (row != may_use_.end() && row->second.contains(used));
}

std::vector<Edge> link_edges(const std::filesystem::path& link_graph, const Layers& layers) {
  std::map<std::string, std::string> layer_of_target;
  for (const std::string& line : lines_of(link_graph)) {
    std::istringstream words(line);
    std::string folder, target;
    words >> folder >> target;
    layer_of_target[target] = layers.layer_of(folder);
  }
  std::vector<Edge> edges;
  for (const std::string& line : lines_of(link_graph)) {
    std::istringstream words(line);
    std::string folder, target;
    words >> folder >> target;
    for (std::string link; words >> link;)
      if (const auto used = layer_of_target.find(link); used != layer_of_target.end())
        if (!used->second.empty())
          edges.push_back(
              {layer_of_target[target], used->second, fmt::format("{} links {}", target, link)});
  }
  return edges;
}

std::vector<Include> includes(const std::filesystem::path& source, const Layers& layers) {
  static const std::regex quoted(R"(^\s*#\s*include\s*"([^"]*)\".*)");
  static const std::regex published(R"(^\s*#\s*include\s*<(rooftile/[^>]*)>.*)");
  std::vector<Include> found;
  for (const std::string& layer : layers.folders()) {
    if (!std::filesystem::exists(source / layer)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / layer)) {
      const std::string path = std::filesystem::relative(entry.path(), source).string();
      // The rows of nested folders cover their own files.
      if (!entry.is_regular_file() || !is_source(entry.path()) || layers.layer_of(path) != layer)
        continue;
      for (const std::string& line : lines_of(entry.path())) {
        std::smatch name;
        if (std::regex_match(line, name, published)) {
          found.push_back({path, "include/" + name[1].str(), line});
        } else if (std::regex_match(line, name, quoted)) {
          // Resolves the path as the compiler does: relative to the including file first, then to
          // the root.
          const std::filesystem::path near = entry.path().parent_path() / name[1].str();
          found.push_back({path,
                           std::filesystem::exists(near)
                               ? std::filesystem::relative(near, source).lexically_normal().string()
                               : name[1].str(),
                           line});
        }
      }
    }
  }
  return found;
}

std::vector<Edge> include_edges(const std::filesystem::path& source, const Layers& layers) {
  std::vector<Edge> edges;
  for (const Include& include : includes(source, layers))
    edges.push_back({layers.layer_of(include.from), layers.layer_of(include.to),
                     fmt::format("{}: {}", include.from, include.line)});
  return edges;
}

}  // namespace rooftile
