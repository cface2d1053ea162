// Packed operands: results are right in all calls that use them, with the expected kernels and
// memory.
#include <algorithm>
#include <thread>

#include "tests/support/fast_kernel.h"
#include "tests/support/packed_fixture.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Returns the bytes of C, including the canaries around it.
std::vector<char> bits_of_c(Product& product) {
  const auto* const begin = static_cast<const char*>(product.c_data());
  const auto bytes = product.c.size() * static_cast<std::size_t>(bytes_of(product.problem.types.c));
  return {begin, begin + bytes};
}

TEST_F(PackedTest, ResidentCallsGiveTheSameBitsAsWithoutPacking) {
  for (const std::string& variant : {kPacksBoth, kPacksB, kPacksB + " split_k=2", kPacksBWide}) {
    open({parse_variant(variant)});
    for (const Transpose trans_a : {kNo, kYes})
      for (const Transpose trans_b : {kNo, kYes})
        for (const rooftile_operand operand : {ROOFTILE_OPERAND_A, ROOFTILE_OPERAND_B}) {
          SCOPED_TRACE(variant);
          Product product(padded_problem(33, 37, 66, trans_a, trans_b, -1.5f, 0.5f));
          rooftile_resident_operands operands = operands_of(product, 3);
          const ProblemArgs problem(product);
          expect_right(product, operands);
          const std::vector<char> unpacked = bits_of_c(product);
          ok(rooftile_buffer_upload(operands.c.buffer, 12, product.c_before.data(),
                                    c_bytes(product)));
          ProblemArgs call(product);
          call.args.packed = pack_resident(problem.args, operands, operand);
          // The buffer that was packed can be released.
          rooftile_place& place = operand == ROOFTILE_OPERAND_A ? operands.a : operands.b;
          std::erase(buffers_, place.buffer);
          ok(rooftile_buffer_release(place.buffer));
          place = {};
          (operand == ROOFTILE_OPERAND_A ? call.args.lda : call.args.ldb) = 0;
          rooftile_run* run = nullptr;
          ok(rooftile_resident_gemm(context_, &call.args, &operands, &run));
          finish(run);
          product.c = product.c_before;
          download_c(product, operands.c);
          product.expect_right();
          EXPECT_EQ(bits_of_c(product), unpacked);
          release_buffers();
        }
  }
}

TEST_F(PackedTest, HostCallsGiveTheSameBitsAsWithoutPacking) {
  for (const std::string& variant : {kPacksBoth, kPacksB, kPacksB + " split_k=2", kReadsStored}) {
    open({parse_variant(variant)});
    for (const Transpose trans_b : {kNo, kYes})
      for (const rooftile_operand operand : {ROOFTILE_OPERAND_A, ROOFTILE_OPERAND_B}) {
        SCOPED_TRACE(variant);
        Product product(padded_problem(33, 37, 66, kNo, trans_b, -1.5f, 0.5f));
        HostCall call(product);
        call.args.tier = ROOFTILE_TIER_DEVICE;
        ok(rooftile_gemm(context_, &call.args));
        product.expect_right();
        const std::vector<char> unpacked = bits_of_c(product);
        call.args.packed = pack(call.args, operand);
        EXPECT_EQ(info(call.args.packed).layouts, 1);
        EXPECT_EQ(info(call.args.packed).kernel, name_of(variant));
        (operand == ROOFTILE_OPERAND_A ? call.args.a : call.args.b) = nullptr;
        (operand == ROOFTILE_OPERAND_A ? call.args.lda : call.args.ldb) = 0;
        for (const rooftile_tier tier : {ROOFTILE_TIER_DEVICE, ROOFTILE_TIER_AUTO}) {
          call.args.tier = tier;
          product.c = product.c_before;
          ok(rooftile_gemm(context_, &call.args));
          product.expect_right();
          EXPECT_EQ(bits_of_c(product), unpacked);
          EXPECT_EQ(last().tier, ROOFTILE_TIER_DEVICE);
        }
      }
  }
}

