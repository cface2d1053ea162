// The layers as docs/architecture.md's table lists them: the only place where it is written who may
// use whom.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rooftile {

class Layers {
 public:
  /// Rows "| `folder/` | holds | may use |". The last column is "nothing", "all" (every row above)
  /// or names of folders, whole or their last part ("model"); what those may use comes along.
  /// Throws std::runtime_error for a name that no row above introduces.
  static Layers from_table(const std::filesystem::path& markdown);

  const std::vector<std::string>& folders() const { return folders_; }
  /// The innermost layer that holds a path relative to the source tree, "" when none does.
  std::string layer_of(const std::string& path) const;
  /// Everything is allowed within a layer.
  bool allowed(const std::string& user, const std::string& used) const;

 private:
  std::vector<std::string> folders_;  // "runtime/model", in the table's order
  std::map<std::string, std::set<std::string>> may_use_;
};

/// A use of one layer by another, and where it is written.
struct Edge {
  std::string from, to;  // layers
  std::string where;
};

/// cmake/LinkGraph.cmake's file: edges between targets whose folders are layers.
std::vector<Edge> link_edges(const std::filesystem::path& link_graph, const Layers& layers);

/// One #include line of a file of the tree. Paths are relative to the source tree; `to` is the file
/// that the line names, whether it exists or not.
struct Include {
  std::string from, to, line;
};
/// The #include lines with quotes, and those with <rooftile/...>, of every .h, .hpp, .cpp and .c in
/// the layers' folders.
std::vector<Include> includes(const std::filesystem::path& source, const Layers& layers);
/// The same as edges between layers. A path that leads to no layer is an edge to "".
std::vector<Edge> include_edges(const std::filesystem::path& source, const Layers& layers);

}  // namespace rooftile
