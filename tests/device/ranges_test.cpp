#include "runtime/device/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "core/error.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

const DeviceLimits kLimits = {.max_storage_buffer_range_bytes = 4096,
                              .max_texel_buffer_elements = 100,
                              .storage_buffer_alignment_bytes = 16,
                              .texel_buffer_alignment_bytes = 64,
                              .texel_buffer_r32 = true,
                              .texel_buffer_rgba32 = true};

TEST(Ranges, ZeroMeansToTheEnd) {
  EXPECT_EQ(resolve_range({.offset_bytes = 100, .size_bytes = 0}, 1003).size_bytes, 903u);
  EXPECT_EQ(resolve_range({.offset_bytes = 100, .size_bytes = 903}, 1003).size_bytes, 903u);
}

TEST(Ranges, RangesOutsideTheBufferAreRefusedEvenWhenTheSumOverflows) {
  constexpr auto kHuge = std::numeric_limits<std::uint64_t>::max();
  for (const ByteRange range :
       {ByteRange{100, 904}, ByteRange{1003, 0}, ByteRange{kHuge, 0}, ByteRange{16, kHuge}}) {
    EXPECT_EQ(code_of([&] { resolve_range(range, 1003); }), ErrorCode::kInvalidArgument)
        << range.offset_bytes;
  }
}

TEST(Ranges, StorageBindingsObeyAlignmentAndRange) {
  EXPECT_NO_THROW(check_binding(BindingKind::kStorageBuffer, {48, 4096}, kLimits));
  EXPECT_THAT(message_of(
                  [] {
                    check_binding(BindingKind::kStorageBuffer, {8, 16}, kLimits);
                  },
                  ErrorCode::kInvalidArgument),
              HasSubstr("16 bytes"));
  EXPECT_THAT(message_of(
                  [] {
                    check_binding(BindingKind::kStorageBuffer, {0, 4097}, kLimits);
                  },
                  ErrorCode::kUnsupported),
              HasSubstr("4096"));
}

TEST(Ranges, TexelBindingsCountTexelsNotFloats) {
  EXPECT_NO_THROW(check_binding(BindingKind::kTexelR32, {64, 400}, kLimits));
  EXPECT_NO_THROW(check_binding(BindingKind::kTexelRgba32, {0, 1600}, kLimits));
  EXPECT_EQ(code_of([] {
              check_binding(BindingKind::kTexelR32, {0, 404}, kLimits);
            }),
            ErrorCode::kUnsupported);
  EXPECT_THAT(message_of(
                  [] {
                    check_binding(BindingKind::kTexelRgba32, {0, 1616}, kLimits);
                  },
                  ErrorCode::kUnsupported),
              HasSubstr("101 texels"));
}

TEST(Ranges, TexelBindingsObeyAlignmentAndWholeTexels) {
  EXPECT_EQ(code_of([] {
              check_binding(BindingKind::kTexelR32, {16, 4}, kLimits);
            }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([] {
              check_binding(BindingKind::kTexelRgba32, {0, 20}, kLimits);
            }),
            ErrorCode::kInvalidArgument);
}

TEST(Ranges, MissingTexelFormatIsUnsupported) {
  DeviceLimits limits = kLimits;
  limits.texel_buffer_rgba32 = false;
  EXPECT_EQ(code_of([&] {
              check_binding(BindingKind::kTexelRgba32, {0, 16}, limits);
            }),
            ErrorCode::kUnsupported);
  EXPECT_NO_THROW(check_binding(BindingKind::kTexelR32, {0, 16}, limits));
}

// The two properties of sizes that lavapipe's code depends on.
TEST(TexelSizes, AllBuffersAndViewsAreOfOneKind) {
  constexpr std::uint64_t kMost = 1u << 28u;
  for (const std::uint64_t bytes :
       {4u, 16u, 240u, 256u, 272u, 768u, 4096u, 65520u, 65536u, 65552u, 1u << 20u}) {
    const std::uint64_t buffer = driver_buffer_bytes(bytes);
    EXPECT_FALSE(std::has_single_bit(buffer)) << bytes;
    const std::uint64_t view = texel_view_bytes(bytes, buffer, kMost);
    EXPECT_NE(view & 0xff00u, 0u) << bytes;
    EXPECT_GE(view, bytes);
    EXPECT_LE(view, buffer);
    EXPECT_EQ((view - bytes) % 16, 0u) << "whole texels of every format";
  }
}

TEST(TexelSizes, AViewStaysWithinItsBufferAndTheLimit) {
  EXPECT_EQ(texel_view_bytes(65536, 65536, 1u << 20u), 65536u);
  EXPECT_EQ(texel_view_bytes(65536, 1u << 20u, 65536), 65536u);
  EXPECT_EQ(texel_view_bytes(65536, 65792, 65792), 65792u);
  EXPECT_EQ(texel_view_bytes(4096, 0, 1u << 20u), 4096u) << "a VkBuffer of the program";
}

}  // namespace
}  // namespace rooftile
