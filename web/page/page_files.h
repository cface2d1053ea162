// The page of `rooftile web` as files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile::web {

struct PageFile {
  std::string name;  ///< Relative to the page; folders end with '/'.
  std::string content;
};

/// Returns all files of the page: those of this folder, which are embedded in the program, those
/// that scripts/build-web has made in `assets` (engine, translator), and known.json with this text.
/// Throws kUnsupported, saying what to run, where the assets are not there.
std::vector<PageFile> page_files(const std::filesystem::path& assets, std::string known);

/// Returns the folder of the assets: web-assets beside the program (build tree), else
/// share/rooftile/web beside the program's folder (installed).
std::filesystem::path assets_folder();

/// Content-Type of a file by its name.
std::string_view content_type(std::string_view name);

/// Writes the files into a folder, which is made if it is missing. Throws kIo, and kInvalidArgument
/// where the folder holds another page (an index.html without the mark of this one).
void write_page(const std::vector<PageFile>& files, const std::filesystem::path& folder);

}  // namespace rooftile::web