TEST_F(PackedTest, TheLogSaysWhereCallsGoAndWithWhichKernel) {
  const ScopedEnvironment log("ROOFTILE_LOG", "decisions");
  open({parse_variant(kPacksB)});
  Product product(packed_problem(33, 37, 66));
  const auto said = [&](rooftile_tier tier, bool resident) {
    HostCall call(product);
    call.args.tier = tier;
    call.args.packed = pack(call.args);
    testing::internal::CaptureStderr();
    if (resident) {
      expect_right(product, operands_of(product, 0));
    } else {
      ok(rooftile_gemm(context_, &call.args));
    }
    return testing::internal::GetCapturedStderr();
  };
  const std::string kernel = name_of(kPacksB);
  EXPECT_THAT(said(ROOFTILE_TIER_AUTO, false),
              AllOf(HasSubstr("rooftile: 33x37x66 nn f32, packed b: host, score "),
                    HasSubstr("; kernel " + kernel + "\n")));
  EXPECT_THAT(
      said(ROOFTILE_TIER_DEVICE, false),
      HasSubstr("rooftile: 33x37x66 nn f32, packed b: device, forced; kernel " + kernel + "\n"));
  EXPECT_THAT(
      said(ROOFTILE_TIER_AUTO, true),
      HasSubstr("rooftile: 33x37x66 nn f32, on device buffers: device; kernel " + kernel + "\n"));
}

TEST_F(PackedTest, TakesEveryType) {
  for (const std::string& text : other_types_of(device_)) {
    const Types types = parse_types(text);
    for (const rooftile_operand operand : {ROOFTILE_OPERAND_A, ROOFTILE_OPERAND_B}) {
      SCOPED_TRACE(text);
      open({parse_variant(kPacksBoth), fast_kernel(device_), fallback_variant()}, {}, types);
      const bool integers = types.c == DataType::kI32;
      Product product(padded_problem(19, 13, 65, kYes, kNo, integers ? 1.0f : 2.0f,
                                     integers ? 1.0f : 0.5f, types));
      rooftile_resident_operands operands = operands_of(product);
      const ProblemArgs problem(product);
      ProblemArgs call(product);
      call.args.packed = pack_resident(problem.args, operands, operand);
      rooftile_place& place = operand == ROOFTILE_OPERAND_A ? operands.a : operands.b;
      place = {};
      expect_right(product, operands, call.args);
      release_buffers();

      Product here(product.problem);
      HostCall on_host(here);
      on_host.args.tier = ROOFTILE_TIER_DEVICE;
      on_host.args.packed = pack(on_host.args, operand);
      (operand == ROOFTILE_OPERAND_A ? on_host.args.a : on_host.args.b) = nullptr;
      ok(rooftile_gemm(context_, &on_host.args));
      here.expect_right();
    }
  }
}

TEST_F(PackedTest, KernelsThatReadTheSameLayoutShareIt) {
  const Problem decode = packed_problem(8, 96, 64), prefill = packed_problem(64, 96, 64);
  open_with({{decode, kPacksBOfFewRows, 1e4, 1e5},
             {decode, kReadsStored, 2e4},
             {prefill, kPacksB, 1e5, 1e5},
             {prefill, kReadsStored, 3e5}});
  Product product(prefill);
  HostCall call(product);
  rooftile_packed* const both = pack(call.args, ROOFTILE_OPERAND_B, {8});
  EXPECT_EQ(info(both).layouts, 1);
  EXPECT_EQ(info(both).plain_copy, 0);
  EXPECT_EQ(info(both).kernel, name_of(kPacksB));
  call.args.packed = both;
  ok(rooftile_gemm(context_, &call.args));
  product.expect_right();
  EXPECT_EQ(last().kernel, name_of(kPacksB));
  Product few(decode);
  HostCall small(few);
  small.args.packed = both;
  small.args.b = product.b.data();
  few.b = product.b;
  ok(rooftile_gemm(context_, &small.args));
  few.expect_right();
  EXPECT_EQ(last().kernel, name_of(kPacksBOfFewRows));
}

