// Tests every rule on a variant and a problem: the last problem that is legal and the first one
// that is not.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/round.h"
#include "generator/layout.h"
#include "test_limits.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

std::string reason_in_own_buffers(const Variant& v, const DeviceLimits& limits, const Problem& p) {
  return reason(v, limits, p, own_buffers(p));
}

Problem square_free() { return packed_problem(36, 44, 52); }

TEST(ProblemRules, AcceptTheExamplePointsInOwnBuffers) {
  for (const Variant& v : {naive_point(), register_point(), tiled_point(), broadcast_point()})
    EXPECT_EQ(reason_in_own_buffers(v, lavapipe_limits(), square_free()), "") << to_string(v);
}

TEST(ProblemRules, RepeatTheDevicesReason) {
  EXPECT_EQ(
      reason_in_own_buffers(with(register_point(), "reg_m", "3"), lavapipe_limits(), square_free()),
      "reg_m must divide tile_m");
}

TEST(ProblemRules, LookAtTheStridesOfABatch) {
  Problem p = packed_problem(8, 8, 8, Transpose::kNo, Transpose::kNo, 3);
  EXPECT_EQ(reason_in_own_buffers(register_point(), lavapipe_limits(), p), "");
  p.stride_b += 2;
  EXPECT_THAT(reason_in_own_buffers(register_point(), lavapipe_limits(), p),
              HasSubstr("offsets and strides"));
  EXPECT_EQ(reason_in_own_buffers(naive_point(), lavapipe_limits(), p), "");
  p.stride_b = std::int64_t{1} << 31;
  EXPECT_THAT(reason_in_own_buffers(naive_point(), lavapipe_limits(), p),
              HasSubstr("32-bit element addresses"));
}

TEST(ProblemRules, SplitOnlyWhatIsLongEnough) {
  const Variant split = with(register_point(), "split_k", "3");  // unroll 4
  EXPECT_EQ(reason_in_own_buffers(split, lavapipe_limits(), packed_problem(8, 8, 12)), "");
  EXPECT_THAT(reason_in_own_buffers(split, lavapipe_limits(), packed_problem(8, 8, 11)),
              HasSubstr("k 11 for 3 slices of 4"));
}

TEST(ProblemRules, AtomicReductionsNeedTheDevicesAdditions) {
  const Variant v = changed(register_point(), "split_k=2 reduction=atomic");
  DeviceLimits limits = lavapipe_limits();
  EXPECT_EQ(reason_in_own_buffers(v, limits, packed_problem(8, 8, 8)), "");
  limits.float32_atomic_add = false;
  EXPECT_THAT(reason_in_own_buffers(v, limits, packed_problem(8, 8, 8)),
              HasSubstr("adds float32 in storage buffers"));
  EXPECT_EQ(reason_in_own_buffers(v, limits, retyped(packed_problem(8, 8, 8), parse_types("i8"))),
            "");
}

TEST(ProblemRules, PackedDotProductsWantIntegersAlongK) {
  const Variant v = with(register_point(), "dot", "4");
  const auto integers = [](std::int64_t k, Transpose trans_a, Transpose trans_b) {
    return packed_problem(8, 8, k, trans_a, trans_b, 1, parse_types("i8_i32"));
  };
  constexpr auto kNo = Transpose::kNo, kYes = Transpose::kYes;
  EXPECT_EQ(reason_in_own_buffers(v, lavapipe_limits(), integers(16, kNo, kYes)), "");
  EXPECT_THAT(reason_in_own_buffers(v, lavapipe_limits(), packed_problem(8, 8, 16)),
              HasSubstr("8-bit integers"));
  EXPECT_THAT(reason_in_own_buffers(v, lavapipe_limits(), integers(16, kNo, kNo)),
              HasSubstr("contiguous along k"));
  EXPECT_THAT(reason_in_own_buffers(v, lavapipe_limits(), integers(16, kYes, kYes)),
              HasSubstr("contiguous along k"));
  EXPECT_THAT(reason_in_own_buffers(v, lavapipe_limits(), integers(18, kNo, kYes)),
              HasSubstr("a multiple of 4"));
  EXPECT_THAT(reason_in_own_buffers(v, lavapipe_limits(), integers(20, kNo, kYes)),
              HasSubstr("multiples of the vector width"));  // four words hold 16 integers
  const Variant packed = changed(v, "packed_a=yes packed_b=yes");
  EXPECT_EQ(reason_in_own_buffers(packed, lavapipe_limits(), integers(17, kYes, kNo)), "");
}

