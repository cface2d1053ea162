// Transfer paths of operands in host memory: staged, copied by the device, or used in place. The
// result is the same on all of them, only C is written, and memory that cannot be imported is
// staged.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/numbers/random.h"
#include "tests/support/transfer_fixture.h"

namespace rooftile {
namespace {

TEST_F(Transfer, KernelsUseTheCallersMemoryAndTheResultIsTheSame) {
  const auto staging = open_staging(), importing = open(in_place());
  for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes})
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes})
      for (const float beta : {0.0f, 0.5f}) {
        Product staged(odd(trans_a, trans_b, beta)), imported(staged.problem);
        EXPECT_EQ(imports(*staging, staged), 0u);
        // If the old C is read, only the host writes to C, so that C is not imported.
        EXPECT_EQ(imports(*importing, imported), beta == 0 ? 3u : 2u);
        expect_same_bits(staged, imported);
      }
}

TEST_F(Transfer, TheDeviceCopiesMemoryThatKernelsReadSlowly) {
  const auto staging = open_staging(), importing = open(copied());
  for (const float beta : {0.0f, 0.5f}) {
    Product staged(whole(beta)), imported(staged.problem);
    run(*staging, staged);
    EXPECT_EQ(imports(*importing, imported), 3u);
    expect_same_bits(staged, imported);
  }
  Product gaps(odd(Transpose::kNo, Transpose::kYes, 0));
  EXPECT_EQ(imports(*importing, gaps), 0u) << "the device must not write to the gaps";
}

// A discrete device copies from and to mapped memory.
TEST_F(Transfer, DeviceLocalMemoryIsFilledOnEveryTransferPath) {
  device_.unified_memory = false;
  for (const Calibration& calibration : {slow_host(), in_place(), copied()})
    for (const float beta : {0.0f, 0.5f}) {
      const auto context = open(calibration);
      Product gaps(odd(Transpose::kYes, Transpose::kNo, beta)), packed(whole(beta));
      run(*context, gaps);
      run(*context, packed);
    }
}

TEST_F(Transfer, ExplanationsNameTheTransferPathsOfCalls) {
  const auto importing = open(in_place());
  const Problem p = odd(Transpose::kNo, Transpose::kNo, 0);
  const Decision d = importing->explain({.problem = p}).decision;
  EXPECT_EQ(d.transfer_paths, (TransferPaths{TransferPath::kInPlace, TransferPath::kInPlace,
                                             TransferPath::kNone, TransferPath::kInPlace}));
  EXPECT_EQ(d.upload_ns, 2);
  EXPECT_GT(d.factors[2].value, 1) << d.factors[2].name;
  EXPECT_EQ(open_staging()->explain({.problem = p}).decision.transfer_paths.a,
            TransferPath::kStaged);
}

TEST_F(Transfer, OperandsMayBeginAnywhereInAPage) {
  const auto context = open(in_place());
  const Problem p = odd(Transpose::kNo, Transpose::kYes, 0);
  for (const std::size_t offset : {0, 16, 2048, 4080}) {
    Product product(p);
    EXPECT_EQ(imports(*context, product, {}, {offset, 4096 - offset, offset + 4}), 3u) << offset;
  }
  // Vector loads of the kernel begin at multiples of 16 bytes.
  Product shifted(p);
  EXPECT_EQ(imports(*context, shifted, {}, {4, 16, 8}), 2u);
  const auto copying = open(copied());
  for (const std::size_t offset : {4, 100}) {
    Product product(whole());
    EXPECT_EQ(imports(*copying, product, {}, {offset, 2 * offset, 3 * offset}), 3u);
  }
}

TEST_F(Transfer, RowsThatVectorsDoNotDivideAreStaged) {
  const auto context = open(in_place());
  Product product(padded_problem(65, 33, 127, Transpose::kNo, Transpose::kNo));
  EXPECT_EQ(imports(*context, product), 1u) << "only C can be imported";
}

