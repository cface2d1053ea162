// The real worker with faults injected into the compilation of chosen kernels: the effects of bad
// kernels, compilers and drivers. It is linked with --wrap, so that the worker's own code is
// unchanged. $ROOFTILE_TEST_FAULTS holds "hash=behaviour", separated by blanks.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "generator/compile.h"
#include "tests/support/changed_shader.h"
#include "tuner/worker/worker.h"

namespace rooftile {

std::vector<std::uint32_t> real_compile(const Shader& shader) asm(
    "__real__ZN8rooftile7compileERKNS_6ShaderE");
std::vector<std::uint32_t> faulty_compile(const Shader& shader) asm(
    "__wrap__ZN8rooftile7compileERKNS_6ShaderE");

namespace {

std::string behaviour_of(const Shader& shader) {
  const char* plants = std::getenv("ROOFTILE_TEST_FAULTS");
  std::istringstream words(plants != nullptr ? plants : "");
  for (std::string word; words >> word;)
    if (word.starts_with(shader.hash + "=")) return word.substr(shader.hash.size() + 1);
  return {};
}

[[noreturn]] void fill_memory() {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 26, kPageBytes = 4096;
  for (std::vector<std::unique_ptr<char[]>> blocks;;) {
    blocks.push_back(std::make_unique_for_overwrite<char[]>(kBlockBytes));
    for (std::size_t page = 0; page < kBlockBytes; page += kPageBytes) blocks.back()[page] = 1;
  }
}

}  // namespace

std::vector<std::uint32_t> faulty_compile(const Shader& shader) {
  static bool device_is_lost = false;
  const std::string behaviour = behaviour_of(shader);
  if (behaviour == "loses_the_device") device_is_lost = true;
  if (device_is_lost) fail(ErrorCode::kDevice, "compiling: the device is lost");
  if (behaviour == "crashes") ::raise(SIGSEGV);
  if (behaviour == "hangs_in_the_compiler")
    while (true) ::pause();
  if (behaviour == "fills_memory") fill_memory();
  // The other faults change kernels of the family naive; the check of their results finds them.
  if (behaviour == "loops" || behaviour == "loops_in_one_workgroup") {
    const std::string loops = behaviour == "loops" ? "true" : "gl_WorkGroupID == uvec3(0)";
    // Mesa's software device ends every loop after 65,535 trips, so each trip has to take long.
    std::string slow;
    for (int i = 0; i < 100; ++i) slow += "sum = pow(abs(sum), 1.01), ";
    return real_compile(
        changed(shader, "++p) ", "p += " + loops + " ? depth / (depth + 1) : 1) " + slow));
  }
  if (behaviour == "writes_outside") return real_compile(changed(shader, "row >= m", "row > m"));
  if (behaviour == "writes_nothing")
    return real_compile(changed(shader, "store_c(c_index,", "if (false) store_c(c_index,"));
  if (behaviour == "writes_a_gibibyte_away")
    return real_compile(changed(shader, "store_c(c_index,", "store_c(c_index + (1u << 28),"));
  if (behaviour == "gives_nan")
    return real_compile(
        changed(shader, "finish(RESULT(sum)",
                "finish(RESULT(sum) * (RESULT(beta - beta) / RESULT(beta - beta))"));
  return real_compile(shader);
}

}  // namespace rooftile

int main() { return rooftile::run_worker(); }
