#include "tuner/search/frozen_space.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "generator/space.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace rooftile {
namespace {

class FrozenSpaceTest : public testing::Test {
 protected:
  FrozenSpaceTest() : store_(folder_ / "tuned.db") {
    DeviceProfile profile{.name = "Device, \"quoted\"\n# with a line",
                          .device_uuid = std::string(32, '1'),
                          .driver_info = "driver 1",
                          .pipeline_cache_uuid = std::string(32, '2')};
    device_ = store_.device_id(profile);
    run_ = store_.begin_run(device_, "2", "{}");
    const std::vector<Figure> figures = {{"device.fma.f32", "gflops", 123.456789, 0.5, 7},
                                         {"host.triad", "gbps", 9, 0, 3}};
    store_.add_calibration(device_, figures);
  }

  void sample(const Variant& variant, SampleStatus status, double ns = 0, std::size_t count = 0,
              double pack_ns = 0, SamplePurpose purpose = SamplePurpose::kSearch) {
    const RowId candidate = store_.candidate_id(
        {.hash = to_string(variant), .signature = "f32.nn", .variant = variant});
    SampleRecord record{
        .run = run_, .candidate = candidate, .problem = store_.problem_id(problem_)};
    record.status = status;
    record.kernel = {
        .median_ns = ns, .mad_ns = ns / 100, .low_ns = ns, .high_ns = ns, .count = count};
    record.pack_ns = pack_ns;
    record.compile_ns = 1e6;
    record.purpose = purpose;
    store_.add_sample(record);
  }
  FrozenSpace frozen() const { return frozen_space(store_, store_.devices().front(), problem_); }

