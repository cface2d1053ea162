// SPIR-V modules, of which the local size is read before a driver gets them.
#include <cstring>
#include <vector>

#include "runtime/device/spirv_summary.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace rooftile;
  std::vector<std::uint32_t> words(count / sizeof(std::uint32_t));
  if (words.empty()) return 0;
  std::memcpy(words.data(), bytes, words.size() * sizeof(std::uint32_t));
  read_or_refuse([&] { summarise_spirv(words); });
  return 0;
}
