// Lists of GEMMs and transfers: they are submitted together, run in order, and can run repeatedly.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "runtime/abi/handles.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {
namespace {

std::size_t submissions(rooftile_list* list) { return list_names().get(list)->list->submissions(); }

class ResidentListTest : public ResidentTest {
 protected:
  rooftile_list* create_list() {
    rooftile_list* list = nullptr;
    ok(rooftile_list_create(context_, &list));
    return list;
  }
  /// Adds x := alpha * x * one + beta * x, for one element each, so that the result depends on the
  /// order of steps.
  void add_step(rooftile_list* list, rooftile_buffer* x, rooftile_buffer* one, float alpha,
                float beta) {
    const rooftile_gemm_args args = {.struct_size = sizeof args,
                                     .m = 1,
                                     .n = 1,
                                     .k = 1,
                                     .batch = 1,
                                     .alpha = alpha,
                                     .beta = beta,
                                     .lda = 1,
                                     .ldb = 1,
                                     .ldc = 1};
    const rooftile_resident_operands operands = {
        .struct_size = sizeof operands, .a = {one, 0}, .b = {one, 0}, .c = {x, 0}};
    ok(rooftile_list_gemm(list, &args, &operands));
  }

  void lose_the_device() {
    open({fallback_variant()});
    rooftile_buffer *x = create(4), *one = create(4);
    const float first = 1;
    ok(rooftile_buffer_upload(x, 0, &first, 4));
    ok(rooftile_buffer_upload(one, 0, &first, 4));
    rooftile_list* list = create_list();
    add_step(list, x, one, 1, 1);
    rooftile_run* run = nullptr;
    ok(rooftile_list_run(list, &run));
    buffer_names().get(x)->resident->device()->give_up();
    float got = 0;
    EXPECT_EQ(rooftile_run_wait(run, ROOFTILE_FOREVER), ROOFTILE_DEVICE_ERROR);
    EXPECT_EQ(rooftile_list_run(list, nullptr), ROOFTILE_DEVICE_ERROR);
    EXPECT_EQ(rooftile_resident_finish(context_, 0), ROOFTILE_DEVICE_ERROR);
    EXPECT_THAT(rooftile_last_error(), ::testing::HasSubstr("open it again"));
    rooftile_buffer* more = nullptr;
    EXPECT_EQ(rooftile_buffer_create(context_, 16, &more), ROOFTILE_DEVICE_ERROR);
    ok(rooftile_run_release(run));
    ok(rooftile_list_release(list));
    // A device that is opened again works.
    release_buffers();
    open({fallback_variant()});
    x = create(4);
    ok(rooftile_buffer_upload(x, 0, &first, 4));
    ok(rooftile_buffer_download(x, 0, &got, 4));
    EXPECT_EQ(got, 1.0f);
  }
};

/// One layer of a perceptron: multiplies the rows of x by weights and adds a bias.
struct Layer {
  Product product;
  Layer(std::int64_t rows, std::int64_t in, std::int64_t out, const Epilogue& epilogue)
      : product([&] {
          Problem p = packed_problem(rows, out, in);
          p.epilogue = epilogue;
          return p;
        }()) {}
};

TEST_F(ResidentListTest, LayersRunInOneSubmission) {
  const Epilogue epilogue = parse_epilogue("bias_column+relu");
  open({fast_kernel(device_), fallback_variant()}, epilogue);
  std::vector<Layer> layers;
  layers.emplace_back(7, 33, 50, epilogue);
  layers.emplace_back(7, 50, 21, epilogue);
  layers.emplace_back(7, 21, 10, epilogue);

  std::vector<float> x = layers.front().product.a, y(7 * 10);
  rooftile_list* list = create_list();
  rooftile_place input = {create(x.size() * sizeof(float)), 0};
  ok(rooftile_list_upload(list, input.buffer, 0, x.data(), x.size() * sizeof(float)));
  std::vector<rooftile_place> outputs;
  for (Layer& layer : layers) {
    rooftile_resident_operands operands = operands_of(layer.product);
    operands.a = input;
    const ProblemArgs problem(layer.product);
    ok(rooftile_list_gemm(list, &problem.args, &operands));
    input = operands.c;
    outputs.push_back(operands.c);
  }
  ok(rooftile_list_download(list, input.buffer, 0, y.data(), y.size() * sizeof(float)));
  for (int turn = 0; turn < 3; ++turn) {
    for (float& value : x) value *= -0.75f;
    run(list);
    const std::vector<float>* in = &x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      Product& product = layers[i].product;
      product.a.assign(in->begin(), in->end());
      product.stored_a_elements.assign(
          reinterpret_cast<const char*>(product.a.data()),
          reinterpret_cast<const char*>(product.a.data() + product.a.size()));
      download_c(product, outputs[i]);
      product.expect_right();
      in = &product.c;
    }
    EXPECT_TRUE(std::equal(y.begin(), y.end(), layers.back().product.c.begin()));
  }
  EXPECT_EQ(submissions(list), 1u);
  ok(rooftile_list_release(list));
}

