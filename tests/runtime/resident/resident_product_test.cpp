// GEMMs on device buffers: results are right for all offsets, with the expected kernels and
// numbers of steps.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/hash.h"
#include "generator/compile.h"
#include "tests/support/await.h"
#include "tests/support/changed_shader.h"
#include "tests/support/fast_kernel.h"
#include "tests/support/resident_fixture.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

// This kernel loads vectors of four elements, which is illegal for arbitrary offsets and leading
// dimensions.
const char* const kVectors =
    "family=register tile_m=8 tile_n=32 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 "
    "vector_width_b=4";
const std::string kSplit = std::string(kVectors) + " split_k=3";

TEST_F(ResidentTest, RightForEveryTransposeAtOddSizesAndOffsets) {
  open({parse_variant(kVectors), fast_kernel(device_), fallback_variant()});
  for (Transpose trans_a : {Transpose::kNo, Transpose::kYes})
    for (Transpose trans_b : {Transpose::kNo, Transpose::kYes})
      for (const std::int64_t offset : {0, 1, 67, 128}) {
        Product product(
            padded_problem(33, 17, 65, trans_a, trans_b, -1.0f, offset % 2 == 0 ? 0.0f : 0.5f));
        expect_right(product, offset);
      }
}

TEST_F(ResidentTest, RightAtTheEdges) {
  open({parse_variant(kVectors), fallback_variant()});
  for (const auto& [m, n, k] :
       {std::array{1, 1, 1}, std::array{8, 32, 4}, std::array{9, 33, 5}, std::array{7, 31, 3},
        std::array{1, 40, 70}, std::array{40, 1, 70}, std::array{5, 6, 0}}) {
    Product tight(packed_problem(m, n, k));
    expect_right(tight, 4);
    Product product(padded_problem(m, n, k, Transpose::kNo, Transpose::kNo, 1.0f, 2.0f));
    expect_right(product, 3);
  }
}

TEST_F(ResidentTest, OperandsMayShareOneBuffer) {
  open({parse_variant(kVectors), fallback_variant()});
  Product product(padded_problem(12, 20, 16, Transpose::kNo, Transpose::kYes, 1.0f, 0.5f));
  const auto floats = [](const std::vector<float>& x) {
    return static_cast<std::int64_t>(x.size());
  };
  const std::int64_t at_b = floats(product.a) + 1, at_c = at_b + floats(product.b) + 2;
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * 4; };
  rooftile_buffer* all = create(bytes(at_c + floats(product.c)));
  ok(rooftile_buffer_upload(all, 0, product.a.data(), bytes(floats(product.a))));
  ok(rooftile_buffer_upload(all, bytes(at_b), product.b.data(), bytes(floats(product.b))));
  ok(rooftile_buffer_upload(all, bytes(at_c), product.c.data(), bytes(floats(product.c))));
  expect_right(product, {.struct_size = sizeof(rooftile_resident_operands),
                         .a = {all, 0},
                         .b = {all, at_b},
                         .c = {all, at_c}});
}

TEST_F(ResidentTest, TakesEveryType) {
  for (const std::string& text : other_types_of(device_)) {
    const Types types = parse_types(text);
    open({fast_kernel(device_), fallback_variant()}, {}, types);
    const bool integers = types.c == DataType::kI32;
    for (const std::int64_t offset : {0, 3}) {
      Product product(
          padded_batch(padded_problem(19, 13, 65, Transpose::kYes, Transpose::kNo,
                                      integers ? 1.0f : 2.0f, integers ? 1.0f : 0.5f, types),
                       2, false));
      expect_right(product, offset);
    }
  }
}

TEST_F(ResidentTest, BatchesRunByStride) {
  for (const std::string& variant : {std::string(kVectors), kSplit}) {
    open({parse_variant(variant), fallback_variant()});
    for (const bool shared_b : {false, true}) {
      Product product(padded_batch(
          padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 2.0f, 0.5f), 5, shared_b));
      expect_right(product, 1);
    }
  }
}

