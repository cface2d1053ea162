// Files of compiled kernels: SPIR-V and a driver's pipelines. Those that were stored are damaged
// (an offset of two bytes and a value, any number of times), or the input is the file. What is
// taken from a damaged file is what was stored, or nothing.
#include <sys/stat.h>

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

void write_private(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  write_file(file, bytes);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
}

void read_pipelines(const fs::path& folder, std::string_view input, bool damages) {
  const DeviceProfile device = example_device();
  static const std::string data = "what a driver's compiler made, with its own header";
  const fs::path file = folder / pipeline_cache_file_name(device);
  store_pipeline_cache(file, device, data);
  write_private(file, damages ? damaged(bytes_of_file(file), input) : std::string(input));
  const LoadedPipelineCache loaded = load_pipeline_cache(file, device);
  require(loaded.data.empty() || loaded.note.empty(), "a file that is taken needs no note");
  if (damages)
    require(loaded.data.empty() || loaded.data == data, "no damage is taken for pipelines");
  else
    require(input.ends_with(loaded.data), "pipelines are what lies in the file");
}

void read_spirv(const fs::path& folder, std::string_view input, bool damages) {
  static const Shader shader = emit_gemm({.tile_m = 8, .tile_n = 8}, {});
  static const std::vector<std::uint32_t> words = ShaderCache(fs::path()).spirv(shader);
  const fs::path file = folder / "spirv" / (shader.hash + ".spv");
  static const std::string stored = [&] {
    ShaderCache(folder).spirv(shader);
    return bytes_of_file(file);
  }();
  write_private(file, damages ? damaged(stored, input) : std::string(input));
  require(ShaderCache(folder).spirv(shader) == words, "no damage is taken for SPIR-V");
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
