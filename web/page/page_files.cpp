#include "web/page/page_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>

#include "core/embedded_text.h"
#include "core/error.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_web_page();  // rooftile_embed

namespace web {
namespace {

namespace fs = std::filesystem;

// Of what scripts/build-web makes; all of it is part of the page.
constexpr std::string_view kAssets[] = {"engine.mjs", "engine.wasm", "translate.mjs",
                                        "naga/index.js"};
constexpr std::string_view kMark = "<title>Rooftile:";

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(ErrorCode::kIo, "cannot read {}", file.string());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// A folder may hold an earlier page of ours, or no file with one of these names.
void refuse_foreign_files(const std::vector<PageFile>& files, const fs::path& folder) {
  std::error_code unknown;
  const fs::path index = folder / "index.html";
  const bool ours =
      fs::is_regular_file(index, unknown) && content_of(index).find(kMark) != std::string::npos;
  for (const PageFile& file : files) {
    const fs::path there = folder / file.name;
    const fs::file_status status = fs::symlink_status(there, unknown);
    if (!fs::exists(status) || (ours && fs::is_regular_file(status))) continue;
    fail(ErrorCode::kInvalidArgument, "{} is there and not of a page of ours; name another folder",
         there.string());
  }
}

}  // namespace

fs::path assets_folder() {
  const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path built = own / "web-assets", installed = own / "../share/rooftile/web";
  std::error_code unknown;
  return fs::exists(built, unknown) ? built : installed.lexically_normal();
}

std::vector<PageFile> page_files(const fs::path& assets, std::string known) {
  std::vector<PageFile> files;
  for (const EmbeddedText& text : embedded_web_page())
    files.push_back({std::string(text.name), std::string(text.text)});
  for (const std::string_view name : kAssets) {
    std::error_code unknown;
    if (!fs::exists(assets / name, unknown))
      fail(ErrorCode::kUnsupported,
           "the page's engine is not built ({} is missing in {}): run scripts/build-web in "
           "Rooftile's sources, once",
           name, assets.string());
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(assets))
    if (entry.is_regular_file())
      files.push_back(
          {fs::relative(entry.path(), assets).generic_string(), content_of(entry.path())});
  files.push_back({"known.json", std::move(known)});
  // First, so that a page whose writing was interrupted can be written again.
  std::stable_partition(files.begin(), files.end(),
                        [](const PageFile& file) { return file.name == "index.html"; });
  return files;
}

std::string_view content_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js") || name.ends_with(".mjs")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".json")) return "application/json";
  if (name.ends_with(".wasm")) return "application/wasm";
  return "application/octet-stream";
}

void write_page(const std::vector<PageFile>& files, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    fail(ErrorCode::kIo, "cannot make the folder {}: {}", folder.string(), error.message());
  refuse_foreign_files(files, folder);
  for (const PageFile& file : files) {
    fs::create_directories((folder / file.name).parent_path(), error);
    std::ofstream stream(folder / file.name, std::ios::binary | std::ios::trunc);
    stream.write(file.content.data(), static_cast<std::streamsize>(file.content.size()));
    stream.flush();
    if (!stream)
      fail(ErrorCode::kIo, "cannot write {}: {}", (folder / file.name).string(),
           std::strerror(errno));
  }
}

}  // namespace web
}  // namespace rooftile
