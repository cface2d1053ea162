// Checks the template files: each kernel compiles alone, and the build embeds the files' current
// text.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <shaderc/shaderc.hpp>
#include <sstream>

#include "core/error.h"
#include "generator/emit.h"
#include "generator/templates.h"

namespace rooftile {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(ROOFTILE_SOURCE_DIR) / "templates";

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class FolderIncluder : public shaderc::CompileOptions::IncluderInterface {
 public:
  shaderc_include_result* GetInclude(const char* file, shaderc_include_type, const char*,
                                     size_t) override {
    auto* held = new Held{file, read(kFolder / file), {}};
    held->result = {held->name.data(), held->name.size(), held->text.data(), held->text.size(),
                    held};
    return &held->result;
  }
  void ReleaseInclude(shaderc_include_result* result) override {
    delete static_cast<Held*>(result->user_data);
  }

 private:
  struct Held {
    std::string name, text;
    shaderc_include_result result;
  };
};

std::vector<std::filesystem::path> kernels() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder))
    if (entry.path().extension() == ".comp") files.push_back(entry.path());
  return files;
}

TEST(Templates, EveryKernelCompilesByItself) {
  const shaderc::Compiler compiler;
  EXPECT_GE(kernels().size(), 20u);
  for (const std::filesystem::path& file : kernels()) {
    shaderc::CompileOptions options;
    options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_1);
    options.SetIncluder(std::make_unique<FolderIncluder>());
    const auto result = compiler.CompileGlslToSpv(read(file), shaderc_compute_shader,
                                                  file.filename().c_str(), options);
    EXPECT_EQ(result.GetCompilationStatus(), shaderc_compilation_status_success)
        << file << ": " << result.GetErrorMessage();
  }
}

TEST(Templates, AreEmbeddedByteForByte) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".comp" && entry.path().extension() != ".glsl") continue;
    const std::string name = std::filesystem::relative(entry.path(), kFolder).generic_string();
    EXPECT_EQ(template_text(name), read(entry.path())) << name;
    ++count;
  }
  EXPECT_EQ(embedded_templates().size(), count);
}

// without_comments(), and so every shader's hash, supports no other comments.
TEST(Templates, HaveOnlyLineComments) {
  for (const EmbeddedText& entry : embedded_templates())
    EXPECT_EQ(entry.text.find("/*"), std::string_view::npos) << entry.name;
}

TEST(Templates, UnknownNamesAreErrors) { EXPECT_THROW(template_text("absent.comp"), Error); }

TEST(Expand, PutsDefinesFirstAndLeavesTheirDefaultsOut) {
  const std::string text = expand("naive.comp", {"a comment"}, {{"TILE_M", "4"}}, {});
  EXPECT_TRUE(text.starts_with("#version 450\n// a comment\n#define TILE_M 4\n"));
  EXPECT_EQ(text.find("#define TILE_M 8"), std::string::npos);
  EXPECT_NE(text.find("#define TILE_N 8"), std::string::npos);
  EXPECT_EQ(text.find("#include"), std::string::npos);
  EXPECT_EQ(text.find("#version", 1), std::string::npos);
}

TEST(Expand, TakesTheChosenFile) {
  const std::string text =
      expand("naive.comp", {}, {}, {{"load/element_a_n.glsl", "load/element_a_t.glsl"}});
  EXPECT_NE(text.find(template_text("load/element_a_t.glsl")), std::string::npos);
  EXPECT_EQ(text.find(template_text("load/element_a_n.glsl")), std::string::npos);
}

}  // namespace
}  // namespace rooftile