TEST(ProblemRules, SumsInHalfPrecisionNeedTheArithmetic) {
  const Problem p = retyped(square_free(), parse_types("f16_sum_f16"));
  DeviceLimits limits = lavapipe_limits();
  EXPECT_EQ(reason_in_own_buffers(register_point(), limits, p), "");
  limits.float16_arithmetic = false;
  EXPECT_THAT(reason_in_own_buffers(register_point(), limits, p), HasSubstr("16-bit arithmetic"));
}

TEST(ProblemRules, AQuantizedBIsReadByWholeWords) {
  const Problem four = retyped(packed_problem(8, 8, 64), parse_types("f32xq4b32"));
  const Problem eight = retyped(packed_problem(8, 8, 64), parse_types("f32xq8b32"));
  const Variant v = with(register_point(), "vector_width_b", "1");  // unroll 4
  EXPECT_THAT(reason_in_own_buffers(v, lavapipe_limits(), four), HasSubstr("whole words"));
  EXPECT_EQ(reason_in_own_buffers(v, lavapipe_limits(), eight), "");
  EXPECT_EQ(reason_in_own_buffers(with(v, "unroll_k", "8"), lavapipe_limits(), four), "");
  // A vector of four words holds 32 values of 4 bits.
  const Variant vectors = changed(v, "unroll_k=8 vector_width_b=4");
  EXPECT_THAT(reason_in_own_buffers(vectors, lavapipe_limits(), four), HasSubstr("whole words"));
  // A block of 16 is half a vector, so that rows would begin inside a vector.
  const Variant wide =
      changed(v, "reg_m=1 tile_m=8 reg_n=1 tile_n=8 unroll_k=32 vector_width_b=1 vector_width_a=1");
  const Problem narrow = retyped(packed_problem(8, 8, 16), parse_types("f32xq4b16"));
  EXPECT_EQ(reason_in_own_buffers(wide, lavapipe_limits(), narrow), "");
  EXPECT_EQ(reason_in_own_buffers(naive_point(), lavapipe_limits(), narrow), "");
  const Variant tiled = parse_variant(
      "family=tiled tile_m=16 tile_n=16 tile_k=8 reg_m=4 reg_n=4 unroll_k=4 stage=shared "
      "vector_width_a=4");
  // 16 words and 16 invocations
  EXPECT_EQ(reason_in_own_buffers(tiled, lavapipe_limits(), four), "");
  EXPECT_THAT(reason_in_own_buffers(with(tiled, "tile_m", "32"), lavapipe_limits(), four),
              HasSubstr("words of a quantised tile"));
}

// multiply_vector() of templates/fragment/multiply.glsl takes elements of B, which such a B has
// not.
TEST(ProblemRules, LanesThatShareAReadAQuantizedBOnlyPacked) {
  const Variant packed = broadcast_point(),
                own = changed(packed, "packed_b=no load_path_b=buffer vector_width_b=1");
  for (const char* types : {"f32xq4b32", "f32xq4_k"}) {
    const Problem p = retyped(packed_problem(16, 64, 256), parse_types(types));
    EXPECT_EQ(reason_in_own_buffers(packed, lavapipe_limits(), p), "") << types;
    EXPECT_THAT(reason_in_own_buffers(own, lavapipe_limits(), p), HasSubstr("must be packed"));
  }
  EXPECT_EQ(reason_in_own_buffers(own, lavapipe_limits(), square_free()), "");
}