TEST_F(ResidentTest, FusesTheWholeEpilogue) {
  const Epilogue epilogue =
      parse_epilogue("row_scale+column_scale+bias_column+gelu_tanh+residual+clamp");
  for (const char* types : {"f32", "f64"}) {
    if (!computes(device_, parse_types(types))) continue;
    open({parse_variant(kSplit), parse_variant(kVectors), fallback_variant()}, epilogue,
         parse_types(types));
    const Problem p =
        with_epilogue(padded_batch(padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 2.0f,
                                                  0.5f, parse_types(types)),
                                   3, false),
                      epilogue);
    Product product(p);
    expect_right(product, 2);

    // The vectors of the epilogue lie in one buffer, in any order, and are bound at their offsets.
    Product again(p);
    rooftile_resident_operands operands = operands_of(again);
    const std::int64_t bytes = bytes_of(epilogue_type(p.types));
    std::vector<char> vectors(static_cast<std::size_t>(3 * bytes));
    const auto append = [&](const std::vector<char>& x, std::int64_t count) {
      const auto at = static_cast<std::int64_t>(vectors.size()) / bytes;
      vectors.insert(vectors.end(), x.begin(), x.begin() + count * bytes);
      return at;
    };
    const std::int64_t bias = append(again.bias, p.n), columns = append(again.column_scale, p.n),
                       rows = append(again.row_scale, p.m);
    rooftile_buffer* const all = put(vectors, 0, bytes).buffer;
    operands.row_scale = {all, rows};
    operands.column_scale = {all, columns};
    operands.bias = {all, bias};
    expect_right(again, operands);
  }
}

// GLSL has exp and erf for float32 alone (templates/epilogue/activate.glsl).
TEST_F(ResidentTest, Float64ActivationsAreWithinAFewUnitsInTheLastPlace) {
  if (!device_.limits.float64_arithmetic) GTEST_SKIP() << "no float64 arithmetic";
  std::vector<double> values = {0.0, 1e-310, -1e-310, 1e300, -1e300, 745.2, -745.2};
  for (double x = -45; x < 45; x += 0.0037) values.push_back(x);
  for (const Activation activation :
       {Activation::kGeluErf, Activation::kGeluTanh, Activation::kSilu}) {
    const Epilogue epilogue = {.bias = Bias::kRow, .activation = activation};
    open({fallback_variant()}, epilogue, parse_types("f64"));
    Problem p = packed_problem(static_cast<std::int64_t>(values.size()), 1, 1, Transpose::kNo,
                               Transpose::kNo, 1, parse_types("f64"));
    p.alpha = 0;
    p.epilogue = epilogue;
    Product product(p);
    std::memcpy(product.bias.data(), values.data(), product.bias.size());
    expect_right(product, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const long double x = values[i];
      const double got = reinterpret_cast<const double*>(product.c_data())[i];
      ASSERT_LE(std::abs(got - activate(activation, x)), 4 * 0x1p-53L * std::abs(x) + 0x1p-1022L)
          << to_string(epilogue) << " of " << values[i] << ": " << got;
    }
  }
}

TEST_F(ResidentTest, ResidualMayBeCInPlace) {
  const Epilogue epilogue = parse_epilogue("bias_row+relu+residual");
  open({fallback_variant()}, epilogue);
  Problem p = packed_problem(21, 10, 30);
  p.epilogue = epilogue;
  Product product(p);
  product.copy_c_to_residual();
  rooftile_resident_operands operands = operands_of(product, 5);
  operands.residual = operands.c;
  ProblemArgs problem(product);
  problem.epilogue.ld_residual = p.ldc;
  expect_right(product, operands, problem.args);
}

