// Tests which calls on device buffers are refused, and that refused calls write nothing.

#include "tests/support/forked_child.h"
#include "tests/support/resident_fixture.h"
#include "tests/support/with.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class ResidentRefusalTest : public ResidentTest {
 protected:
  void SetUp() override {
    ResidentTest::SetUp();
    open({fallback_variant()});
    operands_ = operands_of(product_, 2);
  }
  void expect_refused(const rooftile_gemm_args& args, const rooftile_resident_operands& operands,
                      const std::string& message,
                      rooftile_status status = ROOFTILE_INVALID_ARGUMENT) {
    EXPECT_EQ(rooftile_resident_gemm(context_, &args, &operands, nullptr), status);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
    download_c(product_, operands_.c);
    EXPECT_TRUE(product_.c_is_untouched()) << message;
  }

  Product product_{padded_problem(5, 7, 3, Transpose::kNo, Transpose::kNo)};
  ProblemArgs problem_{product_};
  rooftile_resident_operands operands_;
};

// The child has its own copy of the memory, so that the parent would not see what it writes.
TEST_F(ResidentRefusalTest, CopiesInAForkedChild) {
  const auto refused = [&] {
    rooftile_buffer* const c = operands_.c.buffer;
    float value = 1;
    return rooftile_buffer_upload(c, 0, &value, 4) == ROOFTILE_DEVICE_ERROR &&
           rooftile_buffer_download(c, 0, &value, 4) == ROOFTILE_DEVICE_ERROR;
  };
  EXPECT_EQ(in_a_child(refused), 0);
}

TEST_F(ResidentRefusalTest, OverlapsAndOffsetsOutsideTheBuffer) {
  expect_refused(problem_.args,
                 with(operands_, [&](auto& copy) { copy.a = copy.c, copy.a.offset += 20; }),
                 "c overlaps a");
  expect_refused(problem_.args, with(operands_, [&](auto& copy) { copy.b = operands_.c; }),
                 "c overlaps b");
  expect_refused(problem_.args, with(operands_, [&](auto& copy) { copy.a.offset = 100; }),
                 "a takes ");
  expect_refused(problem_.args, with(operands_, [&](auto& copy) { copy.c.offset += 1000; }),
                 "c takes ");
  rooftile_resident_operands x = operands_;
  x.b.offset = -1;
  expect_refused(problem_.args, x, "b's offset is -1");
  x.b.offset = INT64_MAX / 2;
  expect_refused(problem_.args, x, "b's offset is ");
  expect_refused(problem_.args, with(operands_, [&](auto& copy) { copy.a = {}; }), "a is null");
  expect_refused(problem_.args, with(operands_, [&](auto& copy) { copy.bias = operands_.a; }),
                 "operands has bias");
}

TEST_F(ResidentRefusalTest, ArgumentsThatMeanHostMemory) {
  rooftile_gemm_args args = problem_.args;
  args.a = product_.a.data();
  expect_refused(args, operands_, "a is not NULL");
  args = problem_.args;
  const void* const array[1] = {product_.a.data()};
  args.b_array = array;
  expect_refused(args, operands_, "b_array is not NULL");
  args = problem_.args;
  args.tier = ROOFTILE_TIER_HOST;
  expect_refused(args, operands_, "the tier is a host tier");
  args = problem_.args;
  args = problem_.args;
  rooftile_epilogue epilogue = {.struct_size = sizeof epilogue, .bias_kind = ROOFTILE_BIAS_ROW};
  args.epilogue = &epilogue;
  expect_refused(args, operands_, "bias is null");
  epilogue.bias = product_.a.data();
  expect_refused(args, operands_, "bias is not NULL");
  args = problem_.args;
  args.lda = 1;
  expect_refused(args, operands_, "lda");
  args = problem_.args;
  args.struct_size = 8;
  expect_refused(args, operands_, "struct_size");
  expect_refused(problem_.args, with(operands_, [&](auto& copy) { copy.struct_size = 8; }),
                 "operands->struct_size");
}

TEST_F(ResidentRefusalTest, HandlesThatWereReleasedOrAreOfAnotherKind) {
  const rooftile_place a = operands_.a;
  ok(rooftile_buffer_release(a.buffer));
  expect_refused(problem_.args, operands_, "the buffer was released");
  EXPECT_EQ(rooftile_buffer_release(a.buffer), ROOFTILE_INVALID_ARGUMENT);
  rooftile_buffer* const next = create(64);
  EXPECT_NE(next, a.buffer);
  float value = 0;
  EXPECT_EQ(rooftile_buffer_download(a.buffer, 0, &value, 4), ROOFTILE_INVALID_ARGUMENT);
  std::size_t bytes = 0;
  EXPECT_EQ(rooftile_buffer_size(a.buffer, &bytes), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_run_wait(reinterpret_cast<rooftile_run*>(next), 0), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the run was released or is not a valid handle"));
  EXPECT_EQ(rooftile_list_run(nullptr, nullptr), ROOFTILE_INVALID_ARGUMENT);
  ok(rooftile_buffer_release(nullptr));
}

TEST_F(ResidentRefusalTest, BuffersOfAnotherContext) {
  rooftile_context* const first = std::exchange(context_, nullptr);
  open({fallback_variant()});
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem_.args, &operands_, nullptr),
            ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("another context"));
  rooftile_close(first);
}

