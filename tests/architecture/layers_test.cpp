// Compares the links and includes of the source tree with what docs/architecture.md allows.
#include "tests/architecture/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

namespace rooftile {
namespace {

using ::testing::Contains;

const std::filesystem::path kSource = ROOFTILE_SOURCE_DIR;
const std::filesystem::path kLinkGraph =
    std::filesystem::path(ROOFTILE_BINARY_DIR) / "link_graph.txt";

class LayersTest : public ::testing::Test {
 protected:
  void expect_allowed(const std::vector<Edge>& edges) const {
    for (const Edge& edge : edges)
      EXPECT_TRUE(layers_.allowed(edge.from, edge.to))
          << edge.where << "\n  " << edge.from << " may not use "
          << (edge.to.empty() ? "a file that is in no layer" : edge.to)
          << " (docs/architecture.md)";
  }
  static bool has(const std::vector<Edge>& edges, const std::string& from, const std::string& to) {
    return std::any_of(edges.begin(), edges.end(),
                       [&](const Edge& edge) { return edge.from == from && edge.to == to; });
  }
  const Layers layers_ = Layers::from_table(kSource / "docs" / "architecture.md");
};

TEST_F(LayersTest, TheTableIsParsed) {
  EXPECT_TRUE(layers_.allowed("runtime", "core"));  // allowed through any of its layers
  EXPECT_TRUE(layers_.allowed("report", "runtime/model"));
  EXPECT_FALSE(layers_.allowed("report", "runtime/device"));
  EXPECT_FALSE(layers_.allowed("runtime/model", "runtime/device"));
  EXPECT_FALSE(layers_.allowed("runtime/device", "runtime"));
  EXPECT_FALSE(layers_.allowed("db", "generator"));
  EXPECT_TRUE(layers_.allowed("db", "db/sqlite"));
  EXPECT_FALSE(layers_.allowed("db/sqlite", "db"));
  EXPECT_FALSE(layers_.allowed("db/tables", "db/open"));
  EXPECT_FALSE(layers_.allowed("tuner", "report"));
  EXPECT_FALSE(layers_.allowed("core", ""));
  EXPECT_TRUE(layers_.allowed("cli", "tuner"));
  EXPECT_FALSE(layers_.allowed("cli", "tests"));
  EXPECT_EQ(layers_.layer_of("runtime/model/roofline.h"), "runtime/model");
  EXPECT_EQ(layers_.layer_of("runtime/kernel/kernel.h"), "runtime/kernel");
  EXPECT_FALSE(layers_.allowed("runtime/call", "runtime/dispatch"));
  EXPECT_FALSE(layers_.allowed("runtime/host", "runtime/device"));
  EXPECT_FALSE(layers_.allowed("tuner/search", "tuner"));
  EXPECT_EQ(layers_.layer_of("runtimes/kernel.h"), "");
}

TEST_F(LayersTest, EveryFolderWithATargetIsARow) {
  for (const auto& entry : std::filesystem::directory_iterator(kSource)) {
    if (std::filesystem::exists(entry.path() / "CMakeLists.txt")) {
      EXPECT_THAT(layers_.folders(), Contains(entry.path().filename().string()));
    }
  }
}

TEST_F(LayersTest, TargetsLinkNothingUpwardsOrSideways) {
  const std::vector<Edge> edges = link_edges(kLinkGraph, layers_);
  expect_allowed(edges);
  // Guards against an empty or misread graph, which would allow everything.
  EXPECT_TRUE(has(edges, "runtime/kernel", "runtime/device"));
  EXPECT_TRUE(has(edges, "report", "db"));
  EXPECT_TRUE(has(edges, "cli", "tuner"));
}

TEST_F(LayersTest, FilesIncludeNothingUpwardsOrSideways) {
  const std::vector<Edge> edges = include_edges(kSource, layers_);
  expect_allowed(edges);
  EXPECT_TRUE(has(edges, "runtime/abi", "include/rooftile"));
  EXPECT_TRUE(has(edges, "tuner/measure", "runtime/device"));
  EXPECT_TRUE(has(edges, "runtime/model", "core"));
}

// Tests and examples may include any library. Programs with their own Vulkan device pass its
// handles to the library through one header, and another is the text of a header that is theirs.
TEST_F(LayersTest, EachForeignLibraryIsUsedByOneFolderOnly) {
  const std::set<std::string> kOfPrograms = {"include/rooftile/vulkan.h", "embed/header/api.h"};
  const struct {
    const char* owner;
    std::regex include;
  } kLibraries[] = {{"generator", std::regex("#include <(shaderc|spirv-tools)/.*")},
                    {"web/module", std::regex("#include <(glslang|SPIRV|emscripten)/.*")},
                    {"db", std::regex("#include <(SQLiteCpp/|sqlite3).*")},
                    {"runtime/device", std::regex("#include <(vulkan/|volk).*")}};
  for (const auto& [owner, include] : kLibraries) {
    std::vector<std::string> users;
    for (const std::string& layer : layers_.folders()) {
      if (layer == "tests" || layer == "examples" || !std::filesystem::exists(kSource / layer))
        continue;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource / layer)) {
        const std::string path = std::filesystem::relative(entry.path(), kSource).string();
        if (!entry.is_regular_file() || layers_.layer_of(path) != layer) continue;
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);)
          if (std::regex_match(line, include) && !kOfPrograms.contains(path)) {
            users.push_back(layer);
            EXPECT_TRUE((layer + "/").starts_with(std::string(owner) + "/"))
                << path << ": " << line;
          }
      }
    }
    EXPECT_FALSE(users.empty()) << "the pattern matches no include";
  }
}

}  // namespace
}  // namespace rooftile
