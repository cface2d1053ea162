// An embedding as a program sees it: its header, compiled by a C compiler and loaded.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "embed/embedding.h"
#include "runtime/device/physical/vulkan.h"
#include "tests/support/scratch.h"

// In the header it is an enumeration of the classes.
using rooftile_embed_class = std::uint32_t;
#include "embed/header/api.h"
#include "embed/header/features.h"

namespace rooftile {

/// The problem as a product of the class with this index in the embedding.
inline rooftile_embed_problem embedded_problem(std::size_t of_class, const Problem& p) {
  return {.of_class = static_cast<rooftile_embed_class>(of_class),
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .batch = p.batch,
          .lda = p.lda,
          .ldb = p.ldb,
          .ldc = p.ldc,
          .stride_a = p.stride_a,
          .stride_b = p.stride_b,
          .stride_c = p.stride_c,
          .alpha = static_cast<float>(p.alpha),
          .beta = static_cast<float>(p.beta),
          .clamp_low = static_cast<float>(p.epilogue.low),
          .clamp_high = static_cast<float>(p.epilogue.high)};
}

/// As in embed/header/plan.h.
struct EmbeddedStep {
  std::int32_t kind;  ///< Clear, pack A, pack B, gemm, reduce, barrier.
  std::uint32_t groups[3];
  std::uint32_t push_words, push[26];
};

class EmbeddedLibrary {
 public:
  explicit EmbeddedLibrary(const Embedding& made) {
    std::ofstream(scratch_ / "gemm_kernels.h") << c_header(made, "test");
    const std::string library = (scratch_ / "kernels.so").string();
    const std::string command = std::string(ROOFTILE_C_COMPILER) +
                                " -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -fPIC "
                                "-fsanitize=undefined -fsanitize-undefined-trap-on-error " +
                                "-shared -I " + scratch_.path().string() +
                                " " ROOFTILE_SOURCE_DIR "/tests/embed/shim.c -o " + library +
                                " -lvulkan";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("not compiled: " + command);
    library_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(::dlerror());
    load(select, "rooftile_embed_select");
    load(describe, "rooftile_embed_describe");
    load(problem_of, "rooftile_embed_problem_of");
    load(status_name, "rooftile_embed_status_name");
    load(get_limits, "rooftile_embed_get_limits");
    load(get_requirements, "rooftile_embed_get_requirements");
    load(create, "rooftile_embed_create");
    load(destroy, "rooftile_embed_destroy");
    load(prepare, "rooftile_embed_prepare");
    load(record, "rooftile_embed_record");
    load(release, "rooftile_embed_release");
    load(fits, "shim_fits");
    load(c_overlaps, "shim_c_overlaps");
    load(plan, "shim_plan");
    load(sizes, "shim_sizes");
    load(module, "shim_module");
  }
  EmbeddedLibrary(const EmbeddedLibrary&) = delete;
  EmbeddedLibrary& operator=(const EmbeddedLibrary&) = delete;

  decltype(&rooftile_embed_select) select = nullptr;
  decltype(&rooftile_embed_describe) describe = nullptr;
  decltype(&rooftile_embed_problem_of) problem_of = nullptr;
  decltype(&rooftile_embed_status_name) status_name = nullptr;
  decltype(&rooftile_embed_get_limits) get_limits = nullptr;
  decltype(&rooftile_embed_get_requirements) get_requirements = nullptr;
  decltype(&rooftile_embed_create) create = nullptr;
  decltype(&rooftile_embed_destroy) destroy = nullptr;
  decltype(&rooftile_embed_prepare) prepare = nullptr;
  decltype(&rooftile_embed_record) record = nullptr;
  decltype(&rooftile_embed_release) release = nullptr;
  int (*fits)(int kernel, const rooftile_embed_limits*, const rooftile_embed_problem*,
              const rooftile_embed_operands*) = nullptr;
  int (*c_overlaps)(const rooftile_embed_limits*, const rooftile_embed_problem*,
                    const rooftile_embed_operands*) = nullptr;
  void (*plan)(int kernel, const rooftile_embed_limits*, const rooftile_embed_problem*,
               const rooftile_embed_operands*, double max_flops, void* user,
               void (*visit)(void* user, const EmbeddedStep*)) = nullptr;
  void (*sizes)(int kernel, const rooftile_embed_limits*, const rooftile_embed_problem*,
                const rooftile_embed_operands*, std::int64_t* words) = nullptr;
  std::uint32_t* (*module)(int shader) = nullptr;

 private:
  template <typename Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("no function ") + name);
  }

  ScratchFolder scratch_;
  void* library_ = nullptr;  // Stays loaded: drivers may have been given its functions.
};

}  // namespace rooftile
