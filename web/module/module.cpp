// What JavaScript sees of the module: a request and its answer as JSON, SPIR-V, and the product on
// the CPU.
#include <emscripten/emscripten.h>

#include <string>
#include <vector>

#include "web/engine/cpu_product.h"
#include "web/engine/engine.h"
#include "web/module/spirv.h"

namespace {

rooftile::web::Engine& engine() {
  static rooftile::web::Engine one;
  return one;
}

std::string last_answer;
std::vector<std::uint32_t> last_module;

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* rooftile_answer(const char* request) {
  last_answer = engine().answer(request);
  return last_answer.c_str();
}

/// Returns the number of words of the SPIR-V of this GLSL, which begin at rooftile_spirv_words().
/// 0: it does not compile, and rooftile_spirv_error() says why.
EMSCRIPTEN_KEEPALIVE std::size_t rooftile_spirv(const char* glsl) {
  last_module = rooftile::web::compile_glsl(glsl, last_answer);
  return last_module.size();
}
EMSCRIPTEN_KEEPALIVE const std::uint32_t* rooftile_spirv_words() { return last_module.data(); }
EMSCRIPTEN_KEEPALIVE const char* rooftile_spirv_error() { return last_answer.c_str(); }

/// One product of random m x k and k x n matrices on this thread; the caller takes the time.
EMSCRIPTEN_KEEPALIVE float rooftile_cpu_product(int m, int n, int k) {
  return rooftile::web::cpu_product(m, n, k);
}
}