TEST(ProblemRules, WindowsOfBlocksAreWholeAndEndWithAVector) {
  const Variant windows = parse_variant(
      "family=vector tile_m=1 tile_n=8 reg_m=1 reg_n=4 tile_k=128 unroll_k=64 vector_width_a=4 "
      "vector_width_b=4 stage=shared");
  const auto problem = [](std::int64_t n, std::int64_t k, const char* types = "f32xq8_0") {
    Problem p = packed_problem(1, n, k, Transpose::kNo, Transpose::kYes, 1, parse_types(types));
    p.lda = round_up(p.lda, 4);
    return p;
  };
  const auto why = [&](const Variant& v, const Problem& p) {
    return reason_in_own_buffers(v, lavapipe_limits(), p);
  };
  EXPECT_EQ(why(windows, problem(4, 64)), "") << "4 x 68 bytes are 17 vectors";
  EXPECT_EQ(why(windows, problem(3, 250)), "") << "rows of 272 bytes";
  EXPECT_THAT(why(windows, problem(4, 96)), HasSubstr("vector width")) << "three blocks in a row";
  EXPECT_THAT(why(windows, problem(3, 64)), HasSubstr("last vector")) << "204 bytes";
  EXPECT_EQ(why(with(windows, "vector_width_b", "1"), problem(3, 96)), "") << "single words";
  // A trip of half a window reads single words, whatever vector_width_b is.
  EXPECT_EQ(why(changed(windows, "unroll_k=32 tile_k=64"), problem(3, 96)), "");
  EXPECT_EQ(why(windows, problem(3, 96, "f32xmxfp4")), "") << "four blocks take 128 steps";
  const Variant alone = changed(windows, "reg_n=1 unroll_k=128 stage=none");
  EXPECT_EQ(why(alone, problem(4, 128, "f32xmxfp4")), "");
  EXPECT_THAT(why(alone, problem(4, 192, "f32xmxfp4")), HasSubstr("vector width"));
  EXPECT_EQ(why(alone, problem(4, 512, "f32xq6_k")), "") << "8 x 210 bytes are 105 vectors";
  EXPECT_EQ(why(alone, problem(3, 2048, "f32xq6_k")), "");
  EXPECT_THAT(why(alone, problem(3, 512, "f32xq6_k")), HasSubstr("last vector")) << "1260 bytes";
  EXPECT_EQ(why(changed(windows, "unroll_k=32 tile_k=64"), problem(4, 96, "f32xq4_1")), "")
      << "one block is a window; 12 x 20 bytes are 15 vectors";
  EXPECT_THAT(why(windows, problem(3, 64, "f32xq4_1")), HasSubstr("last vector")) << "120 bytes";
  EXPECT_EQ(why(windows, problem(4, 64, "f32xnvfp4")), "") << "4 x 36 bytes are 9 vectors";
  EXPECT_THAT(why(alone, problem(3, 512, "f32xq2_k")), HasSubstr("last vector")) << "504 bytes";
  EXPECT_EQ(why(alone, problem(4, 512, "f32xiq4_xs")), "") << "8 x 136 bytes are 68 vectors";
}

TEST(ProblemRules, VectorReadsAFromSharedMemoryAlongK) {
  const Variant v = changed(vector_point(), "stage=stored");
  const auto why = [&](Transpose trans_a) {
    const Problem p = packed_problem(4, 64, 64, trans_a, Transpose::kNo);
    return reason(v, lavapipe_limits(), p, own_buffers(p));
  };
  EXPECT_EQ(why(Transpose::kNo), "");
  EXPECT_THAT(why(Transpose::kYes), HasSubstr("A must not be transposed"));
  // 8 x 8 invocations' sums of two columns, and 4 rows of 8 lanes' vectors.
  EXPECT_EQ(shared_bytes(v), 4 * (64 * 2 + 4 * 8 * 4));
  EXPECT_EQ(shared_bytes(changed(v, "tile_k=64 unroll_k=8")), 4 * (64 * 2 + 4 * 8 * 3 * 4))
      << "an odd number of vectors";
}