TEST_F(ResidentTest, ColumnMajorCallersSwapOperands) {
  const Epilogue epilogue = parse_epilogue("bias_column");
  open({parse_variant(kVectors), fallback_variant()}, epilogue);
  // The same memory as column-major matrices: C^T = B^T A^T, with one bias for each row.
  Problem p = padded_problem(21, 30, 17, Transpose::kNo, Transpose::kYes, 1.5f, 0.5f);
  p.epilogue = epilogue;
  Product product(p);
  const rooftile_resident_operands row_major = operands_of(product, 1);
  rooftile_resident_operands operands = row_major;
  std::swap(operands.a, operands.b);
  ProblemArgs problem(product);
  problem.args.layout = ROOFTILE_COLUMN_MAJOR;
  std::swap(problem.args.m, problem.args.n);
  std::swap(problem.args.lda, problem.args.ldb);
  std::swap(problem.args.trans_a, problem.args.trans_b);
  problem.epilogue.bias_kind = ROOFTILE_BIAS_ROW;
  expect_right(product, operands, problem.args);
}

TEST_F(ResidentTest, AlphaZeroNeedsNoAAndB) {
  open({parse_variant(kVectors), fallback_variant()});
  Product product(padded_problem(9, 10, 11, Transpose::kNo, Transpose::kNo, 0.0f, 0.5f));
  rooftile_resident_operands operands = operands_of(product, 1);
  operands.a = operands.b = {};
  expect_right(product, operands);
}

TEST_F(ResidentTest, EmptyProductsDoNothing) {
  open({fallback_variant()});
  ok(rooftile_resident_finish(context_, 0));  // This also works before any call.
  const rooftile_gemm_args args = {
      .struct_size = sizeof args, .k = 3, .batch = 1, .lda = 3, .ldb = 1, .ldc = 1};
  const rooftile_resident_operands operands = {.struct_size = sizeof operands};
  rooftile_run* run = nullptr;
  ok(rooftile_resident_gemm(context_, &args, &operands, &run));
  finish(run);
}

TEST_F(ResidentTest, TheBestLegalKernelIsTaken) {
  const Variant split = parse_variant(kSplit);
  open({split, fallback_variant()});
  Product product(packed_problem(16, 32, 64));
  rooftile_resident_operands operands = operands_of(product);
  rooftile_prepared first = prepared(product, operands);
  EXPECT_EQ(first.kernel, short_name(split));
  EXPECT_EQ(first.workspace_bytes, 3u * 16 * 32 * sizeof(float));
  EXPECT_GT(first.expected_ns, 0);
  // The kernel needs more, so that it is not used.
  operands.workspace_bytes = first.workspace_bytes - 1;
  EXPECT_EQ(prepared(product, operands).kernel, short_name(fallback_variant()));
  EXPECT_EQ(prepared(product, operands).workspace_bytes, 0u);
  expect_right(product, operands);

  // The vector width does not divide this offset.
  Product shifted(packed_problem(16, 32, 64));
  const rooftile_resident_operands odd = operands_of(shifted, 1);
  EXPECT_EQ(prepared(shifted, odd).kernel, short_name(fallback_variant()));
  expect_right(shifted, odd);
}

TEST_F(ResidentTest, TheWorkspaceMayBeTheCallers) {
  open({parse_variant(kSplit), fallback_variant()});
  Product product(packed_problem(16, 32, 64));
  rooftile_resident_operands operands = operands_of(product);
  const std::size_t bytes = prepared(product, operands).workspace_bytes;
  operands.workspace = {create(256 + bytes), 256};
  operands.workspace_bytes = bytes;
  const std::vector<float> before(256 / sizeof(float) + bytes / sizeof(float), 7.0f);
  ok(rooftile_buffer_upload(operands.workspace.buffer, 0, before.data(), 256 + bytes));
  expect_right(product, operands);
  std::vector<float> after(before.size());
  ok(rooftile_buffer_download(operands.workspace.buffer, 0, after.data(), 256 + bytes));
  EXPECT_TRUE(std::equal(after.begin(), after.begin() + 64, before.begin()));
  EXPECT_NE(after, before);
}

TEST_F(ResidentTest, LongProductsAreSplit) {
  // The predicted time of a 64 x 64 x 64 GEMM is one second, so that this one has eight steps of a
  // quarter of a second each.
  open({parse_variant(kVectors), fallback_variant()}, {}, {}, 1e9);
  Product product(packed_problem(64, 128, 64));
  expect_right(product);
}