TEST_F(PackedTest, EachExpectedSizeHasItsKernelsLayout) {
  const Problem decode = packed_problem(1, 96, 64), prefill = packed_problem(64, 96, 64);
  open_with({{decode, kReadsStored, 1e4},
             {decode, kPacksB, 5e4, 1e5},
             {prefill, kPacksBWide, 1e5, 3e5},
             {prefill, kPacksB, 2e5, 1e5},
             {prefill, kReadsStored, 3e5}});
  Product product(prefill);
  HostCall call(product);
  // This kernel is the fastest without the cost of packing, and not the fastest with it.
  EXPECT_EQ(info(pack(call.args)).kernel, name_of(kPacksBWide));
  rooftile_packed* const both = pack(call.args, ROOFTILE_OPERAND_B, {1});
  EXPECT_EQ(info(both).layouts, 2);
  EXPECT_EQ(info(both).plain_copy, 1);
  const auto kernel_for = [&](std::int64_t m) {
    Problem p = prefill;
    p.m = m;
    Product other(p);
    HostCall sized(other);
    sized.args.b = nullptr;
    sized.args.packed = both;
    other.b = product.b;
    ok(rooftile_gemm(context_, &sized.args));
    other.expect_right();
    return std::string(last().kernel);
  };
  EXPECT_EQ(kernel_for(64), name_of(kPacksBWide));
  EXPECT_EQ(kernel_for(1), name_of(kReadsStored));
  EXPECT_EQ(kernel_for(2), name_of(kReadsStored));  // uses the nearest tuned size
  EXPECT_EQ(kernel_for(50), name_of(kPacksBWide));
}

TEST_F(PackedTest, KernelsForWholeTilesAloneKeepAPlainCopyForOtherSizes) {
  const Problem whole = packed_problem(32, 64, 64);
  open_with({{whole, kPacksB + " edge=exact", 1e5, 1e5}, {whole, kReadsStored, 5e5}});
  Product product(whole);
  HostCall call(product);
  rooftile_packed* const packed = pack(call.args);
  EXPECT_EQ(info(packed).layouts, 2);
  EXPECT_EQ(info(packed).plain_copy, 1);
  Product other(packed_problem(33, 64, 64));
  other.b = product.b;
  HostCall sized(other);
  sized.args.packed = packed;
  sized.args.b = nullptr;
  ok(rooftile_gemm(context_, &sized.args));
  other.expect_right();
  EXPECT_EQ(last().kernel, name_of(kReadsStored));
}

TEST_F(PackedTest, ReportedMemoryIsWhatTheDriverAllocated) {
  const Problem p = packed_problem(33, 500, 300);
  open_with({{packed_problem(1, 500, 300), kReadsStored, 1e4}, {p, kPacksB, 1e5, 1e5}});
  Product product(p);
  HostCall call(product);
  rooftile_packed* packed = nullptr;
  ok(try_pack(call.args, ROOFTILE_OPERAND_B, {1}, &packed));  // opens the device
  ok(rooftile_packed_release(packed));
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{}, std::vector<std::int64_t>{1}}) {
    const std::uint64_t before = FaultyDriver::memory_in_use();
    ok(try_pack(call.args, ROOFTILE_OPERAND_B, sizes, &packed));
    const std::uint64_t taken = FaultyDriver::memory_in_use() - before;
    EXPECT_GE(taken, 500 * 300 * 4);
    EXPECT_EQ(info(packed).device_bytes, taken);
    ok(rooftile_packed_release(packed));
    EXPECT_EQ(FaultyDriver::memory_in_use(), before);
  }
  rooftile_resident_operands operands = operands_of(product);
  const ProblemArgs problem(product);
  const std::uint64_t before = FaultyDriver::memory_in_use();
  packed = pack_resident(problem.args, operands, ROOFTILE_OPERAND_B, {1});
  EXPECT_EQ(info(packed).device_bytes, FaultyDriver::memory_in_use() - before);
  packed_.clear();
  ok(rooftile_packed_release(packed));
  EXPECT_EQ(FaultyDriver::memory_in_use(), before);
}

