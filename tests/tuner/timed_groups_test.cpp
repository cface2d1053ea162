// The worker times kernels on grouped problems, and notices wrong results there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/groups.h"
#include "generator/rules.h"
#include "runtime/kernel/staging.h"
#include "tests/support/first_device.h"
#include "tuner/worker/measure.h"

namespace rooftile {
namespace {

class TimedGroups : public ::testing::Test {
 protected:
  /// The worker compares elements of C with float64.
  void expect_timed(const Variant& variant, const Problem& p, bool prepacked = false) {
    const Problem staged = staged_problem(p);
    ASSERT_EQ(illegal_reason(variant, device_->profile().limits, staged, own_buffers(staged)),
              std::nullopt);
    const TimeReply reply = Measurer(device_).time({.variant = variant,
                                                    .problem = p,
                                                    .samples = 2,
                                                    .rotate_bytes = 1e6,
                                                    .prepacked = prepacked});
    EXPECT_EQ(reply.kernel_ns.size(), 2u) << to_string(p);
  }

  std::shared_ptr<Device> device_ = Device::open(first_device());
  const Variant plain_ =
      parse_variant("family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4");
};

TEST_F(TimedGroups, ScatteredAndSkewedOnesWithAnEpilogue) {
  for (const double skew : {1.0, 4.0}) {
    Problem p = typical_problem(packed_problem(83, 45, 37), 7, 9, skew);
    p.epilogue = parse_epilogue("row_scale+column_scale+bias_column+relu+residual");
    p.beta = 1;
    expect_timed(plain_, p);
  }
}

TEST_F(TimedGroups, OfQuantisedExperts) {
  const Problem p = packed_problem(41, 45, 70);
  for (const char* types : {"f32xq4b32z", "f32xq4_0"}) {
    Variant whole_words = plain_;  // Formats differ in how many values a word holds.
    while (whole_words.unroll_k < 64 &&
           illegal_reason(whole_words, device_->profile().limits,
                          Signature{parse_types(types), Transpose::kNo, Transpose::kYes}))
      whole_words.unroll_k *= 2;
    expect_timed(whole_words, typical_problem(retyped(p, parse_types(types)), 5, 0, 1));
  }
}

TEST_F(TimedGroups, OfPackedExperts) {
  const Variant packed = parse_variant(
      "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=8 vector_width_a=4 "
      "vector_width_b=4 packed_a=yes packed_b=yes");
  const Problem p = typical_problem(packed_problem(41, 45, 70), 5, 0, 1);
  for (const bool prepacked : {false, true}) expect_timed(packed, p, prepacked);
}

}  // namespace
}  // namespace rooftile
