// A schedule of faults: every allocation of a call on the host, and of opening a context, fails
// once in its turn. The call is right or returns OUT_OF_MEMORY with C untouched, and the context
// goes on as before. The number of points tried is printed; none is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>

#include "tests/support/c_api_fixture.h"

namespace {

constexpr long kNever = std::numeric_limits<long>::max();
thread_local long allocations_left = kNever;  // of this thread, before one fails
thread_local bool has_failed = false;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left != kNever && allocations_left-- == 0) {
    allocations_left = kNever;
    has_failed = true;
    throw std::bad_alloc();
  }
  const std::size_t rounded =
      (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Where this is inlined and allocate() is not, g++ takes the pair for a mistake.
[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace rooftile {
namespace {

/// Runs it with the n-th allocation of this thread failing, for each n until none fails.
int at_every_allocation(const std::function<void()>& prepare, const std::function<void()>& work,
                        const std::function<void(bool failed)>& check) {
  for (int point = 0;; ++point) {
    prepare();
    has_failed = false;
    allocations_left = point;
    work();
    allocations_left = kNever;
    check(has_failed);
    if (!has_failed || ::testing::Test::HasFailure()) return point;
  }
}

class EveryAllocation : public CApi {
 protected:
  void SetUp() override {
    CApi::SetUp();
    open_without_device();
  }
};

TEST_F(EveryAllocation, OfACallFailsInItsTurnAndTheCallIsRightOrRefused) {
  for (const char* types : {"f32", "f16_f16", "u8_bf16", "f32xq4b32", "f16xq8_0"})
    for (const rooftile_tier tier :
         {ROOFTILE_TIER_AUTO, ROOFTILE_TIER_HOST1, ROOFTILE_TIER_HOST64}) {
      Problem p =
          padded_problem(9, 7, 70, Transpose::kNo, Transpose::kYes, 1.0f, 0.5f, parse_types(types));
      p.epilogue = parse_epilogue("bias_column+gelu_erf+residual");
      std::unique_ptr<Product> product;
      rooftile_gemm_args args = {};
      rooftile_quantization quantization = {};
      rooftile_epilogue epilogue = {};
      rooftile_status status = ROOFTILE_OK;
      const int points = at_every_allocation(
          [&] {
            product = std::make_unique<Product>(p);
            args = gemm_args_of(*product);
            quantization = quantization_of(*product);
            epilogue = epilogue_of(*product);
            args.tier = tier;
            args.epilogue = &epilogue;
            if (quantized(p.types)) args.quantization = &quantization;
          },
          [&] { status = rooftile_gemm(context_, &args); },
          [&](bool failed) {
            if (status == ROOFTILE_OK) return product->expect_right();
            EXPECT_TRUE(failed);
            EXPECT_EQ(status, ROOFTILE_OUT_OF_MEMORY) << rooftile_last_error();
            EXPECT_TRUE(product->c_is_untouched());
          });
      ASSERT_FALSE(HasFailure()) << types << ", tier " << tier << ", allocation " << points;
      std::printf("%s, tier %d: %d points tried, none skipped\n", types, static_cast<int>(tier),
                  points);
    }
}

TEST_F(EveryAllocation, OfOpeningAContextFailsInItsTurn) {
  const std::string database = (folder_ / "none.db").string();
  const rooftile_options options = {
      .struct_size = sizeof options, .database_path = database.c_str(), .device = "no such device"};
  rooftile_context* opened = nullptr;
  rooftile_status status = ROOFTILE_OK;
  const int points = at_every_allocation(
      [&] { opened = nullptr; }, [&] { status = rooftile_open(&options, &opened); },
      [&](bool failed) {
        EXPECT_TRUE(failed || status == ROOFTILE_OK) << rooftile_last_error();
        EXPECT_EQ(opened == nullptr, status != ROOFTILE_OK);
        EXPECT_THAT(status, ::testing::AnyOf(ROOFTILE_OK, ROOFTILE_OUT_OF_MEMORY))
            << rooftile_last_error();
        rooftile_close(opened);
      });
  ASSERT_FALSE(HasFailure()) << "allocation " << points;
  std::printf("%d points tried, none skipped\n", points);
}

}  // namespace
}  // namespace rooftile