TEST_F(ResidentTest, WithoutADatabaseTheFallbackIsCheckedAndUsed) {
  open({});
  Problem p = padded_problem(33, 17, 65, Transpose::kNo, Transpose::kYes, 2.0f, 0.5f);
  for (const char* epilogue : {"", "bias_column+relu", "row_scale+bias_row+silu+residual+clamp"}) {
    p.epilogue = parse_epilogue(epilogue);
    Product product(p);
    expect_right(product, 1);
  }
  for (const std::string& text : other_types_of(device_)) {
    const Types types = parse_types(text);
    const bool integers = types.c == DataType::kI32;
    Product product(padded_problem(9, 18, 35, Transpose::kYes, Transpose::kYes,
                                   integers ? 1.0f : 0.5f, 0.0f, types));
    expect_right(product);
  }
}

TEST_F(ResidentTest, AFallbackThatComputesWronglyIsRefused) {
  const Signature plain, transposed = {.trans_a = Transpose::kYes};
  store_spirv(folder_ / "cache", emit_gemm(fallback_variant(), plain),
              compile(emit_gemm(fallback_variant(), transposed)));
  // Other contexts certify another kernel.
  const ScopedEnvironment deterministic("ROOFTILE_DETERMINISTIC", "1");
  open({});
  Product product(padded_problem(5, 6, 7, Transpose::kNo, Transpose::kNo));
  const ProblemArgs problem(product);
  const rooftile_resident_operands operands = operands_of(product);
  const ScopedEnvironment quiet("ROOFTILE_LOG", "off");
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
              ROOFTILE_UNSUPPORTED);
    EXPECT_THAT(rooftile_last_error(), HasSubstr("it computes "));
  }
  download_c(product, operands.c);
  EXPECT_TRUE(product.c_is_untouched());
}

TEST_F(ResidentTest, WhereTheFallbackIsWrongTheCallWaitsForACertifiedKernel) {
  store_spirv(folder_ / "cache", emit_gemm(fallback_variant(), {}),
              compile(emit_gemm(fallback_variant(), {.trans_a = Transpose::kYes})));
  open({});
  Product product(packed_problem(5, 6, 7));
  const rooftile_resident_operands operands = operands_of(product);
  expect_right(product, operands);
  EXPECT_NE(prepared(product, operands).kernel, short_name(fallback_variant()));
}

TEST_F(ResidentTest, ARejectedFallbackIsNotRun) {
  // Other contexts certify another kernel.
  const ScopedEnvironment deterministic("ROOFTILE_DETERMINISTIC", "1");
  for (const bool black_listed : {true, false}) {
    const std::filesystem::path file = folder_ / fmt::format("condemned{}.db", black_listed);
    {
      Store store(file);
      const RowId device = store.device_id(device_);
      const RowId candidate = candidate_row(store, fallback_variant(), {});
      if (black_listed)
        store.black_list(device, candidate, "planted");
      else
        store.put_certificate(device, candidate, kGeneratorVersion, false, "planted");
    }
    rooftile_close(context_);
    context_ = opened(file);
    Product product(packed_problem(5, 6, 7));
    const ProblemArgs problem(product);
    const rooftile_resident_operands operands = operands_of(product);
    EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
              ROOFTILE_UNSUPPORTED);
    EXPECT_THAT(rooftile_last_error(), HasSubstr("is blocked or has failed"));
    // Another signature has another kernel, which is not blocked.
    Product other(packed_problem(5, 6, 7, Transpose::kYes));
    expect_right(other);
  }
}

