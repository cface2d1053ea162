#include "tuner/problems/problem_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

using ::testing::HasSubstr;

TEST(ProblemSetsTest, EveryBuiltInSetParses) {
  EXPECT_THAT(problem_set_names(),
              ::testing::IsSupersetOf({"default", "squares", "transformer", "llm", "deepbench",
                                       "applications", "types"}));
  for (const std::string& name : problem_set_names())
    EXPECT_FALSE(problem_set(name).empty()) << name;
  EXPECT_THROW(problem_set("cycles"), Error);
}

TEST(ProblemSetsTest, AProblemThatIsListedTwiceWeighsTwice) {
  const ScratchFolder folder;
  std::ofstream(folder / "shapes.csv")
      << "m,n,k,trans_a,trans_b,batch,note\n1,2,3,0,1,1,first\n1,2,3,0,0,1,\n1,2,3,0,1,1,again\n";
  const std::vector<TuneProblem> problems = read_problem_csv(folder / "shapes.csv");
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(to_string(problems[0].problem), "1x2x3 nt");
  EXPECT_EQ(problems[0].weight, 2);
  EXPECT_EQ(problems[1].weight, 1);
}

TEST(ProblemSetsTest, WrongLinesAreNamed) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder / "shapes.csv";
  const auto message = [&](const std::string& text) {
    std::ofstream(file) << text;
    return message_of([&] { read_problem_csv(file); });
  };
  const std::string header = "m,n,k,trans_a,trans_b,batch,note\n";
  EXPECT_THAT(message("m,n,k\n1,2,3\n"), HasSubstr("shapes.csv:1"));
  EXPECT_THAT(message(header + "1,2,3,0,0,1,fine\n# fine\n1,2,x,0,0,1,\n"),
              HasSubstr("shapes.csv:4: k is 'x'"));
  EXPECT_THAT(message(header + "1,2,3,0,2,1,\n"), HasSubstr("trans_a and trans_b"));
  EXPECT_THAT(message(header + "1,2\n"), HasSubstr("too few columns"));
  EXPECT_THAT(message(header + "0,2,3,0,0,1,\n"), HasSubstr("at least 1"));
  EXPECT_THAT(message(header), HasSubstr("no problem"));
  EXPECT_EQ(message(header + "1,2,3,0,1,1,\r\n"), "");
  EXPECT_EQ(message("\xef\xbb\xbf" + header + "1,2,3,0,1,1,\n"), "") << "a byte order mark";
  EXPECT_THAT(message("\xef\xbb" + header + "1,2,3,0,1,1,\n"), HasSubstr("the first line must be"));
  EXPECT_THAT(message(header + std::string("1,2\0x,3,0,1,1,\n", 15)),
              HasSubstr("shapes.csv:2: the line holds a zero byte, as text in UTF-16 does; save"));
  EXPECT_THAT(message(header + "1,\x1b[2J,3,0,1,1,\n"), HasSubstr("shapes.csv:2: n is '?[2J'; it"));
  const std::string typed = "m,n,k,trans_a,trans_b,batch,type,epilogue,note\n";
  EXPECT_EQ(message(typed + "1,2,40,0,1,1,f16xq4b32_f16,bias_column+relu,\n"), "");
  const TuneProblem read = read_problem_csv(file).front();
  EXPECT_EQ(to_string(read.problem), "1x2x40 nt f16xq4b32_f16 bias_column+relu");
  EXPECT_EQ(read.problem.ldb, 64);
  EXPECT_THAT(message(typed + "1,2,3,0,0,1,f99,,\n"),
              HasSubstr("shapes.csv:2: unknown types 'f99'"));
  EXPECT_THAT(message(typed + "1,2,3,0,0,1,f16,frob,\n"), HasSubstr("shapes.csv:2: "));
  EXPECT_THAT(message(typed + "1,2,3,0,0,1,f16\n"), HasSubstr("too few columns"));
  EXPECT_THAT(message(typed + "1,2,3,0,0,1,i8_i32,relu,\n"), HasSubstr("no epilogue"));
  const std::string grouped = "m,n,k,trans_a,trans_b,batch,type,epilogue,groups,skew,note\n";
  EXPECT_EQ(message(grouped + "512,20,40,0,1,1,f32xq4_k,,8,4,of experts\n9,8,7,0,0,1,f32,,,,\n"),
            "");
  EXPECT_EQ(to_string(read_problem_csv(file)[0].problem),
            "512x20x40 nt f32xq4_k in 8 groups of 8 experts, the largest 256");
  EXPECT_EQ(read_problem_csv(file)[1].problem, packed_problem(9, 8, 7));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,1,f32,,0,,\n"), HasSubstr("shapes.csv:2: groups is 0"));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,1,f32,,9999999,,\n"),
              HasSubstr("it takes 1 to 1048576"));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,1,f32,,2,0.5,\n"), HasSubstr("skew is '0.5'"));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,1,f32,,2,1e300,\n"), HasSubstr("from 1 to 1e+18"));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,1,f32,,99999999999999999999,,\n"),
              HasSubstr("groups is '99999999999999999999'; it takes a whole number that is not "
                        "negative and fits 63 bits"));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,1,f32,,2,nan,\n"), HasSubstr("skew is 'nan'"));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,1,f32,,,2,\n"), HasSubstr("there are no groups"));
  EXPECT_THAT(message(grouped + "5,6,7,1,0,1,f32,,2,,\n"),
              HasSubstr("shapes.csv:2: the rows of a grouped A"));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,3,f32,,2,,\n"), HasSubstr("shapes.csv:2: batch is 3"));
  EXPECT_THAT(message(grouped + "5,6,7,0,0,1,f32,,2\n"), HasSubstr("too few columns"));
  EXPECT_THROW(read_problem_csv(folder / "missing.csv"), Error);
}

}  // namespace
}  // namespace rooftile
