// Packed operands in every function that accepts them, and after their kernels have failed: the
// result is right, or the call is refused with a message that says what to do.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <rooftile/rooftile.hpp>
#include <thread>

#include "runtime/kernel/shader_cache.h"
#include "tests/support/await.h"
#include "tests/support/changed_shader.h"
#include "tests/support/packed_fixture.h"
#include "tests/support/transposes.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

class PackedPaths : public PackedTest {
 protected:
  /// Replaces the kernel's compiled shader by one with a slightly larger alpha.
  void make_wrong(const std::string& variant, const Problem& p) {
    ShaderCache(folder_ / "cache")
        .spirv(changed(emit_gemm(parse_variant(variant), signature_of(p)), "return alpha * sum",
                       "return 1.01 * alpha * sum"));
  }
  /// Stores a certificate of the kernel, as another process might.
  void write_certificate(const std::string& variant, const Problem& p) {
    Store store(database_);
    const RowId candidate = candidate_row(store, parse_variant(variant), signature_of(p));
    store.put_certificate(store.device_id(device_), candidate, kGeneratorVersion, true, "planted");
  }
  rooftile_status multiply(Product& product, rooftile_gemm_args args) {
    product.c = product.c_before;
    const rooftile_status status = rooftile_gemm(context_, &args);
    if (status == ROOFTILE_OK)
      product.expect_right();
    else
      EXPECT_TRUE(product.c_is_untouched());
    return status;
  }
  void expect_right_with(Product& product, const rooftile_resident_operands& operands,
                         const rooftile_gemm_args& args) {
    ok(rooftile_buffer_upload(operands.c.buffer, 0, product.c_before.data(), c_bytes(product)));
    expect_right(product, operands, args);
  }
};

TEST_F(PackedPaths, AfterARejectedKernelAnotherKernelOrRepackingGivesRightResults) {
  const Problem p = padded_problem(33, 37, 66, kNo, kYes, 1.0f, 0.5f);
  const Problem tuned = packed_problem(33, 37, 66, kNo, kYes);
  make_wrong(kPacksB, p);
  open_with({{tuned, kPacksB, 1e5, 1e5}, {tuned, kReadsStored, 5e5}});
  Product product(p);
  HostCall call(product);
  rooftile_packed* const packed = pack(call.args);
  ASSERT_EQ(info(packed).kernel, name_of(kPacksB));
  ASSERT_EQ(info(packed).plain_copy, 0);
  const rooftile_guard check = {.struct_size = sizeof check, .check_spots = 1};
  rooftile_gemm_args args = call.args;
  args.packed = packed;
  args.guard = &check;
  ok(multiply(product, args));  // The spot check finds the wrong result.
  EXPECT_EQ(last().reason, ROOFTILE_REASON_PRECISION);

  // The working kernel reads the operand that the call passes. The forced call waits until that
  // kernel is compiled.
  args.guard = nullptr;
  for (const rooftile_tier tier : {ROOFTILE_TIER_DEVICE, ROOFTILE_TIER_AUTO}) {
    args.tier = tier;
    ok(multiply(product, args));
    EXPECT_EQ(last().tier, ROOFTILE_TIER_DEVICE);
    EXPECT_EQ(last().kernel, name_of(kReadsStored));
    rooftile_gemm_args without = args;
    without.b = nullptr;
    EXPECT_EQ(multiply(product, without), ROOFTILE_UNSUPPORTED);
    EXPECT_THAT(rooftile_last_error(), HasSubstr("pack it again"));
  }
  // When it is packed again, the operand is stored in the layout of the working kernel.
  args.packed = pack(call.args);
  EXPECT_EQ(info(args.packed).kernel, name_of(kReadsStored));
  args.b = nullptr;
  ok(multiply(product, args));
  EXPECT_EQ(last().kernel, name_of(kReadsStored));
}

TEST_F(PackedPaths, CallsOnBuffersSkipARejectedKernel) {
  const Problem p = padded_problem(33, 37, 66, kNo, kYes, 1.0f, 0.5f);
  const Problem tuned = packed_problem(33, 37, 66, kNo, kYes);
  make_wrong(kPacksB, p);
  open_with({{tuned, kPacksB, 1e5, 1e5}, {tuned, kReadsStored, 5e5}});
  Product product(p);
  HostCall call(product);
  rooftile_resident_operands operands = operands_of(product);
  ProblemArgs problem(product);
  problem.args.packed = pack(call.args);
  const rooftile_guard check = {.struct_size = sizeof check, .check_spots = 1};
  call.args.guard = &check;
  ok(multiply(product, call.args));
  // The call reads the operand from its buffer instead.
  expect_right_with(product, operands, problem.args);
  operands.b = {};
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
            ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("pack it again"));
}