TEST_F(ResidentRefusalTest, BytesThatAreNotInABuffer) {
  rooftile_buffer* const buffer = create(10);
  std::size_t size = 0;
  ok(rooftile_buffer_size(buffer, &size));
  EXPECT_EQ(size, 16u);
  char bytes[32] = {};
  ok(rooftile_buffer_upload(buffer, 3, bytes, 13));
  EXPECT_EQ(rooftile_buffer_upload(buffer, 4, bytes, 13), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_buffer_download(buffer, SIZE_MAX, bytes, 2), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(rooftile_buffer_upload(buffer, 0, nullptr, 1), ROOFTILE_INVALID_ARGUMENT);
  ok(rooftile_buffer_upload(buffer, 16, nullptr, 0));
  rooftile_buffer* none = buffer;
  EXPECT_EQ(rooftile_buffer_create(context_, 0, &none), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(rooftile_buffer_create(context_, std::size_t{1} << 60, &none), ROOFTILE_OUT_OF_MEMORY);
}

TEST_F(ResidentRefusalTest, InvalidWorkspaces) {
  const Variant split =
      parse_variant("family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 split_k=3");
  release_buffers();
  open({split, fallback_variant()});
  Product product(packed_problem(16, 32, 64));
  const ProblemArgs problem(product);
  rooftile_resident_operands x = operands_of(product);
  const auto refused = [&](rooftile_place workspace, std::size_t bytes, const char* message) {
    x.workspace = workspace;
    x.workspace_bytes = bytes;
    EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &x, nullptr),
              ROOFTILE_INVALID_ARGUMENT);
    EXPECT_THAT(rooftile_last_error(), HasSubstr(message));
  };
  rooftile_buffer* const buffer = create(1 << 16);
  refused({buffer, 1}, 0, "multiple of");
  refused({buffer, 1 << 16}, 0, "not in its buffer");
  refused({buffer, 256}, 1 << 16, "not in its buffer");
  rooftile_buffer* const shared = create(1 << 17);
  x.c = {shared, 1000};
  refused({shared, 0}, 0, "overlaps");
}

TEST_F(ResidentRefusalTest, QuantisedOperandsThatAreNotAligned) {
  const Types types = parse_types("f32xq4b32");
  Product product(packed_problem(3, 8, 64, Transpose::kNo, Transpose::kYes, 1, types));
  const ProblemArgs problem(product);
  rooftile_resident_operands x = operands_of(product);
  x.scales = put(product.quantization.scales, 4, 1);
  x.scales.offset = 1;
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &x, nullptr), ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the scales of b starts at byte 4"));
}

TEST_F(ResidentRefusalTest, GuardsThatNeedTheHost) {
  rooftile_gemm_args args = problem_.args;
  rooftile_guard guard = {.struct_size = sizeof guard};
  args.guard = &guard;
  const auto refused = [&](const char* message) {
    expect_refused(args, operands_, message, ROOFTILE_UNSUPPORTED);
    guard = {.struct_size = sizeof guard};
  };
  guard.scan_range = 1;
  refused("a scan of the operands");
  guard.check_spots = 1;
  refused("a check of the result");
  guard.precision = ROOFTILE_PRECISION_HIGH;
  refused("the precision is high");
  guard.precision = ROOFTILE_PRECISION_EXACT64;
  refused("the precision is exact64");
  guard.kappa = 1000;
  refused("kappa is at least 1000");
  guard.precision = ROOFTILE_PRECISION_RELAXED;
  guard.kappa = 1000;
  ok(rooftile_resident_gemm(context_, &args, &operands_, nullptr));
}

TEST_F(ResidentRefusalTest, APrecisionOfTheContextThatNeedsTheHost) {
  rooftile_context* const first = std::exchange(context_, nullptr);
  for (const rooftile_precision precision : {ROOFTILE_PRECISION_HIGH, ROOFTILE_PRECISION_EXACT64}) {
    rooftile_close(std::exchange(context_, nullptr));
    context_ = opened(folder_ / "none.db", {.precision = precision});
    operands_ = operands_of(product_, 2);
    expect_refused(problem_.args, operands_, "the precision is ", ROOFTILE_UNSUPPORTED);
    rooftile_prepared prepared = {.struct_size = sizeof prepared};
    EXPECT_EQ(rooftile_resident_prepare(context_, &problem_.args, &operands_, &prepared),
              ROOFTILE_UNSUPPORTED);
    rooftile_list* list = nullptr;
    ok(rooftile_list_create(context_, &list));
    EXPECT_EQ(rooftile_list_gemm(list, &problem_.args, &operands_), ROOFTILE_UNSUPPORTED);
    ok(rooftile_list_release(list));
    rooftile_gemm_args args = problem_.args;
    const rooftile_guard standard = {.struct_size = sizeof standard,
                                     .precision = ROOFTILE_PRECISION_STANDARD};
    args.guard = &standard;
    ok(rooftile_resident_gemm(context_, &args, &operands_, nullptr));
    ok(rooftile_resident_finish(context_, ROOFTILE_FOREVER));
  }
  rooftile_close(first);
}

TEST_F(ResidentRefusalTest, NoDeviceForBuffers) {
  rooftile_context* const first = std::exchange(context_, nullptr);
  context_ = opened(folder_ / "none.db", {.device = "no such device"});
  rooftile_buffer* buffer = nullptr;
  EXPECT_EQ(rooftile_buffer_create(context_, 16, &buffer), ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("no such device"));
  rooftile_close(first);
}

}  // namespace
}  // namespace rooftile
