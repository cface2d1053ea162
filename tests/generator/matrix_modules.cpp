#include "matrix_modules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rooftile {

void expect_valid(const std::vector<std::uint32_t>& words, const std::string& what) {
  const char* validator = std::getenv("ROOFTILE_SPIRV_VAL");
  if (validator == nullptr) return;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("matrix-" + std::to_string(::getpid()) + ".spv");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * sizeof words[0]));
  const std::string command =
      std::string(validator) + " --target-env vulkan1.3 '" + file.string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << what;
  std::filesystem::remove(file);
}

bool holds_tag(const std::vector<std::uint32_t>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](std::uint32_t word) { return word >> 24 == 0x7f; });
}

}  // namespace rooftile
