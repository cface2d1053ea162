// Memory that runs out within the shader compiler is no defect of the kernel.
#include <gtest/gtest.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "core/error.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "generator/space.h"
#include "tests/support/failing_allocations.h"

namespace rooftile {
namespace {

TEST(CompilerMemory, ALackOfItIsNoDefectOfTheKernel) {
  const Shader shader = emit_gemm(fallback_variant(), {});
  const std::vector<std::uint32_t> expected = compile(shader);
  int failed = 0;
#ifdef __SANITIZE_ADDRESS__
  const __lsan::ScopedDisabler glslang_leaks_what_it_has_where_memory_runs_out;
#endif
  // A compilation makes some ten thousand allocations.
  for (long point = 1; point < 4000; point += 1 + point / 8) {
    FailingAllocations::fail_at(point, FailingAllocations::Of::kThisThread);
    try {
      EXPECT_EQ(compile(shader), expected) << point;
    } catch (const std::bad_alloc&) {
      ++failed;
    } catch (const Error& error) {
      FailingAllocations::heal();
      ++failed;
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << point << error.what();
    }
    FailingAllocations::heal();
  }
  EXPECT_GT(failed, 10);
}

}  // namespace
}  // namespace rooftile