TEST_F(PackedPaths, KernelsCertifiedOnDemandReadOnlyLayoutsThatAreHeld) {
  const Problem p = packed_problem(33, 37, 66);
  open_with({{p, kReadsStored, 1.5e5}, {p, kPacksB, 1e5, 1e5}});
  // The class with a bias is not tuned, so that its kernels are certified on demand.
  Problem fused = p;
  fused.epilogue = parse_epilogue("bias_column");
  Product product(fused);
  rooftile_resident_operands operands = operands_of(product);
  ProblemArgs problem(product);
  const auto packed_for_plain = [&] {
    Product plain(p);
    plain.b = product.b;
    HostCall call(plain);
    rooftile_packed* const packed = pack(call.args);
    EXPECT_EQ(info(packed).kernel, name_of(kPacksB));
    EXPECT_EQ(info(packed).plain_copy, 0);
    return packed;
  };
  write_certificate(kReadsStored, fused);
  problem.args.packed = packed_for_plain();
  expect_right_with(product, operands, problem.args);
  // Without the plain operand, the certified kernel cannot run: the tuned plain kernel reads the
  // packed operand, and a pass over C adds the bias.
  operands.b = {};
  product.c = product.c_before;
  expect_right_with(product, operands, problem.args);
  release_buffers();

  // A certified kernel that reads this packed layout takes the call, although another kernel is
  // ranked first.
  write_certificate(kPacksB, fused);
  rooftile_close(context_);
  open_database();
  operands = operands_of(product);
  operands.b = {};
  problem.args.packed = packed_for_plain();
  product.c = product.c_before;
  expect_right_with(product, operands, problem.args);
}

// Paired comparisons have ranked the winner first, and are more reliable than a shorter stored
// time.
TEST_F(PackedPaths, KernelsWithoutPackedOperandsKeepTheRankedOrder) {
  const Problem p = packed_problem(33, 37, 66);
  const std::string other = kReadsStored + " unroll_k=2";
  open_with({{p, kReadsStored, 2e5}, {p, other, 1e5}, {p, kPacksB, 3e5, 1e5}});
  Product product(p);
  HostCall call(product);
  EXPECT_EQ(info(pack(call.args)).kernel, name_of(kReadsStored));
}

TEST_F(PackedPaths, UnusedOperandsAreNotReadOnBuffersAndInLists) {
  open({parse_variant(kPacksB)});
  Product product(padded_problem(9, 17, 33, kNo, kNo, 0.0f, 0.5f));
  // All bytes are 0xff, so that all elements are NaN.
  for (std::vector<char>* x : {&product.stored_a_elements, &product.stored_b_elements})
    std::ranges::fill(*x, '\xff');
  rooftile_resident_operands operands = operands_of(product);
  ProblemArgs problem(product);
  problem.args.alpha = 1;
  rooftile_packed* const packed = pack_resident(problem.args, operands);
  problem.args.alpha = 0;
  problem.args.packed = packed;
  expect_right_with(product, operands, problem.args);
  operands.a = operands.b = {};
  expect_right_with(product, operands, problem.args);
  rooftile_list* list = nullptr;
  ok(rooftile_list_create(context_, &list));
  ok(rooftile_list_gemm(list, &problem.args, &operands));
  ok(rooftile_buffer_upload(operands.c.buffer, 0, product.c_before.data(), c_bytes(product)));
  run(list);
  ok(rooftile_list_release(list));
  download_c(product, operands.c);
  product.expect_right();
}

TEST_F(PackedPaths, BetaZeroIgnoresNanInC) {
  open({parse_variant(kPacksB)});
  Product product(padded_problem(9, 17, 33, kNo, kYes));
  for (float& value : product.c_before)
    if (std::bit_cast<std::uint32_t>(value) != kCanary)
      value = std::numeric_limits<float>::quiet_NaN();
  HostCall call(product);
  call.args.packed = pack(call.args);
  call.args.b = nullptr;
  call.args.tier = ROOFTILE_TIER_DEVICE;
  ok(multiply(product, call.args));
  rooftile_resident_operands operands = operands_of(product);
  operands.b = {};
  ProblemArgs problem(product);
  problem.args.packed = call.args.packed;
  expect_right_with(product, operands, problem.args);
}