  ScratchFolder folder_;
  Store store_;
  RowId device_ = 0, run_ = 0;
  const Problem problem_ = packed_problem(97, 83, 501);
  const Variant naive_ = fallback_variant();
  const Variant tiled_ = {.family = Family::kTiled, .tile_m = 64, .tile_n = 32, .tile_k = 8};
};

TEST_F(FrozenSpaceTest, NothingMeasuredIsEmpty) { EXPECT_TRUE(frozen().points.empty()); }

TEST_F(FrozenSpaceTest, SamplesOfACandidateAreOnePoint) {
  sample(tiled_, SampleStatus::kMeasured, 1000, 2);
  sample(tiled_, SampleStatus::kMeasured, 3000, 1, 50);
  const FrozenSpace space = frozen();
  ASSERT_EQ(space.points.size(), 1u);
  EXPECT_EQ(space.points[0].kernel_ns, 1000);  // median of 1000, 1000, 3000
  EXPECT_EQ(space.points[0].count, 3u);
  EXPECT_EQ(space.points[0].pack_ns, 25);
  EXPECT_EQ(space.points[0].variant, tiled_);
}

// A file of a stranger may state any number of values.
TEST_F(FrozenSpaceTest, NoNumberOfValuesTakesMemoryWithoutEnd) {
  sample(tiled_, SampleStatus::kMeasured, 1000, std::size_t{1} << 60);
  sample(tiled_, SampleStatus::kMeasured, 3000, 1);
  const FrozenSpace space = frozen();
  ASSERT_EQ(space.points.size(), 1u);
  EXPECT_EQ(space.points[0].kernel_ns, 1000);
}

TEST_F(FrozenSpaceTest, HoldsOnlySearchMeasurements) {
  sample(tiled_, SampleStatus::kMeasured, 1000, 2);
  sample(tiled_, SampleStatus::kMeasured, 5000, 9, 0, SamplePurpose::kPortfolio);
  sample(naive_, SampleStatus::kMeasured, 9000, 3, 0, SamplePurpose::kRefresh);
  const FrozenSpace space = frozen();
  ASSERT_EQ(space.points.size(), 1u);
  EXPECT_EQ(space.points[0].kernel_ns, 1000);
  EXPECT_EQ(space.points[0].count, 2u);
}

TEST_F(FrozenSpaceTest, FailuresAreKept) {
  sample(tiled_, SampleStatus::kMeasured, 1000, 2);
  sample(naive_, SampleStatus::kCompileFailed);
  const FrozenSpace space = frozen();
  ASSERT_EQ(space.points.size(), 2u);
  for (const FrozenPoint& point : space.points)
    EXPECT_EQ(point.status == SampleStatus::kMeasured, point.variant == tiled_);
}

TEST_F(FrozenSpaceTest, TextRoundTrips) {
  sample(tiled_, SampleStatus::kMeasured, 1000, 2, 30);
  sample(naive_, SampleStatus::kTimedOut);
  const FrozenSpace space = frozen();
  ASSERT_EQ(space.figures.size(), 1u);  // rates of the host are left out
  EXPECT_EQ(space.device, "Device, \"quoted\" # with a line");
  EXPECT_FALSE(space.starts.empty());
  FrozenSpace again = parse_frozen_space(to_csv(space), "x.csv");
  EXPECT_NEAR(again.figures.front().value, 123.456789, 1e-3);  // six digits are written
  again.figures = space.figures;
  EXPECT_EQ(again, space);
}

TEST_F(FrozenSpaceTest, AParameterYoungerThanTheFileHasItsDefault) {
  sample(tiled_, SampleStatus::kMeasured, 1000, 2);
  const FrozenSpace space = frozen();
  std::string text = to_csv(space);
  for (const std::string younger : {",store_map", ",plain"}) {
    const std::size_t at = text.rfind(younger);
    ASSERT_NE(at, std::string::npos);
    text.erase(at, younger.size());
  }
  EXPECT_EQ(parse_frozen_space(text, "x.csv").points, space.points);
}

TEST_F(FrozenSpaceTest, TheLargestAndTheSmallestFiguresAreRead) {
  constexpr double kLargest = std::numeric_limits<double>::max(), kSmallest = 5e-324;
  sample(tiled_, SampleStatus::kMeasured, 1000, 2);
  FrozenSpace space = frozen();
  space.figures = {{.name = "device.most", .value = kLargest, .mad = kSmallest},
                   {.name = "device.usual", .value = 1234567.8, .mad = 0}};
  const FrozenSpace read = parse_frozen_space(to_csv(space), "x.csv");
  ASSERT_EQ(read.figures.size(), 2u);
  EXPECT_EQ(read.figures[0].value, 1.79769e308);
  EXPECT_EQ(read.figures[0].mad, kSmallest);
  EXPECT_EQ(read.figures[1].value, 1234570);
}

TEST_F(FrozenSpaceTest, WrongTextsAreRefusedWithTheLine) {
  sample(tiled_, SampleStatus::kMeasured, 1000, 2);
  const std::string good = to_csv(frozen());
  const auto refused = [&](std::string text, std::string_view says) {
    EXPECT_THAT(message_of([&] { parse_frozen_space(text, "x.csv"); }),
                ::testing::HasSubstr(std::string(says)));
  };
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  refused("", "x.csv:1");
  refused("m,n,k\n1,2,3\n", "x.csv:1: not a frozen space");
  refused(with("tile_m,", "tile_x,"), "x.csv:2: the columns");
  refused(with("\ntiled,64", "\ntiled,sixty"), "x.csv:3: tile_m is 'sixty'");
  refused(with(",1000,", ",-1000,"), "x.csv:3: kernel_ns is '-1000'");
  refused(with(",1000,", ",nan,"), "x.csv:3: kernel_ns is 'nan'");
  refused(with(",1000,", ",0,"), "x.csv:3: a measured candidate has a time");
  refused(with(",1000,10,2,", ",1000,10,1e54,"), "x.csv:3: count is '1e54'");
  refused(with(",1000,10,2,", ",1000,10,2.5,"), "x.csv:3: count is '2.5'");
  constexpr std::size_t kMeasured = 6;
  refused(with("\ntiled,64", "\ntiled,64,64"),
          "x.csv:3: " + std::to_string(parameter_names().size() + kMeasured + 1) + " columns");
  refused(good.substr(0, good.find("\ntiled") + 1), "holds no candidate");
}

}  // namespace
}  // namespace rooftile