TEST_F(PackedTest, OutOfMemoryKeepsNothingAllocated) {
  const Problem p = packed_problem(33, 500, 300);
  open_with({{p, kPacksB, 1e5, 1e5}});
  Product product(p);
  HostCall call(product);
  rooftile_packed* packed = pack(call.args);
  const std::uint64_t before = FaultyDriver::memory_in_use();
  const std::uint64_t panels = info(packed).device_bytes;
  // The memory suffices for the uploaded operand, but not for its packed copy as well.
  FaultyDriver::limit_memory(before + panels + panels / 2);
  rooftile_packed* second = nullptr;
  EXPECT_EQ(try_pack(call.args, ROOFTILE_OPERAND_B, {}, &second), ROOFTILE_OUT_OF_MEMORY);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(FaultyDriver::memory_in_use(), before);
  FaultyDriver::heal();
  call.args.packed = packed;
  ok(rooftile_gemm(context_, &call.args));
  product.expect_right();
}

TEST_F(PackedTest, ListsKeepReleasedOperandsAlive) {
  open({parse_variant(kPacksB)});
  Product product(padded_problem(33, 37, 66, kNo, kNo, 1.0f, 0.0f));
  rooftile_resident_operands operands = operands_of(product);
  const ProblemArgs problem(product);
  ProblemArgs call(product);
  rooftile_packed* packed = pack_resident(problem.args, operands);
  packed_.clear();
  call.args.packed = packed;
  operands.b = {};
  rooftile_list* list = nullptr;
  ok(rooftile_list_create(context_, &list));
  ok(rooftile_list_gemm(list, &call.args, &operands));
  rooftile_run* run = nullptr;
  ok(rooftile_list_run(list, &run));
  ok(rooftile_packed_release(packed));
  finish(run);
  ok(rooftile_list_run(list, &run));
  ok(rooftile_list_release(list));
  rooftile_close(context_);
  context_ = nullptr;
  finish(run);
  download_c(product, operands.c);
  product.expect_right();
  EXPECT_EQ(rooftile_packed_release(packed), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("packed operand was released"));
}

TEST_F(PackedTest, MayBeReleasedAfterTheContext) {
  open({parse_variant(kPacksB)});
  Product product(packed_problem(33, 37, 66));
  HostCall call(product);
  rooftile_packed* const packed = pack(call.args);
  rooftile_close(context_);
  context_ = nullptr;
  EXPECT_GT(info(packed).device_bytes, 0u);
  packed_.clear();
  ok(rooftile_packed_release(packed));
}

TEST_F(PackedTest, ManyThreadsShareOnePackedOperand) {
  open({parse_variant(kPacksB)});
  Product product(packed_problem(33, 37, 66));
  HostCall call(product);
  rooftile_packed* const packed = pack(call.args);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 8; ++repeat) {
        Product own(product.problem);
        HostCall mine(own);
        mine.args.b = nullptr;
        mine.args.packed = packed;
        ok(rooftile_gemm(context_, &mine.args));
        own.expect_right();
      }
    });
}