TEST_F(Transfer, ReadOnlyMemoryIsAccepted) {
  for (const auto& [calibration, p] :
       {std::pair(in_place(), odd(Transpose::kNo, Transpose::kNo, 0)),
        std::pair(copied(), whole())}) {
    const auto context = open(calibration);
    Product product(p);
    Pages pages(product.stored_a_elements.size());
    const char* const a =
        pages.put(product.stored_a_elements.data(), product.stored_a_elements.size(), 0);
    pages.forbid_writing();
    GemmCall call = call_of(product, TierChoice::kDevice);
    call.a = a;
    context->gemm(call);
    product.expect_right();

    // The operand is mapped from a file, from its second page on.
    const std::filesystem::path path = folder_ / "operand";
    std::ofstream(path, std::ios::binary)
        << std::string(kPage, 'x')
        << std::string_view(product.stored_a_elements.data(), product.stored_a_elements.size());
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const std::size_t bytes = kPage + product.stored_a_elements.size();
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    ASSERT_NE(mapped, MAP_FAILED);
    std::ranges::copy(product.c_before, product.c.begin());
    call.a = static_cast<const char*>(mapped) + kPage;
    context->gemm(call);
    product.expect_right();
    ::munmap(mapped, bytes);
  }
}

TEST_F(Transfer, ConstantsOfTheProgramAreAcceptedAsOperands) {
  alignas(16) static constexpr float kA[4 * 8] = {1, 2, 3, 4, 5, 6, 7, 8};
  alignas(16) static constexpr float kB[8 * 4] = {1, 0, 0, 0, 1};
  const auto context = open(in_place());
  float c[4 * 4];
  context->gemm(
      {.problem = packed_problem(4, 4, 8), .a = kA, .b = kB, .c = c, .tier = TierChoice::kDevice});
  EXPECT_EQ(c[0], 3);
  EXPECT_EQ(c[15], 0);
}

TEST_F(Transfer, BlocksOfOneMatrixShareItsPages) {
  const auto context = open(in_place());
  // A, B and C lie side by side, so that the device reads from pages of C, too.
  constexpr std::int64_t kSize = 20, kLd = 3 * kSize;
  std::vector<float> matrix(kSize * kLd);
  Random random(7);
  for (float& x : matrix) x = random.symmetric();
  const std::vector<float> before = matrix;
  Problem p = packed_problem(kSize, kSize, kSize);
  p.lda = p.ldb = p.ldc = kLd;
  const std::uint64_t imports = context->device_state().imports;
  context->gemm({.problem = p,
                 .a = matrix.data(),
                 .b = matrix.data() + kSize,
                 .c = matrix.data() + 2 * kSize,
                 .tier = TierChoice::kDevice});
  EXPECT_EQ(context->device_state().imports - imports, 2u) << "C goes through staging memory";
  for (std::int64_t row = 0; row < kSize; ++row)
    for (std::int64_t column = 0; column < kLd; ++column) {
      const auto at = static_cast<std::size_t>(row * kLd + column);
      double expected = before[at];
      if (column >= 2 * kSize) {
        expected = 0;
        for (std::int64_t k = 0; k < kSize; ++k)
          expected += double{before[static_cast<std::size_t>(row * kLd + k)]} *
                      double{before[static_cast<std::size_t>(k * kLd + column - kSize)]};
      }
      EXPECT_NEAR(matrix[at], expected, column < 2 * kSize ? 0 : 1e-4);
    }
}

TEST_F(Transfer, BatchesAreImportedWholeAndArraysStaged) {
  const auto context = open(in_place());
  Problem p = odd(Transpose::kNo, Transpose::kNo, 0);
  p.batch = 3;
  p.stride_a = stored_a(p).rows * p.lda + 8;
  p.stride_b = 0;
  p.stride_c = p.m * p.ldc + 1;
  Product product(p);
  EXPECT_EQ(imports(*context, product), 3u);

  std::vector<const void*> a, b;
  std::vector<void*> c;
  std::ranges::copy(product.c_before, product.c.begin());
  GemmCall call = call_of(product, TierChoice::kDevice);
  for (std::int64_t i = 0; i < p.batch; ++i) {
    a.push_back(call.a_of(i));
    b.push_back(call.b_of(i));
    c.push_back(call.c_of(i));
  }
  call.a_array = a.data(), call.b_array = b.data(), call.c_array = c.data();
  const std::uint64_t before = context->device_state().imports;
  context->gemm(call);
  product.expect_right();
  EXPECT_EQ(context->device_state().imports, before);
}

TEST_F(Transfer, UnusedOperandsNeedNotBeMapped) {
  const auto context = open(in_place());
  for (const float beta : {0.0f, 0.5f}) {
    Problem p = odd(Transpose::kNo, Transpose::kNo, beta);
    p.alpha = 0;
    Product product(p);
    GemmCall call = call_of(product, TierChoice::kDevice);
    call.a = call.b = nullptr;
    context->gemm(call);
    product.expect_right();
  }
}