TEST(ProblemRules, VectorLoadsVectorsOfBlocksAhead) {
  const Variant v = parse_variant(
      "family=vector tile_m=1 tile_n=4 tile_k=128 reg_m=1 reg_n=1 unroll_k=64 vector_width_a=4 "
      "vector_width_b=4 stage=stored prefetch=ahead");
  const auto why = [](const Variant& kernel, const char* types) {
    const Problem p =
        packed_problem(1, 32, 1024, Transpose::kNo, Transpose::kYes, 1, parse_types(types));
    return reason_in_own_buffers(kernel, lavapipe_limits(), p);
  };
  for (const char* types : {"f32xq4_k", "f16xq5_k", "f32xq8_0", "f32xq4_0", "bf16xq5_0"})
    EXPECT_EQ(why(v, types), "") << types;
  for (const char* types : {"f32", "f32xq4b32", "f32xq6_k", "f32xmxfp4"})
    EXPECT_THAT(why(v, types), HasSubstr("prefetch ahead of vector loads B in the blocks"))
        << types;
  EXPECT_EQ(why(changed(v, "tile_k=256 unroll_k=128"), "f32xq6_k"), "");
  EXPECT_THAT(why(changed(v, "vector_width_b=1"), "f32xq4_k"), HasSubstr("prefetch ahead of vec"));
}

TEST(ProblemRules, TripsAreLongerOnlyForAQuantizedB) {
  const Variant v = parse_variant(
      "family=vector tile_m=1 tile_n=32 reg_m=1 reg_n=4 tile_k=64 unroll_k=64 vector_width_a=4 "
      "vector_width_b=4");
  const auto problem = [](const char* types) {
    return packed_problem(1, 32, 256, Transpose::kNo, Transpose::kYes, 1, parse_types(types));
  };
  EXPECT_THAT(reason_in_own_buffers(v, lavapipe_limits(), problem("f32")),
              HasSubstr("must not exceed 320"));
  EXPECT_EQ(reason_in_own_buffers(v, lavapipe_limits(), problem("f32xq4_k")), "");
}

TEST(ProblemRules, BatchedSmallIsForBatches) {
  const Variant v = changed(register_point(), "family=batched_small tile_batch=2");
  EXPECT_THAT(reason_in_own_buffers(v, lavapipe_limits(), packed_problem(8, 8, 8)),
              HasSubstr("runs batches"));
}

TEST(ProblemRules, RejectExactKernelsAtEveryRaggedEdge) {
  const Variant exact = with(register_point(), "edge", "exact");  // 8 x 32, unroll 4
  EXPECT_EQ(reason_in_own_buffers(exact, lavapipe_limits(), packed_problem(24, 64, 20)), "");
  for (const Problem& p :
       {packed_problem(25, 64, 20), packed_problem(24, 60, 20), packed_problem(24, 64, 21)})
    EXPECT_THAT(reason_in_own_buffers(exact, lavapipe_limits(), p), HasSubstr("edge exact"))
        << to_string(p);
  const Variant tiled = with(tiled_point(), "edge", "exact");  // tile_k 16
  EXPECT_EQ(reason_in_own_buffers(tiled, lavapipe_limits(), packed_problem(64, 32, 48)), "");
  EXPECT_THAT(reason_in_own_buffers(tiled, lavapipe_limits(), packed_problem(64, 32, 40)),
              HasSubstr("edge exact"));
}