TEST_F(PackedTest, BatchesShareIt) {
  open({parse_variant(kPacksB)});
  Product product(padded_batch(padded_problem(19, 21, 34, kNo, kYes, 2.0f, 0.5f), 3, true));
  HostCall call(product);
  call.args.packed = pack(call.args);
  call.args.b = nullptr;
  call.args.tier = ROOFTILE_TIER_DEVICE;
  ok(rooftile_gemm(context_, &call.args));
  product.expect_right();
  call.args.b = product.b.data();
  call.args.stride_b = 21 * 40;
  EXPECT_EQ(rooftile_gemm(context_, &call.args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("stride_b is 840, but a packed operand is one"));
  rooftile_packed* second = nullptr;
  call.args.packed = nullptr;
  EXPECT_EQ(try_pack(call.args, ROOFTILE_OPERAND_B, {}, &second), ROOFTILE_INVALID_ARGUMENT);
  call.args.stride_b = 0;
  const void* const array[3] = {product.b.data(), product.b.data(), product.b.data()};
  call.args.b_array = array;
  call.args.packed = pack(HostCall(product).args);
  EXPECT_EQ(rooftile_gemm(context_, &call.args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("b_array is not NULL"));
}

TEST_F(PackedTest, EpiloguesAndSgemm) {
  const Epilogue epilogue = parse_epilogue("row_scale+column_scale+bias_column+relu+residual");
  open({parse_variant(kPacksB)}, epilogue);
  Problem p = padded_problem(33, 17, 65, kNo, kYes, 2.0f, 0.5f);
  p.epilogue = epilogue;
  Product product(p);
  HostCall call(product);
  call.args.packed = pack(call.args);
  call.args.b = nullptr;
  call.args.tier = ROOFTILE_TIER_DEVICE;
  ok(rooftile_gemm(context_, &call.args));
  product.expect_right();

  open({parse_variant(kPacksB)});
  Product plain(padded_problem(33, 17, 65, kNo, kNo));
  const HostCall like(plain);
  const rooftile_gemm_args& g = like.args;
  rooftile_sgemm_args args = {.struct_size = sizeof args,
                              .m = g.m,
                              .n = g.n,
                              .k = g.k,
                              .alpha = g.alpha,
                              .a = plain.a.data(),
                              .lda = g.lda,
                              .beta = g.beta,
                              .c = plain.c.data(),
                              .ldc = g.ldc,
                              .packed = pack(g)};
  ok(rooftile_sgemm(context_, &args));
  plain.expect_right();
  EXPECT_EQ(last().tier, ROOFTILE_TIER_DEVICE);
}

TEST_F(PackedTest, ColumnMajorCallsNameTheirOwnOperands) {
  open({parse_variant(kPacksBoth)});
  // A of the row-major GEMM is B of the column-major one.
  Product product(padded_problem(33, 37, 66, kNo, kYes));
  HostCall row(product);
  rooftile_gemm_args args = column_major(row.args);
  args.packed = pack(args, ROOFTILE_OPERAND_B);
  args.b = nullptr;
  args.ldb = 0;
  args.tier = ROOFTILE_TIER_DEVICE;
  ok(rooftile_gemm(context_, &args));
  product.expect_right();
  args.m -= 1;
  ok(rooftile_gemm(context_, &args));
  args.n -= 1;
  EXPECT_EQ(rooftile_gemm(context_, &args), ROOFTILE_INVALID_ARGUMENT);
  EXPECT_THAT(rooftile_last_error(),
              HasSubstr("is B of 66 x 33 f32, not transposed, but the call's "
                        "is B of 66 x 32 f32"));
}

TEST_F(PackedTest, ZeroSizes) {
  open({parse_variant(kPacksB)});
  for (const auto& [m, n, k] : {std::array{0, 7, 5}, std::array{7, 0, 5}, std::array{7, 5, 0}}) {
    Product product(packed_problem(m, n, k, kNo, kNo));
    product.problem.beta = 0.5f;
    HostCall call(product);
    call.args.packed = pack(call.args);
    call.args.b = nullptr;
    ok(rooftile_gemm(context_, &call.args));
    product.expect_right();
    if (m == 0 || n == 0) continue;
    rooftile_resident_operands operands = operands_of(product);
    const ProblemArgs problem(product);
    ok(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr));
  }
  // With alpha = 0, neither A nor B is read.
  Product product(packed_problem(7, 6, 5));
  product.problem.beta = 2.0f;
  product.problem.alpha = 0.0f;
  HostCall call(product);
  call.args.packed = pack(HostCall(product).args);
  call.args.a = call.args.b = nullptr;
  ok(rooftile_gemm(context_, &call.args));
  product.expect_right();
}

}  // namespace
}  // namespace rooftile