TEST_F(ResidentListTest, RunsFollowEachOtherInTheOrderOfTheirCalls) {
  open({fallback_variant()});
  rooftile_buffer *x = create(4), *one = create(4);
  const float zero = 0, first = 1;
  ok(rooftile_buffer_upload(x, 0, &zero, 4));
  ok(rooftile_buffer_upload(one, 0, &first, 4));
  rooftile_list *add = create_list(), *twice = create_list();
  add_step(add, x, one, 1, 1);     // x := x + 1
  add_step(twice, x, one, 0, 2);   // x := 2 x
  add_step(twice, x, one, -1, 1);  // x := x - 1
  float expected = 0;
  rooftile_run *last_add = nullptr, *last_twice = nullptr;
  for (int turn = 0; turn < 12; ++turn) {
    ok(rooftile_list_run(add, turn < 11 ? nullptr : &last_add));
    ok(rooftile_list_run(twice, turn < 11 ? nullptr : &last_twice));
    ok(rooftile_list_run(add, nullptr));
    expected = 2 * (expected + 1) - 1 + 1;
  }
  ok(rooftile_resident_finish(context_, ROOFTILE_FOREVER));
  ok(rooftile_run_wait(last_add, 0));
  ok(rooftile_run_wait(last_twice, 0));
  float got = 0;
  ok(rooftile_buffer_download(x, 0, &got, 4));
  EXPECT_EQ(got, expected);
  for (rooftile_run* run : {last_add, last_twice}) ok(rooftile_run_release(run));
  for (rooftile_list* list : {add, twice}) ok(rooftile_list_release(list));
}

TEST_F(ResidentListTest, TransfersOfEachRunAreItsOwn) {
  open({fallback_variant()});
  rooftile_buffer *x = create(4), *one = create(4);
  float in = 0, out = 0;
  const float first = 1;
  ok(rooftile_buffer_upload(one, 0, &first, 4));
  rooftile_list* list = create_list();
  ok(rooftile_list_upload(list, x, 0, &in, 4));
  add_step(list, x, one, 1, 3);
  ok(rooftile_list_download(list, x, 0, &out, 4));
  std::vector<rooftile_run*> runs;
  for (int turn = 0; turn < 4; ++turn) {
    in = static_cast<float>(turn);
    rooftile_run* run = nullptr;
    ok(rooftile_list_run(list, &run));
    in = -100;  // The run has already read it.
    if (turn % 2 == 0) {
      ok(rooftile_run_wait(run, ROOFTILE_FOREVER));
      EXPECT_EQ(out, static_cast<float>(3 * turn + 1));
    }
    runs.push_back(run);
  }
  ok(rooftile_run_wait(runs.back(), ROOFTILE_FOREVER));
  EXPECT_EQ(out, 10.0f);
  for (rooftile_run* run : runs) ok(rooftile_run_release(run));
  EXPECT_EQ(rooftile_list_run(list, nullptr), ROOFTILE_INVALID_ARGUMENT);
  ok(rooftile_list_release(list));
}

TEST_F(ResidentListTest, ReleasedListsLiveUntilTheirRunsEnd) {
  open({fallback_variant()});
  rooftile_buffer *x = create(4), *one = create(4);
  const float zero = 0, first = 1;
  ok(rooftile_buffer_upload(x, 0, &zero, 4));
  ok(rooftile_buffer_upload(one, 0, &first, 4));
  rooftile_list* list = create_list();
  ok(rooftile_list_run(list, nullptr));  // The list is empty.
  add_step(list, x, one, 1, 2);
  ok(rooftile_list_run(list, nullptr));  // x is 1
  add_step(list, x, one, 1, 2);
  ok(rooftile_list_run(list, nullptr));  // x is 3, then 7
  ok(rooftile_list_release(list));
  ok(rooftile_buffer_release(one));
  float got = 0;
  ok(rooftile_buffer_download(x, 0, &got, 4));
  EXPECT_EQ(got, 7.0f);
}

