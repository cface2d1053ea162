#include "core/epilogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/support/refusal.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

Epilogue any_epilogue() {
  return {
      .row_scale = *rc::gen::arbitrary<bool>(),
      .column_scale = *rc::gen::arbitrary<bool>(),
      .bias = *rc::gen::element(Bias::kNone, Bias::kRow, Bias::kColumn),
      .activation = *rc::gen::element(Activation::kNone, Activation::kRelu, Activation::kGeluErf,
                                      Activation::kGeluTanh, Activation::kSilu),
      .residual = *rc::gen::arbitrary<bool>(),
      .clamp = *rc::gen::arbitrary<bool>()};
}

RC_GTEST_PROP(EpilogueText, ReadsBackWhatItWrites, ()) {
  const Epilogue e = any_epilogue();
  RC_ASSERT(parse_epilogue(to_string(e)) == e);
  RC_ASSERT(any(e) == !to_string(e).empty());
  RC_ASSERT(transposed(transposed(e)) == e);
}

TEST(EpilogueText, SaysWhatIsWrong) {
  const auto message = [](const char* text) { return message_of([&] { parse_epilogue(text); }); };
  EXPECT_THAT(message("relou"), HasSubstr("'relou'; known: row_scale, column_scale, bias_row"));
  EXPECT_THAT(message("relu+silu"), HasSubstr("'silu' follows another of its kind"));
  EXPECT_THAT(message("relu+relu"), HasSubstr("'relu' follows"));
  EXPECT_THAT(message("bias_row+bias_column"), HasSubstr("'bias_column' follows"));
  EXPECT_THAT(message("relu+"), HasSubstr("ends with a +"));
  EXPECT_THAT(message("+relu"), HasSubstr("''"));
  EXPECT_EQ(message("residual+relu"), "");  // any order is accepted
}

TEST(Epilogue, TransposingSwapsRowsAndColumns) {
  EXPECT_EQ(to_string(transposed(parse_epilogue("row_scale+bias_column+relu"))),
            "column_scale+bias_row+relu");
}

TEST(Epilogue, AppliesItsStepsInOrder) {
  Epilogue e = parse_epilogue("row_scale+column_scale+bias_row+relu+residual+clamp");
  e.low = -1;
  e.high = 9;
  const EpilogueValues values = {.row_scale = 2, .column_scale = 3, .bias = -5, .residual = 0.5};
  EXPECT_EQ(apply(e, values, 1.0, 4.0), 5.5);    // 1 * 2 * 3 + 4 - 5, + 0.5
  EXPECT_EQ(apply(e, values, -1.0, 4.0), 0.5);   // relu comes before the residual
  EXPECT_EQ(apply(e, values, 100.0, 4.0), 9.0);  // clamp comes last
  EXPECT_EQ(apply({}, values, 1.0, 4.0), 5.0);   // values of absent operations have no effect
  EXPECT_TRUE(std::isnan(apply(e, values, double{NAN}, 0.0)));
}

TEST(Epilogue, ActivationsHaveTheirKnownValues) {
  EXPECT_NEAR(activate(Activation::kGeluErf, 1.0), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(activate(Activation::kGeluTanh, 1.0), 0.8411919906082768, 1e-15);
  EXPECT_NEAR(activate(Activation::kSilu, 1.0), 0.7310585786300049, 1e-15);
  EXPECT_EQ(activate(Activation::kRelu, -1.0), 0.0);
}

TEST(Epilogue, NoActivationIsSteeperThanItsSlope) {
  for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGeluErf,
                                Activation::kGeluTanh, Activation::kSilu}) {
    constexpr double kStep = 1e-3;
    for (double x = -8; x < 8; x += kStep) {
      const double slope =
          std::abs(activate(activation, x + kStep) - activate(activation, x)) / kStep;
      ASSERT_LE(slope, largest_slope(activation) * (1 + 1e-9)) << x;
    }
  }
}

}  // namespace
}  // namespace rooftile