TEST(ProblemRules, AskVectorLoadsForAlignedRowsAndOffsets) {
  Problem p = square_free();
  p.lda += 2;
  EXPECT_THAT(reason_in_own_buffers(register_point(), lavapipe_limits(), p),
              HasSubstr("lda and ldb"));
  EXPECT_EQ(
      reason_in_own_buffers(with(register_point(), "vector_width_a", "2"), lavapipe_limits(), p),
      "");
  p = square_free();
  p.ldb += 1;
  EXPECT_THAT(reason_in_own_buffers(register_point(), lavapipe_limits(), p),
              HasSubstr("lda and ldb"));
  EXPECT_EQ(reason_in_own_buffers(broadcast_point(), lavapipe_limits(), p), "")
      << "packing accepts any alignment";

  p = square_free();
  Placement at = own_buffers(p);
  at.offset_b = 6;
  EXPECT_THAT(reason(register_point(), lavapipe_limits(), p, at),
              HasSubstr("offsets and strides of A and B"));
  EXPECT_EQ(reason(with(register_point(), "vector_width_b", "2"), lavapipe_limits(), p, at), "");
  at.offset_b = 0;
  at.offset_c = 3;
  EXPECT_EQ(reason(register_point(), lavapipe_limits(), p, at), "") << "C takes any alignment";
}

TEST(ProblemRules, AskNothingOfOperandsWithoutElements) {
  // The ldb of such a B is 1.
  const Types blocks = parse_types("f32xq4_k");
  const Problem single = packed_problem(8, 8, 0, Transpose::kNo, Transpose::kYes, 1, blocks);
  const Problem groups =
      grouped_problem(8, 8, 0, {.experts = 2, .groups = 2}, Transpose::kYes, blocks);
  for (const Problem& p : {single, groups})
    EXPECT_EQ(reason_in_own_buffers(naive_point(), lavapipe_limits(), p), "") << to_string(p);
}

TEST(ProblemRules, AskForTheLastVectorToBeReadable) {
  // The last stored row of A ends 3 elements into its last vector.
  Problem p = packed_problem(5, 8, 7);
  p.lda = 8;
  Placement at = own_buffers(p);
  EXPECT_EQ(at.readable_a, 4 * 8 + 8);
  EXPECT_EQ(reason(register_point(), lavapipe_limits(), p, at), "");
  --at.readable_a;
  EXPECT_THAT(reason(register_point(), lavapipe_limits(), p, at), HasSubstr("last vector"));
  EXPECT_EQ(reason(naive_point(), lavapipe_limits(), p, at), "");
}

TEST(ProblemRules, AskForWholeTexelsWherePackingReadsMisalignedRows) {
  Problem p = packed_problem(5, 8, 7);
  Placement at = own_buffers(p);
  at.offset_a = 3;  // 35 elements from element 3 on need texels up to 40
  at.readable_a = 37;
  EXPECT_EQ(reason(broadcast_point(), lavapipe_limits(), p, at), "");
  EXPECT_EQ(bound_elements(broadcast_point(), p, at).a, 40);
  at.readable_a = 36;
  EXPECT_THAT(reason(broadcast_point(), lavapipe_limits(), p, at), HasSubstr("last vector"));
  const Variant buffers = with(broadcast_point(), "load_path_a", "buffer");
  EXPECT_EQ(reason(buffers, lavapipe_limits(), p, at), "");
  EXPECT_EQ(bound_elements(buffers, p, at).a, 38);
}

TEST(ProblemRules, KnowTheBytesOfAResidual) {
  for (const char* types : {"f32", "f64"}) {
    Problem p = packed_problem(30, 44, 8, Transpose::kNo, Transpose::kNo, 1, parse_types(types));
    p.epilogue = parse_epilogue("residual");
    Placement at = own_buffers(p);
    at.ld_residual = 100;
    const std::int64_t bytes = (29 * 100 + 44) * bytes_of(p.types.c);
    DeviceLimits limits = lavapipe_limits();
    limits.max_storage_buffer_range_bytes = static_cast<std::uint64_t>(bytes);
    EXPECT_EQ(reason(naive_point(), limits, p, at), "") << types;
    --limits.max_storage_buffer_range_bytes;
    EXPECT_THAT(reason(naive_point(), limits, p, at),
                HasSubstr(fmt::format("storage buffer range ({} of {} bytes)", bytes, bytes - 1)));
  }
}

