// Files of experiments, and what their answers are called.
#include "bench/contests/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using testing::HasSubstr;

constexpr char kFirstLine[] =
    "experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis\n";

class ReadExperiments : public testing::Test {
 protected:
  std::vector<Experiment> read(const std::string& lines) {
    const auto file = scratch_ / "some.csv";
    std::ofstream(file) << kFirstLine << lines;
    return read_experiments(file);
  }
  std::string refusal(const std::string& lines) {
    return message_of([&] { read(lines); }, ErrorCode::kIo);
  }
  ScratchFolder scratch_;
};

TEST_F(ReadExperiments, ALineLeavesOutWhatIsAsBefore) {
  const auto all = read(
      "# a comment\n\n"
      "pad,35,17,300,1,0,1,f16,family=tiled tile_m=64 shared_pad=4,shared_pad=8 "
      "tile_n=32,0.5,2,Conflicts, and more.\n"
      ",5,6,7,0,1,3,,,shared_pad=0,1.25,,\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].problem,
            packed_problem(35, 17, 300, Transpose::kYes, Transpose::kNo, 1, parse_types("f16")));
  EXPECT_EQ(all[0].baseline, parse_variant("family=tiled tile_m=64 shared_pad=4"));
  EXPECT_EQ(all[0].variant, parse_variant("family=tiled tile_m=64 shared_pad=8 tile_n=32"));
  EXPECT_EQ(all[0].hypothesis, "Conflicts, and more.");
  EXPECT_EQ(all[1].name, "pad");
  EXPECT_EQ(all[1].problem,
            packed_problem(5, 6, 7, Transpose::kNo, Transpose::kYes, 3, parse_types("f16")));
  EXPECT_EQ(all[1].variant, parse_variant("family=tiled tile_m=64 shared_pad=0"));
  EXPECT_EQ(all[1].expected, 1.25);
  EXPECT_EQ(all[1].seconds, 2);
}

TEST_F(ReadExperiments, FilesOfSpreadsheetsAreRead) {
  const auto file = scratch_ / "sheet.csv";
  std::ofstream(file) << "\xef\xbb\xbf" << kFirstLine
                      << "a,8,8,8,0,0,1,f32,tile_m=8,tile_m=4,0.5,1,why\r\n";
  EXPECT_EQ(read_experiments(file).front().hypothesis, "why");
}

TEST_F(ReadExperiments, WhatIsWrongIsNamedWithItsLine) {
  const std::string before = "a,8,8,8,0,0,1,f32,", after = ",0.5,1,why\n";
  EXPECT_THAT(refusal(before + "tile_mm=8,tile_m=4" + after), HasSubstr("some.csv:2: "));
  EXPECT_THAT(refusal(before + "tile_mm=8,tile_m=4" + after), HasSubstr("tile_mm"));
  EXPECT_THAT(refusal(before + "tile_m=8,tile_m=8" + after), HasSubstr("changes nothing"));
  EXPECT_THAT(refusal(before + "tile_m=8,tile_m=4,0,1,why\n"), HasSubstr("expected is '0'"));
  EXPECT_THAT(refusal(before + "tile_m=8,tile_m=4,0.5,nan,why\n"), HasSubstr("seconds is 'nan'"));
  EXPECT_THAT(refusal("a,8,8,0x8,0,0,1,f32,tile_m=8,tile_m=4" + after), HasSubstr("k is '0x8'"));
  EXPECT_THAT(refusal("a,8,8,8,2,0,1,f32,tile_m=8,tile_m=4" + after), HasSubstr("trans_a is '2'"));
  EXPECT_THAT(refusal("a,8,8,8,0,0,1,f31,tile_m=8,tile_m=4" + after), HasSubstr("f31"));
  EXPECT_THAT(refusal(",8,8,8,0,0,1,f32,tile_m=8,tile_m=4" + after), HasSubstr("needs a name"));
  EXPECT_THAT(refusal("a,8,8\n"), HasSubstr("too few columns"));
  EXPECT_THAT(refusal(""), HasSubstr("holds no experiment"));
}

TEST(Verdict, IsAboutHalfOfTheExpectedChange) {
  // Half of a gain of 0.64 is 0.8, and half of a loss of 1.44 is 1.2.
  EXPECT_EQ(verdict(0.64, {0.5, 0.79}), "as expected");
  EXPECT_EQ(verdict(0.64, {0.7, 0.81}), "open");
  EXPECT_EQ(verdict(0.64, {0.81, 1.1}), "not so");
  EXPECT_EQ(verdict(1.44, {1.21, 1.3}), "as expected");
  EXPECT_EQ(verdict(1.44, {1.1, 1.3}), "open");
  EXPECT_EQ(verdict(1.44, {0.9, 1.19}), "not so");
  EXPECT_EQ(verdict(1, {0.9, 0.99}), "faster");
  EXPECT_EQ(verdict(1, {0.9, 1.01}), "equal");
  EXPECT_EQ(verdict(1, {1.01, 1.2}), "slower");
}

}  // namespace
}  // namespace rooftile