TEST_F(ResidentListTest, LongListsAreSeveralSubmissions) {
  // The predicted time of a 64 x 64 x 64 GEMM is one second.
  const Variant variant = parse_variant("family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4");
  open({variant, fallback_variant()}, {}, {}, 1e9);
  Product product(packed_problem(64, 64, 64)), short_one(packed_problem(8, 32, 16));
  rooftile_list* list = create_list();
  const rooftile_resident_operands operands = operands_of(product),
                                   short_operands = operands_of(short_one);
  const ProblemArgs problem(product), short_problem(short_one);
  ok(rooftile_list_gemm(list, &short_problem.args, &short_operands));
  ok(rooftile_list_gemm(list, &problem.args, &operands));
  run(list);
  // The short GEMM is one submission, and the other one is four of a quarter of a second each.
  EXPECT_EQ(submissions(list), 5u);
  download_c(product, operands.c);
  product.expect_right();
  download_c(short_one, short_operands.c);
  short_one.expect_right();
  ok(rooftile_list_release(list));
}

TEST_F(ResidentListTest, CallsShareAWorkspaceOneAfterTheOther) {
  const Variant split =
      parse_variant("family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 split_k=3");
  const Variant packed = parse_variant(
      "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
      "vector_width_b=4 packed_a=yes packed_b=yes");
  open({split, packed, fallback_variant()});
  rooftile_list* list = create_list();
  std::vector<Product> products;
  for (const std::int64_t k : {60, 10, 61})
    products.emplace_back(padded_problem(30, 40, k, Transpose::kNo, Transpose::kNo));
  std::vector<rooftile_place> c;
  for (Product& product : products) {
    const rooftile_resident_operands operands = operands_of(product, 1);
    const ProblemArgs problem(product);
    ok(rooftile_list_gemm(list, &problem.args, &operands));
    c.push_back(operands.c);
  }
  run(list);
  for (std::size_t i = 0; i < products.size(); ++i) {
    download_c(products[i], c[i]);
    products[i].expect_right();
  }
  ok(rooftile_list_release(list));
}

TEST_F(ResidentListTest, AfterALossEveryCallAndWaitFails) {
  // The test runs in a process of its own, since the objects of a lost device are leaked.
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        lose_the_device();
        std::_Exit(HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

// Transfers are staged, as for device memory that is not mapped, in more pieces than there are
// mapped buffers.
TEST_F(ResidentListTest, TransfersThroughMappedBuffers) {
  open({fallback_variant()});
  constexpr std::size_t kBytes = (40 << 20) + 13, kOffset = 5;
  rooftile_buffer* const buffer = create(kOffset + kBytes);
  const auto named = buffer_names().get(buffer);
  Resident& resident = *named->resident;
  std::vector<char> up(kBytes), down(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) up[i] = static_cast<char>(i * 2654435761u >> 13);
  resident.staged(Resident::Direction::kUp, named->memory, kOffset, up.data(), kBytes);
  ok(rooftile_buffer_download(buffer, kOffset, down.data(), kBytes));
  EXPECT_TRUE(up == down);
  std::ranges::fill(down, 0);
  resident.staged(Resident::Direction::kDown, named->memory, kOffset, down.data(), kBytes);
  EXPECT_TRUE(up == down);
}

TEST_F(ResidentListTest, ThreadsRunTheirListsAtOnce) {
  open({fallback_variant()});
  rooftile_buffer* one = create(4);
  const float first = 1;
  ok(rooftile_buffer_upload(one, 0, &first, 4));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this, one, t] {
      rooftile_buffer* x = nullptr;
      ok(rooftile_buffer_create(context_, 4, &x));
      float in = static_cast<float>(t), out = 0;
      rooftile_list* list = create_list();
      ok(rooftile_list_upload(list, x, 0, &in, 4));
      add_step(list, x, one, 1, 2);
      ok(rooftile_list_download(list, x, 0, &out, 4));
      for (int turn = 0; turn < 5; ++turn) {
        run(list);
        EXPECT_EQ(out, 2 * in + 1);
        in += 1;
      }
      ok(rooftile_list_release(list));
      ok(rooftile_buffer_release(x));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rooftile