TEST(ProblemRules, KnowTheTexelLimit) {
  DeviceLimits limits = lavapipe_limits();
  limits.max_texel_buffer_elements = 36 * 52 / 4;  // texels that A needs
  Problem p = packed_problem(36, 20, 52);
  const Variant texel = with(register_point(), "load_path_a", "texel");
  EXPECT_EQ(reason_in_own_buffers(texel, limits, p), "");
  --limits.max_texel_buffer_elements;
  EXPECT_THAT(reason_in_own_buffers(texel, limits, p), HasSubstr("A or B holds more texels"));
  EXPECT_EQ(reason_in_own_buffers(register_point(), limits, p), "");

  // Packed operands are larger than the matrix: 36 rows are padded to 48 and 52 steps to 56.
  limits.max_texel_buffer_elements = 48 * 56 / 4;
  EXPECT_EQ(reason_in_own_buffers(broadcast_point(), limits, packed_problem(36, 44, 52)),
            "packed operands hold more texels than the device's texel buffers");  // B has 64 x 56
  limits.max_texel_buffer_elements = 64 * 56 / 4;
  EXPECT_EQ(reason_in_own_buffers(broadcast_point(), limits, packed_problem(36, 44, 52)), "");
}

TEST(ProblemRules, KnowTheStorageBufferRange) {
  DeviceLimits limits = lavapipe_limits();
  const Problem p = packed_problem(36, 20, 52);
  limits.max_storage_buffer_range_bytes = 36 * 52 * 4;
  EXPECT_EQ(reason_in_own_buffers(naive_point(), limits, p), "");
  --limits.max_storage_buffer_range_bytes;
  EXPECT_THAT(reason_in_own_buffers(naive_point(), limits, p), HasSubstr("storage buffer range"));
  // C alone exceeds the range. Packed operands count as well, because they are written as storage
  // buffers although kernels read them as texels.
  limits.max_storage_buffer_range_bytes = 36 * 44 * 4 - 1;
  EXPECT_THAT(reason_in_own_buffers(naive_point(), limits, packed_problem(36, 44, 4)),
              HasSubstr("storage buffer range"));
  limits.max_storage_buffer_range_bytes = 64 * 56 * 4 - 1;
  EXPECT_THAT(reason_in_own_buffers(broadcast_point(), limits, packed_problem(36, 44, 52)),
              HasSubstr("storage buffer range"));
}

TEST(ProblemRules, KeepAddressesIn32Bits) {
  DeviceLimits limits = discrete_limits();
  limits.max_storage_buffer_range_bytes = std::uint64_t{1} << 40;
  limits.max_memory_allocation_bytes = std::uint64_t{1} << 40;
  Problem p = packed_problem(65536, 3, 65535);
  EXPECT_EQ(reason_in_own_buffers(naive_point(), limits, p), "");
  p = packed_problem(65536, 3, 65537);
  EXPECT_THAT(reason_in_own_buffers(naive_point(), limits, p), HasSubstr("32-bit"));
  p = packed_problem(3, 5, 7);
  Placement at = own_buffers(p);
  at.offset_c = (std::int64_t{1} << 32) - 16;
  EXPECT_EQ(reason(naive_point(), limits, p, at), "");
  at.offset_c += 1;
  EXPECT_THAT(reason(naive_point(), limits, p, at), HasSubstr("32-bit"));
  // 65535 rows are padded to 65536.
  const Variant buffers =
      with(with(broadcast_point(), "load_path_a", "buffer"), "load_path_b", "buffer");
  DeviceLimits wide = limits;
  wide.subgroup_size = 8;
  EXPECT_EQ(reason_in_own_buffers(buffers, wide, packed_problem(65529, 3, 65528)), "");
  EXPECT_THAT(reason_in_own_buffers(buffers, wide, packed_problem(65529, 3, 65536 - 7)),
              HasSubstr("packed operands"));
  EXPECT_THAT(
      reason_in_own_buffers(naive_point(), limits, packed_problem(1, 1, std::int64_t{1} << 31)),
      HasSubstr("below 2^31"));
}

