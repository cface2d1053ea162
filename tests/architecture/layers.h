// The layers as docs/architecture.md's table lists them, which is the only definition of the
// allowed uses.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rooftile {

class Layers {
 public:
  /// Reads rows "| `folder/` | holds | may use |". The last column is "nothing", "all" (every row
  /// above) or names of folders, in full or by their last component ("model"); what those may use
  /// is allowed as well. Throws std::runtime_error for a name that no row above introduces.
  static Layers from_table(const std::filesystem::path& markdown);

  const std::vector<std::string>& folders() const { return folders_; }
  /// The innermost layer that holds a path relative to the source tree; "" when there is none.
  std::string layer_of(const std::string& path) const;
  /// Everything is allowed within a layer.
  bool allowed(const std::string& user, const std::string& used) const;

 private:
  std::vector<std::string> folders_;  // "runtime/model", in the table's order
  std::map<std::string, std::set<std::string>> may_use_;
};

/// A use of one layer by another, and the line that it stands in.
struct Edge {
  std::string from, to;  // layers
  std::string where;
};

/// Reads the file of cmake/LinkGraph.cmake: edges between targets whose folders are layers.
std::vector<Edge> link_edges(const std::filesystem::path& link_graph, const Layers& layers);

/// One #include line of a file of the tree. Paths are relative to the source tree. `to` is the
/// file that the line names, whether it exists or not.
struct Include {
  std::string from, to, line;
};
/// The #include lines with quotes, and those with <rooftile/...>, of every .h, .hpp, .cpp and .c in
/// the layers' folders.
std::vector<Include> includes(const std::filesystem::path& source, const Layers& layers);
/// The same includes as edges between layers. A path outside of all layers is an edge to "".
std::vector<Edge> include_edges(const std::filesystem::path& source, const Layers& layers);

}  // namespace rooftile
