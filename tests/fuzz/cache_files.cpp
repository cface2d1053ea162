// Files of compiled kernels: SPIR-V and a driver's pipelines. Those that were stored are damaged
// (an offset of two bytes and a value, any number of times), or the input is the file. What is
// taken from a damaged file is what was stored, or nothing.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "generator/emit.h"
#include "runtime/device/pipeline_cache_file.h"
#include "runtime/kernel/shader_cache.h"
#include "tests/db/file_bytes.h"
#include "tests/db/store_fixture.h"
#include "tests/fuzz/fuzz.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

std::string damaged(std::string file, std::string_view changes) {
  for (; changes.size() >= 3; changes.remove_prefix(3)) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(changes[i]); };
    file[(byte(0) << 8 | byte(1)) % file.size()] = changes[2];
  }
  return file;
}

/// A file that a cache stored, and that each input writes anew.
class StoredFile {
 public:
  explicit StoredFile(fs::path file)
      : path(std::move(file)),
        bytes(bytes_of_file(path)),
        descriptor_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {}

  void write(const std::string& content) const {
    require(::ftruncate(descriptor_, 0) == 0 &&
                ::pwrite(descriptor_, content.data(), content.size(), 0) ==
                    static_cast<ssize_t>(content.size()),
            "the file is written");
  }

  const fs::path path;
  const std::string bytes;

 private:
  int descriptor_;
};

void read_pipelines(const fs::path& folder, std::string_view input, bool damages) {
  static const DeviceProfile device = example_device();
  static const std::string data = "what a driver's compiler made, with its own header";
  static const StoredFile file([&] {
    fs::path path = folder / pipeline_cache_file_name(device);
    store_pipeline_cache(path, device, data);
    return path;
  }());
  file.write(damages ? damaged(file.bytes, input) : std::string(input));
  const LoadedPipelineCache loaded = load_pipeline_cache(file.path, device);
  require(loaded.data.empty() || loaded.note.empty(), "a file that is taken needs no note");
  if (damages)
    require(loaded.data.empty() || loaded.data == data, "no damage is taken for pipelines");
  else
    require(input.ends_with(loaded.data), "pipelines are what lies in the file");
}

void read_spirv(const fs::path& folder, std::string_view input, bool damages) {
  static const Shader shader = emit_gemm({.tile_m = 8, .tile_n = 8}, {});
  static const std::vector<std::uint32_t> compiled = ShaderCache(folder).spirv(shader);
  static const StoredFile file(folder / "spirv" / (shader.hash + ".spv"));
  file.write(damages ? damaged(file.bytes, input) : std::string(input));
  const auto taken = stored_spirv(file.path);
  require(!taken || *taken == compiled || !damages, "no damage is taken for SPIR-V");
}

}  // namespace
}  // namespace rooftile

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  static const ScratchFolder folder;
  if (count == 0) return 0;
  const std::string_view input = text_of(bytes + 1, count - 1);
  const bool damages = (bytes[0] & 1) != 0;
  if ((bytes[0] & 2) != 0)
    read_spirv(folder.path(), input, damages);
  else
    read_pipelines(folder.path(), input, damages);
  return 0;
}