TEST(ProblemRules, KnowTheLargestAllocation) {
  DeviceLimits limits = lavapipe_limits();
  limits.max_memory_allocation_bytes = 64 * 56 * 4;
  EXPECT_EQ(reason_in_own_buffers(broadcast_point(), limits, packed_problem(36, 44, 52)), "");
  --limits.max_memory_allocation_bytes;
  EXPECT_THAT(reason_in_own_buffers(broadcast_point(), limits, packed_problem(36, 44, 52)),
              HasSubstr("largest allocation"));
}

/// "" if the kernel runs 2 x 4 sums of this length, of these types and this epilogue.
std::string long_sum_reason(const Variant& v, const DeviceLimits& limits, std::int64_t k,
                            const Types& types = {}, const std::string& epilogue = "") {
  Problem p = packed_problem(2, 4, k, Transpose::kNo, Transpose::kNo, 1, types);
  if (!epilogue.empty()) p.epilogue = parse_epilogue(epilogue);
  return reason_in_own_buffers(v, limits, p);
}

TEST(ProblemRules, KnowTheLimitOnLoopTripsOfSumsThatCannotBeDivided) {
  const DeviceLimits limits = lavapipe_limits();
  constexpr Types kHalf = {.a = DataType::kF16, .c = DataType::kF16};
  const auto is_refused = [](const std::string& reason) {
    return reason.find("loop trips") != std::string::npos;
  };
  // Later dispatches could not add to C without another rounding, or would repeat the epilogue.
  EXPECT_EQ(long_sum_reason(naive_point(), limits, 65500, kHalf), "");
  EXPECT_TRUE(is_refused(long_sum_reason(naive_point(), limits, 65536, kHalf)));
  EXPECT_EQ(long_sum_reason(naive_point(), limits, 65500, {}, "relu"), "");
  EXPECT_TRUE(is_refused(long_sum_reason(naive_point(), limits, 65536, {}, "relu")));
  EXPECT_EQ(long_sum_reason(broadcast_point(), limits, 8 * 65500, kHalf), "");
  EXPECT_TRUE(is_refused(long_sum_reason(broadcast_point(), limits, 8 * 65536, kHalf)));
  const Variant split = with(register_point(), "split_k", "2");
  EXPECT_EQ(long_sum_reason(split, limits, 2 * 4 * 65500), "");
  EXPECT_TRUE(is_refused(long_sum_reason(split, limits, 2 * 4 * 65536)));
  EXPECT_EQ(long_sum_reason(naive_point(), discrete_limits(), 65536, kHalf), "");
}

TEST(ProblemRules, DivideSumsOfAnyLengthWhereLaterDispatchesMayAddToC) {
  DeviceLimits limits = lavapipe_limits();
  limits.max_storage_buffer_range_bytes = 0xffffffff;
  EXPECT_EQ(long_sum_reason(naive_point(), limits, 4'000'000), "");
  EXPECT_EQ(long_sum_reason(broadcast_point(), limits, 4'000'000), "");
  // Not where not even one trip is left beside the other loops of the kernel.
  limits.max_loop_trips = static_cast<std::uint32_t>(loop_trips(naive_point(), 1));
  EXPECT_EQ(long_sum_reason(naive_point(), limits, 4'000), "");
  --limits.max_loop_trips;
  EXPECT_THAT(long_sum_reason(naive_point(), limits, 4'000), HasSubstr("loop trips"));
}

}  // namespace
}  // namespace rooftile
