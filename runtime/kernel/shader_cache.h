// SPIR-V cache on disk, so that a warm start compiles no shaders. Each shader has one file, named
// by the shader's hash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "generator/emit.h"

namespace rooftile {

/// Returns $ROOFTILE_CACHE, else $XDG_CACHE_HOME/rooftile, else ~/.cache/rooftile.
std::filesystem::path default_cache_folder();

/// The SPIR-V of a cache's file. Nothing where the file is missing or not what the cache wrote (by
/// its checksum), or where another user than this one and root can have written it. Throws nothing
/// but std::bad_alloc; thread-safe.
std::optional<std::vector<std::uint32_t>> stored_spirv(const std::filesystem::path& file);

/// Thread-safe, and safe among processes: files appear atomically (temporary name, rename), are
/// private (0600) and carry a checksum; a shader whose file looks wrong is compiled again. A folder
/// that cannot be written is no error: nothing is cached, which is reported on stderr once per
/// process.
class ShaderCache {
 public:
  /// With an empty folder path nothing is stored.
  explicit ShaderCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Throws kCompile when the shader does not compile.
  std::vector<std::uint32_t> spirv(const Shader& shader) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace rooftile