TEST_F(Transfer, WithSpotChecksCIsNotWrittenInPlace) {
  const auto context = open(in_place());
  Product product(odd(Transpose::kNo, Transpose::kNo, 0));
  EXPECT_EQ(imports(*context, product, {.check_spots = true}), 2u);
}

TEST_F(Transfer, OtherTypesAreImportedWhereKernelsWriteWords) {
  for (const auto& [text, imported] :
       {std::pair("f16", 3u), std::pair("i8_i32", 3u), std::pair("f16_f16", 2u),
        std::pair("f32xq4b32", 2u), std::pair("f32xq4_k", 2u)}) {
    const Types types = parse_types(text);
    const auto context = open(in_place(), types);
    Problem p = retyped(packed_problem(33, 48, 64, Transpose::kNo, Transpose::kYes), types);
    p.ldc += 1;
    Product product(p);
    EXPECT_EQ(imports(*context, product), imported) << text;
  }
}

TEST_F(Transfer, ThreadsImportTheirOwnOperands) {
  const auto context = open(in_place());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 12; ++i) {
        Product product((i + t) % 2 == 0 ? odd(Transpose::kNo, Transpose::kYes, 0) : whole(0.5f));
        run(*context, product);
      }
    });
  threads.clear();
  EXPECT_EQ(context->device_state().imports, 4u * (6 * 3 + 6 * 3));
  EXPECT_EQ(context->device_state().last_failure, "");
}

TEST_F(Transfer, StagingMemoryStaysWithinTwiceTheLargestCalls) {
  const auto context = open_staging();
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const auto size = [&] { return static_cast<std::int64_t>(1 + random.below(90)); };
    Product product(padded_problem(size(), size(), size(), Transpose::kNo, Transpose::kNo, 1,
                                   random.below(2) == 0 ? 0.0f : 1.0f));
    context->gemm(call_of(product, TierChoice::kDevice));
    const DeviceTierState state = context->device_state();
    ASSERT_LE(state.staging_bytes, 2 * state.most_staging_bytes);
    // The bound is three operands of 90 x 92 floats, rounded up to powers of two, and larger
    // packed operands.
    ASSERT_LE(state.most_staging_bytes, 8u * 65536);
  }
}

// The staging buffers of each shape have sizes that the other shapes cannot use.
TEST_F(Transfer, StagingMemoryOfOtherShapesIsReused) {
  const auto context = open_staging();
  for (const auto& [m, n, k] :
       {std::array{128, 4, 128}, std::array{16, 16, 512}, std::array{64, 64, 64},
        std::array{4, 128, 128}, std::array{32, 32, 60}}) {
    Product product(packed_problem(m, n, k));
    context->gemm(call_of(product, TierChoice::kDevice));
    const DeviceTierState state = context->device_state();
    EXPECT_GT(state.staging_bytes, 0u);
    EXPECT_LE(state.staging_bytes, 2 * state.most_staging_bytes) << m << ' ' << n << ' ' << k;
  }
}

class TransferOfThreads : public Transfer {
 protected:
  bool needs_import() const override { return false; }
  /// The most staging memory of four threads that call, over that of one.
  double threads_over_one() {
    const auto context = open_staging();
    Product alone(p_);
    run(*context, alone);
    const std::uint64_t one = context->device_state().most_staging_bytes;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        Product product(p_);
        for (int i = 0; i < 12; ++i) {
          std::ranges::copy(product.c_before, product.c.begin());
          context->gemm(call_of(product, TierChoice::kDevice));
        }
        product.expect_right();
      });
    threads.clear();
    return static_cast<double>(context->device_state().most_staging_bytes) /
           static_cast<double>(one);
  }

  const Problem p_ = packed_problem(128, 96, 160);
};

TEST_F(TransferOfThreads, OneCallAtATimeStagesForASoftwareDevice) {
  device_.kind = DeviceKind::kSoftware;
  EXPECT_EQ(threads_over_one(), 1);
}

TEST_F(TransferOfThreads, CallsForAGpuStageWhatAnEighthOfItsMemoryHolds) {
  device_.kind = DeviceKind::kDiscrete;
  // Room for two calls, each with its operands and as much again for packed ones.
  const std::int64_t elements = p_.m * p_.k + p_.k * p_.n + p_.m * p_.n;
  device_.device_memory_bytes = 8 * 2 * 2 * static_cast<std::uint64_t>(elements) * sizeof(float);
  EXPECT_LE(threads_over_one(), 2);
}

}  // namespace
}  // namespace rooftile