TEST_F(PackedPaths, BatchesOnBuffersAndInListsShareIt) {
  for (const rooftile_operand operand : {ROOFTILE_OPERAND_A, ROOFTILE_OPERAND_B}) {
    open({parse_variant(kPacksBoth)});
    Problem p = padded_batch(padded_problem(19, 21, 34, kNo, kYes, 2.0f, 0.5f), 3, true);
    if (operand == ROOFTILE_OPERAND_A) {
      p.stride_b = stored_b(p).rows * p.ldb + 2;
      p.stride_a = 0;
    }
    Product product(p);
    rooftile_resident_operands operands = operands_of(product);
    ProblemArgs problem(product);
    problem.args.packed = pack_resident(ProblemArgs(product).args, operands, operand);
    (operand == ROOFTILE_OPERAND_A ? operands.a : operands.b) = {};
    expect_right_with(product, operands, problem.args);
    // The same packed operand serves a single GEMM.
    p.batch = 1;
    Product one(p);
    one.a = product.a, one.stored_a_elements = product.stored_a_elements;
    one.b = product.b, one.stored_b_elements = product.stored_b_elements;
    ProblemArgs single(one);
    single.args.packed = problem.args.packed;
    expect_right_with(one, operands, single.args);
    release_buffers();
  }
}

TEST_F(PackedPaths, HighPrecisionIsCheckedWithTheOriginalAndRefusedWithout) {
  open_with({{packed_problem(33, 37, 66, kNo, kYes), kPacksB, 1e5, 1e5}});
  Product product(padded_problem(33, 37, 66, kNo, kYes, 1.0f, 0.5f));
  HostCall call(product);
  const rooftile_guard high = {.struct_size = sizeof high, .precision = ROOFTILE_PRECISION_HIGH};
  const rooftile_guard kappa = {.struct_size = sizeof kappa, .kappa = 1e6};
  call.args.packed = pack(call.args);
  rooftile_gemm_args args = call.args;
  args.guard = &high;
  ok(multiply(product, args));
  EXPECT_EQ(last().tier, ROOFTILE_TIER_DEVICE);
  args.guard = &kappa;
  ok(multiply(product, args));
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST64);
  args.b = nullptr;
  for (const rooftile_guard* guard : {&high, &kappa}) {
    args.guard = guard;
    EXPECT_EQ(multiply(product, args), ROOFTILE_UNSUPPORTED);
    EXPECT_THAT(rooftile_last_error(), HasSubstr("b is null and only its packed copy is given"));
  }
  rooftile_resident_operands operands = operands_of(product);
  ProblemArgs problem(product);
  problem.args.packed = call.args.packed;
  problem.args.guard = &high;
  EXPECT_EQ(rooftile_resident_gemm(context_, &problem.args, &operands, nullptr),
            ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the precision is high"));
}

TEST_F(PackedPaths, ThePrecisionOfTheContextHoldsForPackedCalls) {
  open_with({{packed_problem(33, 37, 66, kNo, kYes), kPacksB, 1e5, 1e5}});
  rooftile_close(context_);
  context_ = opened(database_, {.precision = ROOFTILE_PRECISION_EXACT64});
  Product product(padded_problem(33, 37, 66, kNo, kYes, 1.0f, 0.5f));
  HostCall call(product);
  call.args.packed = pack(call.args);
  ok(multiply(product, call.args));
  EXPECT_EQ(last().tier, ROOFTILE_TIER_HOST64);
  call.args.b = nullptr;
  EXPECT_EQ(multiply(product, call.args), ROOFTILE_UNSUPPORTED);
  EXPECT_THAT(rooftile_last_error(), HasSubstr("the requested precision reads"));
}

TEST_F(PackedPaths, DecisionsAboutPackedAndPlainCallsAreKeptApart) {
  // With the cost of packing the host is predicted to be faster, without it the device.
  Calibration calibration = fast_host();
  for (HostRates* host : {&calibration.host, &calibration.host1}) host->gemm = {{64, 64, 64, 0.4}};
  const Problem p = packed_problem(33, 37, 66);
  open_with({{p, kPacksB, 1e5, 7e5}}, calibration);
  Product product(p), other(p);
  for (float& value : other.b) value *= 2;
  HostCall call(product), doubled(other);
  doubled.args.b = other.b.data();
  rooftile_packed* const packed[] = {pack(call.args), pack(doubled.args)};
  for (int repeat = 0; repeat < 3; ++repeat) {
    ok(multiply(product, call.args));
    EXPECT_NE(last().tier, ROOFTILE_TIER_DEVICE);
    for (HostCall* with : {&call, &doubled}) {
      rooftile_gemm_args args = with->args;
      args.packed = packed[with == &doubled];
      // While the kernel is being compiled, another tier may answer the first call with the
      // operand.
      args.b = nullptr;
      ok(multiply(with == &doubled ? other : product, args));
      args.b = with->args.b;
      ok(multiply(with == &doubled ? other : product, args));
      EXPECT_EQ(last().tier, ROOFTILE_TIER_DEVICE);
    }
  }
}