TEST_F(ResidentTest, AKernelThatCannotBeBuiltIsSkipped) {
  open({parse_variant(kSplit), fallback_variant()});
  const Shader first = emit_gemm(parse_variant(kSplit), {});
  store_spirv(folder_ / "cache", first, compile(emit_gemm(fallback_variant(), {})));
  std::filesystem::resize_file(folder_ / "cache" / "spirv" / (first.hash + ".spv"), 40);
  // A truncated file whose checksum is wrong is compiled again. One with a valid checksum is
  // refused.
  std::vector<std::uint32_t> words = compile(first);
  words.resize(words.size() / 2);
  std::ofstream(folder_ / "cache" / "spirv" / (first.hash + ".spv"), std::ios::binary)
      << hash_hex(words)
      << std::string_view(reinterpret_cast<const char*>(words.data()),
                          words.size() * sizeof(std::uint32_t));
  Product product(packed_problem(16, 32, 64));
  testing::internal::CaptureStderr();
  for (int call = 0; call < 2; ++call) {
    Product again(product.problem);
    expect_right(again);
  }
  EXPECT_EQ(std::ranges::count(testing::internal::GetCapturedStderr(), '\n'), 1);
}

TEST_F(ResidentTest, OperandsMayBeReleasedWhileTheWorkIsPending) {
  open({parse_variant(kVectors), fallback_variant()});
  Product product(packed_problem(130, 140, 150));
  const rooftile_resident_operands operands = operands_of(product);
  const ProblemArgs problem(product);
  for (int i = 0; i < 5; ++i)
    ok(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr));
  ok(rooftile_buffer_release(operands.a.buffer));
  ok(rooftile_buffer_release(operands.b.buffer));
  download_c(product, operands.c);
  product.expect_right();
  buffers_ = {operands.c.buffer};
}

TEST_F(ResidentTest, HandlesMayOutliveTheContext) {
  open({fallback_variant()});
  Product product(packed_problem(130, 140, 150));
  expect_right_after_the_context(product);
}

TEST_F(ResidentTest, RunsCanBePolledAndWaitedForByAnyThread) {
  open({fallback_variant()});
  Product product(packed_problem(100, 110, 120));
  const rooftile_resident_operands operands = operands_of(product);
  const ProblemArgs problem(product);
  rooftile_run* run = nullptr;
  ok(rooftile_resident_gemm(context_, &problem.args, &operands, &run));
  rooftile_status status = ROOFTILE_TIMEOUT;
  EXPECT_TRUE(await("the run is finished", [&] {
    status = rooftile_run_wait(run, 0);
    return status != ROOFTILE_TIMEOUT;
  }));
  ok(status);
  std::thread other([&] { ok(rooftile_run_wait(run, 1)); });
  other.join();
  ok(rooftile_resident_finish(context_, 0));
  ok(rooftile_run_release(run));
}

TEST_F(ResidentTest, ManyThreadsShareAContext) {
  open({parse_variant(kSplit), parse_variant(kVectors), fallback_variant()});
  rooftile_buffer* unused = create(16);
  ok(rooftile_buffer_release(unused));
  buffers_.clear();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([this, t] {
      for (int turn = 0; turn < 4; ++turn) {
        Product product(padded_problem(20 + t, 30 + turn, 40, Transpose::kNo, Transpose::kNo));
        rooftile_buffer *a = nullptr, *b = nullptr, *c = nullptr;
        const auto up = [this](const std::vector<float>& from, rooftile_buffer** to) {
          ok(rooftile_buffer_create(context_, from.size() * sizeof(float), to));
          ok(rooftile_buffer_upload(*to, 0, from.data(), from.size() * sizeof(float)));
        };
        up(product.a, &a);
        up(product.b, &b);
        up(product.c, &c);
        const ProblemArgs problem(product);
        const rooftile_resident_operands operands = {
            .struct_size = sizeof operands, .a = {a, 0}, .b = {b, 0}, .c = {c, 0}};
        rooftile_run* run = nullptr;
        ok(rooftile_resident_gemm(context_, &problem.args, &operands, &run));
        ok(rooftile_buffer_release(a));
        finish(run);
        download_c(product, operands.c);
        product.expect_right();
        ok(rooftile_buffer_release(b));
        ok(rooftile_buffer_release(c));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rooftile