TEST_F(PackedPaths, ThreadsUseAPackedOperandWhileItIsReleased) {
  open_with({{packed_problem(33, 37, 66), kPacksB, 1e5, 1e5}});
  Product product(packed_problem(33, 37, 66));
  HostCall call(product);
  rooftile_packed* const packed = pack(call.args);
  packed_.clear();
  rooftile_resident_operands operands = operands_of(product);
  prepared(product, operands);
  std::atomic<bool> released = false;
  {
    std::vector<std::jthread> threads;
    // Every call that begins before the release has the right result, and every later call is
    // refused.
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        Product own(product.problem);
        HostCall mine(own);
        mine.args.packed = packed;
        mine.args.b = nullptr;
        rooftile_status status = ROOFTILE_OK;
        EXPECT_TRUE(await("a call is refused", [&] {
          const bool was_released = released;
          own.c = own.c_before;
          status = rooftile_gemm(context_, &mine.args);
          EXPECT_FALSE(was_released && status == ROOFTILE_OK);
          if (status == ROOFTILE_OK) own.expect_right();
          return status != ROOFTILE_OK;
        }));
        EXPECT_EQ(status, ROOFTILE_INVALID_ARGUMENT);
      });
    threads.emplace_back([&] {
      ProblemArgs problem(product);
      problem.args.packed = packed;
      rooftile_resident_operands mine = operands;
      mine.b = {};
      int right = 0;
      for (rooftile_run* run = nullptr;
           rooftile_resident_gemm(context_, &problem.args, &mine, &run) == ROOFTILE_OK; ++right) {
        finish(run);
        if (right == 4) {
          ok(rooftile_packed_release(packed));
          released = true;
        }
      }
      EXPECT_GE(right, 5);
      EXPECT_THAT(rooftile_last_error(), HasSubstr("packed operand was released"));
    });
  }
  download_c(product, operands.c);
  product.expect_right();
}

TEST_F(PackedPaths, TheCppClassesAcceptPackedOperands) {
  open({parse_variant(kPacksB)});
  const std::string database = folder_ / "1.db";
  Session session(rooftile_options{.database_path = database.c_str()});
  Product product(packed_problem(9, 17, 33));
  HostCall call(product);
  std::optional<PackedMatrix> packed(std::in_place, session, ROOFTILE_OPERAND_B, call.args);
  EXPECT_EQ(packed->info().kernel, name_of(kPacksB));
  rooftile_gemm_args args = call.args;
  args.packed = packed->get();
  args.b = nullptr;
  args.ldb = 0;
  session.gemm(args);
  product.expect_right();
  product.c = product.c_before;
  session.sgemm({.m = 9,
                 .n = 17,
                 .k = 33,
                 .alpha = 1,
                 .a = product.a.data(),
                 .lda = args.lda,
                 .c = product.c.data(),
                 .ldc = args.ldc,
                 .packed = packed->get()});
  product.expect_right();

  DeviceBuffer a(session, product.a.size() * sizeof(float)),
      c(session, product.c.size() * sizeof(float));
  a.upload(product.a.data(), product.a.size() * sizeof(float));
  args.a = args.c = nullptr;
  DeviceList list(session);
  list.gemm(args, {.a = a, .c = c});
  PackedMatrix moved = *std::move(packed);
  packed.reset();
  moved = PackedMatrix();  // The list keeps a reference to the operand.
  list.run().wait();
  product.c = product.c_before;
  c.download(product.c.data(), 9 * 17 * sizeof(float));
  product.expect_right();
  try {
    list.gemm(args, {.a = a, .c = c});
    FAIL() << "a packed operand that was released was accepted";
  } catch (const StatusError& error) {
    EXPECT_THAT(error.what(), HasSubstr("packed operand was released"));
  }
}

}  // namespace
}  // namespace rooftile
